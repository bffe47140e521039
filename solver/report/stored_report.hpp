#pragma once

#include <filesystem>
#include <vector>

#include "solver/messages/console.hpp"

namespace femcg::solver {

/// `femcg report`: the page of a comparison (report.html), from one or several stored compare.json, whose records it
/// shows in the order of the files; or of runs (result.json), which it shows beside each other, and how they scale. An
/// empty `page` is report.html beside the first file. Throws InputError where a file is missing or something else,
/// MachineError where this build has no page, std::system_error where the page cannot be written.
void report(const std::vector<std::filesystem::path>& files, std::filesystem::path page, const Console& console);

}  // namespace femcg::solver

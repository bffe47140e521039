#pragma once

#include <filesystem>
#include <vector>

#include "solver/messages/console.hpp"

namespace femcg::solver {

/// `femcg report`: the page (report.html) of a comparison, from one or several stored compare.json, with their records
/// in the order of the files; or of runs (result.json), side by side, with their scaling. An empty `page` is
/// report.html in the folder of the first file. Throws InputError if a file is missing or something else, MachineError
/// if this build has no page, std::system_error if the page cannot be written.
void report(const std::vector<std::filesystem::path>& files, std::filesystem::path page, const Console& console);

}  // namespace femcg::solver

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace femcg::solver {

/// Makes a results folder and checks before the work that these files can be written into it; removes remains of
/// crashed runs. Throws MachineError, or std::system_error that names the file.
void prepare_directory(const std::filesystem::path& directory, const std::vector<std::string>& files);

}  // namespace femcg::solver

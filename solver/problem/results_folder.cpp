#include "solver/problem/results_folder.hpp"

#include <fmt/format.h>

#include <system_error>

#include "mesh/base/atomic_file.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

void prepare_directory(const std::filesystem::path& directory, const std::vector<std::string>& files) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure)
    throw MachineError(
        fmt::format("cannot make the results folder {}: {}", in_quotes(directory.string()), failure.message()));
  mesh::prepare_for_files(directory, files);
}

}  // namespace femcg::solver

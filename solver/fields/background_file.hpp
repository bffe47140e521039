#pragma once

#include <cstddef>
#include <future>

#include "mesh/base/atomic_file.hpp"
#include "solver/fields/solution_file.hpp"

namespace femcg::solver {

/// solution.vtu among the files of a run. A thread of its own may write its points and cells, which are most of it,
/// while the operator is made and a GPU iterates.
class BackgroundFile {
 public:
  /// Both must outlive it, and nobody else adds files before finish().
  BackgroundFile(mesh::FileGroup& files, SolutionFile& file) : files_(&files), file_(&file) {}
  BackgroundFile(const BackgroundFile&) = delete;
  BackgroundFile& operator=(const BackgroundFile&) = delete;
  ~BackgroundFile();

  /// Lets the thread begin, where there are cores for it, with a file that is to have so many solutions.
  void begin(std::size_t solutions);
  /// The file is written, with those that it was prepared for: fewer where the user wanted an end. Throws as
  /// FileGroup::add.
  void finish(std::size_t solutions);

 private:
  void write(std::size_t solutions);

  mesh::FileGroup* files_;
  SolutionFile* file_;
  std::future<void> writing_;
  std::size_t expected_ = 0;  ///< solutions, of the file that is being written
};

}  // namespace femcg::solver

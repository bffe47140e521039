#include "solver/fields/file_ahead.hpp"

#include <omp.h>

#include <ostream>
#include <stdexcept>

namespace femcg::solver {

FileAhead::~FileAhead() {
  if (!writing_.valid()) return;
  file_->abandon();
  writing_.wait();
}

void FileAhead::write(std::size_t solutions) {
  files_->add("solution.vtu", [&](std::ostream& stream) { file_->write(stream, solutions); });
}

void FileAhead::begin(std::size_t solutions) {
  constexpr int enough = 4;
  const int threads = omp_get_max_threads();
  if (threads < enough) return;
  expected_ = solutions;
  writing_ = std::async(std::launch::async, [this, solutions, threads] {
    omp_set_num_threads(threads - 1);  // of this thread's loops: a core is left to who feeds the GPU
    write(solutions);
  });
}

void FileAhead::finish(std::size_t solutions) {
  if (!writing_.valid()) return write(solutions);
  try {
    writing_.get();
  } catch (const std::out_of_range&) {  // a solution that there is not
    if (solutions == expected_) throw;
    files_->take_back();
    write(solutions);
  }
}

}  // namespace femcg::solver

#include "solver/fields/file_ahead.hpp"

#include <ostream>

#include "solver/fields/beside_gpu.hpp"

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
  expected_ = solutions;
  writing_ = begin_beside_gpu([this, solutions] { write(solutions); });
}

void FileAhead::finish(std::size_t solutions) {
  if (!writing_.valid()) return write(solutions);
  finished(writing_, solutions == expected_, [&] {
    files_->take_back();
    write(solutions);
  });
}

}  // namespace femcg::solver

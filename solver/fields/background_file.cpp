#include "solver/fields/background_file.hpp"

#include <ostream>

#include "solver/fields/background_work.hpp"

namespace femcg::solver {

BackgroundFile::~BackgroundFile() {
  if (!writing_.valid()) return;
  file_->abandon();
  writing_.wait();
}

void BackgroundFile::write(std::size_t solutions) {
  files_->add("solution.vtu", [&](std::ostream& stream) { file_->write(stream, solutions); });
}

void BackgroundFile::begin(std::size_t solutions) {
  expected_ = solutions;
  writing_ = begin_in_background([this, solutions] { write(solutions); });
}

void BackgroundFile::finish(std::size_t solutions) {
  if (!writing_.valid()) return write(solutions);
  finished(writing_, solutions == expected_, [&] {
    files_->take_back();
    write(solutions);
  });
}

}  // namespace femcg::solver

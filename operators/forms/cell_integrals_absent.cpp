// A build without CUDA.

#include <stdexcept>

#include "operators/forms/error_squares.hpp"

namespace femcg::operators {

bool cuda_takes(std::span<const PointProgram>) { return false; }
std::vector<double> cuda_error_squares(const ErrorTables&, std::span<const PointProgram>, std::span<const double>) {
  throw std::runtime_error("this build has no CUDA");
}

}  // namespace femcg::operators

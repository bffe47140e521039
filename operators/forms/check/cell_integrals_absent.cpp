// A build without CUDA.

#include <stdexcept>

#include "operators/forms/check/cell_integrals.hpp"

namespace femcg::operators {

namespace {

[[noreturn]] void refuse() { throw std::runtime_error("this build has no CUDA"); }

}  // namespace

bool cuda_takes(std::span<const PointProgram>) { return false; }
Extremes cuda_extremes(const FunctionOnGpu&) { refuse(); }
std::vector<double> cuda_integrals(const FunctionOnGpu&, const IntegralTables&) { refuse(); }
std::vector<double> cuda_error_squares(const FunctionOnGpu&, const ErrorTables&, std::span<const PointProgram>) {
  refuse();
}

}  // namespace femcg::operators

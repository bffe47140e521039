#include "solver/krylov/preconditioner.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "solver/messages/error.hpp"

namespace femcg::solver {

template <std::floating_point T>
std::optional<operators::Vector<T>> make_preconditioner(const std::string& name, const operators::Operator<T>& a) {
  if (name == "none") return std::nullopt;
  if (name != "jacobi") throw std::invalid_argument(fmt::format("no preconditioner is called '{}'", name));
  operators::Vector<T> on_device(a.size(), a.device());
  a.diagonal(on_device);
  operators::Vector<T> diagonal = operators::copied(on_device, operators::Device::host);
  for (std::int64_t i = 0; i < diagonal.size(); ++i) {
    if (!(diagonal[i] > 0))
      throw InputError(fmt::format(
          "jacobi needs a positive diagonal, but entry {} is {}: the matrix is not positive definite", i, diagonal[i]));
    diagonal[i] = 1 / diagonal[i];
  }
  return operators::copied(diagonal, a.device());
}

template std::optional<operators::Vector<double>> make_preconditioner(const std::string&,
                                                                      const operators::Operator<double>&);
template std::optional<operators::Vector<float>> make_preconditioner(const std::string&,
                                                                     const operators::Operator<float>&);

}  // namespace femcg::solver

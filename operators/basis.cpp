#include "operators/basis.hpp"

namespace femcg::operators {

template <std::floating_point T>
Vector<T> to_basis(const Operator<T>& a, const Vector<T>& natural) {
  const std::span<const std::int32_t> basis = a.basis();
  if (basis.empty()) return copied(natural, a.device());
  const Vector<T> from = copied(natural, Device::host);
  Vector<T> to(from.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < to.size(); ++i) to[i] = from[basis[static_cast<std::size_t>(i)]];
  return copied(to, a.device());
}

template <std::floating_point T>
Vector<T> from_basis(const Operator<T>& a, const Vector<T>& in_basis) {
  Vector<T> from = copied(in_basis, Device::host);
  const std::span<const std::int32_t> basis = a.basis();
  if (basis.empty()) return from;
  Vector<T> to(from.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < to.size(); ++i) to[basis[static_cast<std::size_t>(i)]] = from[i];
  return to;
}

template Vector<double> to_basis(const Operator<double>&, const Vector<double>&);
template Vector<float> to_basis(const Operator<float>&, const Vector<float>&);
template Vector<double> from_basis(const Operator<double>&, const Vector<double>&);
template Vector<float> from_basis(const Operator<float>&, const Vector<float>&);

}  // namespace femcg::operators

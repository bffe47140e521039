#include "solver/krylov/preconditioner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include "operators/backend/passes/inverse_diagonal.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

using operators::Device;
using operators::InverseDiagonal;
using operators::MultiVector;
using operators::Operator;
using operators::Vector;

template <std::floating_point T>
void Preconditioner<T>::apply(const Vector<T>& r, Vector<T>& z) const {
  operators::check_operands("a preconditioner", size_, device_, r, z);
  solve(r, z);
}

template <std::floating_point T>
void Preconditioner<T>::apply(const MultiVector<T>& r, MultiVector<T>& z) const {
  operators::check_operands("a preconditioner", size_, device_, r, z);
  if (r.stride() != z.stride())
    throw std::invalid_argument("a preconditioner's argument and result must have the same number of columns");
  solve_columns(r, z);
}

template <std::floating_point T>
bool Preconditioner<T>::approximate(const Vector<T>&, Vector<T>&) const {
  return false;
}

template <std::floating_point T>
void Preconditioner<T>::solve_columns(const MultiVector<T>& r, MultiVector<T>& z) const {
  if (column_.size() == 0)
    for (Vector<T>* vector : {&column_, &solved_}) *vector = Vector<T>(size_, device_);
  for (int c = 0; c < r.count(); ++c) {
    operators::get_columns(r, c, std::span(&column_, 1));
    solve(column_, solved_);
    operators::set_columns(std::span<const Vector<T>>(&solved_, 1), c, z);
  }
}

template <std::floating_point T>
InverseDiagonal inverse_diagonal_of(const Operator<T>& a, std::string_view who, const Vector<T>* at_hand) {
  Vector<T> made;
  if (at_hand == nullptr) {
    made = Vector<T>(a.size(), a.device());
    a.diagonal(made);
  }
  const Vector<T>& diagonal = at_hand != nullptr ? *at_hand : made;
  const operators::VectorOwnership& ownership = vector_kernels_for(a).ownership();
  const std::int64_t counted = ownership.counted(diagonal.size());
  const operators::DiagonalRange range = operators::range_of_diagonal(diagonal, counted);
  // CG is invariant to scaling M: if M^-1 exceeds the range of single precision, M is scaled so that M^-1 is about 1.
  constexpr double far = 40;
  const double mean =
      ownership.sum(static_cast<double>(range.exponents)) / std::max(1.0, ownership.sum(static_cast<double>(counted)));
  if (const std::int64_t i = range.not_positive; i >= 0) {
    T entry = 0;
    operators::copy_bytes(diagonal.data() + i, a.device(), &entry, Device::host, sizeof entry);
    throw InputError(fmt::format(
        "{} needs a positive diagonal, but entry {} is {}: the matrix is not positive definite", who, i, entry));
  }
  return operators::inverse_of_diagonal(diagonal, std::abs(mean) > far ? static_cast<int>(std::lround(mean)) : 0);
}

template class Preconditioner<double>;
template class Preconditioner<float>;
template InverseDiagonal inverse_diagonal_of(const Operator<double>&, std::string_view, const Vector<double>*);
template InverseDiagonal inverse_diagonal_of(const Operator<float>&, std::string_view, const Vector<float>*);
}  // namespace femcg::solver

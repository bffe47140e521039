#include "solver/benchmark/agreement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "mesh/base/pages.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/distributed/interface_sum.hpp"
#include "operators/forms/check/reference.hpp"
#include "operators/ordering.hpp"
#include "solver/krylov/recurrence.hpp"

namespace femcg::solver {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Agreement compare(double found, double expected, double bound, double terms) {
  const double difference = std::isfinite(found) ? std::abs(found - expected) : infinity;
  const auto relative = [terms](double to) { return to == 0 ? 0 : to / terms; };
  return {relative(difference), relative(bound)};
}

/// Difference as a multiple of its bound.
double part(const Agreement& of) {
  if (of.difference == 0 || std::isinf(of.difference)) return of.difference;
  return of.difference / of.bound;
}

/// Sums over a range of rows, and its worst row.
struct Sums {
  Agreement worst;
  double energy = 0, terms = 0, rounding = 0;  ///< x'y of the reference; |x|' times the terms; |x|' times the bounds

  void add(const Sums& other) {
    if (part(other.worst) > part(worst)) worst = other.worst;
    energy += other.energy;
    terms += other.terms;
    rounding += other.rounding;
  }
};

/// Product y = A x of an operator and its energy x'Ax; y is filled with NaN beforehand, to find rows that are not
/// written.
template <std::floating_point T>
std::pair<operators::Vector<T>, double> product(const operators::Operator<T>& a, const std::vector<double>& from) {
  operators::Vector<T> on_host(a.size()), y(a.size(), a.device());
  std::ranges::copy(from, on_host.data());
  const operators::Vector<T> x = operators::to_ordering(a, on_host);
  operators::fill(on_host, std::numeric_limits<T>::quiet_NaN());
  operators::copy(on_host, y);
  operators::Scalar energy(a.device());
  a.apply(x, y, &energy);
  return {operators::copied(operators::from_ordering(a, y), operators::Device::host), energy.value()};
}

/// Factor of x in column c of a multi-vector: exact, and different in every column.
double weight_of_column(int c) { return std::ldexp(c % 2 == 0 ? 1.0 : -1.0, c / 2 - 8); }

/// The same for products with a multi-vector.
template <std::floating_point T>
class ProductOfColumns {
 public:
  ProductOfColumns(const operators::Operator<T>& a, const std::vector<double>& from, int count)
      : a_(&a), y_(a.size(), count, a.device()), numbers_(y_.stride(), a.device()) {
    operators::Vector<T> nothing(y_.entries().size()), on_host(a.size());
    operators::fill(nothing, std::numeric_limits<T>::quiet_NaN());
    operators::MultiVector<T> x(a.size(), count, a.device());
    for (operators::MultiVector<T>* columns : {&x, &y_}) operators::copy(nothing, columns->entries());
    for (int c = 0; c < count; ++c) {
      const double weight = weight_of_column(c);
      operators::for_each_row(
          a.size(), [&](std::int64_t i) { on_host[i] = static_cast<T>(from[static_cast<std::size_t>(i)] * weight); });
      operators::set_column(operators::copied(on_host, a.device()), a.ordering(), c, x);
    }
    operators::MultiScalar energies(numbers_, 0, y_.stride());
    a.apply(x, y_, &energies);
  }
  /// Result of column c, divided by the column's factor.
  std::pair<operators::Vector<T>, double> column(int c) const {
    operators::Vector<T> y(a_->size(), a_->device());
    operators::get_column(y_, c, a_->ordering(), y);
    operators::Vector<T> on_host = operators::copied(y, operators::Device::host);
    const double weight = weight_of_column(c);
    operators::for_each_row(a_->size(), [&](std::int64_t i) { on_host[i] /= static_cast<T>(weight); });
    const double energy = operators::copied(numbers_, operators::Device::host)[c];
    return {std::move(on_host), energy / (weight * weight)};
  }

 private:
  const operators::Operator<T>* a_;
  operators::MultiVector<T> y_;
  operators::Vector<double> numbers_;
};

/// Compares the first `n` rows, which are those that count in sums, block by block, so that the sums do not depend on
/// the number of threads.
template <std::floating_point T>
Sums compare_rows(const operators::Vector<T>& found, std::int64_t n, const ReferenceProduct& reference,
                  double unit_roundoff) {
  constexpr std::int64_t block = 1 << 15;
  std::vector<Sums> of_blocks(static_cast<std::size_t>((n + block - 1) / block));
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < of_blocks.size(); ++b)
    for (std::int64_t begin = static_cast<std::int64_t>(b) * block, i = begin; i < std::min(begin + block, n); ++i) {
      const double x = reference.x[i], y = reference.y[i], terms = reference.rounding.terms[i],
                   bound = reference.rounding.bound(i, unit_roundoff);
      of_blocks[b].add(
          {compare(static_cast<double>(found[i]), y, bound, terms), x * y, std::abs(x) * terms, std::abs(x) * bound});
    }
  Sums all;
  for (const Sums& sums : of_blocks) all.add(sums);
  return all;
}

/// Agreement of one product: of its rows and of its energy.
template <std::floating_point T>
Agreement compare_product(const operators::Vector<T>& y, double energy, const operators::VectorOwnership& ownership,
                          const ReferenceProduct& reference, double unit_roundoff) {
  const std::int64_t counted = ownership.counted(y.size());
  Sums rows = compare_rows(y, counted, reference, unit_roundoff);
  for (double* sum : {&rows.energy, &rows.terms, &rows.rounding}) *sum = ownership.sum(*sum);
  constexpr double of_reference = std::numeric_limits<double>::epsilon() / 2;
  const double nu = ownership.sum(static_cast<double>(counted)) * (unit_roundoff + of_reference);
  const double of_sum = nu < 1 ? nu / (1 - nu) : infinity;
  const Agreement of_energy =
      compare(energy, rows.energy, rows.rounding + (rows.terms > 0 ? of_sum * rows.terms : 0), rows.terms);
  return part(of_energy) > part(rows.worst) ? of_energy : rows.worst;
}

/// Pseudo-random number that depends on i alone, by mixing its bits (Steele, Lea & Flood 2014).
double pseudo_random_at(std::int64_t i) {
  auto bits = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebU;
  return static_cast<double>(static_cast<std::int64_t>(bits >> 40) - (1 << 23)) / (1 << 23);
}

/// Reference product and bound for several processes, from the products of their subdomains. The rounding of a row is
/// the same as in each subdomain, plus one addition per subdomain.
template <class AnyShare, class ProductOfPart>
ReferenceProduct sum_of_parts(const operators::Communicator& communicator, const AnyShare& subdomain,
                              const ProductOfPart& product_of_part) {
  const operators::IndexMap& map = subdomain.map;
  ReferenceProduct product;
  for (const std::int64_t number : map.numbers) product.x.push_back(pseudo_random_at(number));
  ProductRounding& all = product.rounding;
  const std::array<std::vector<double>*, 4> sums{&product.y, &all.terms, &all.working, &all.data};
  for (std::vector<double>* numbers : sums) numbers->assign(product.x.size(), 0.0);
  const auto add = [&](const auto& part, std::span<const std::int32_t> unknowns) {
    if (unknowns.empty()) return;
    std::vector<double> x;
    x.reserve(unknowns.size());
    for (const std::int32_t i : unknowns) x.push_back(product.x[i]);
    const ReferenceProduct of_part = product_of_part(part, std::move(x));
    for (std::size_t i = 0; i < unknowns.size(); ++i) {
      product.y[unknowns[i]] += of_part.y[i];
      all.terms[unknowns[i]] += of_part.rounding.terms[i];
      all.working[unknowns[i]] += of_part.rounding.working[i] + 1;
      all.data[unknowns[i]] += of_part.rounding.data[i] + 1;
    }
  };
  add(subdomain.interior, subdomain.interior_unknowns);
  add(subdomain.interface, subdomain.interface_unknowns);
  operators::InterfaceSum<double> sum(communicator, map);
  for (std::vector<double>* numbers : sums) sum.add_up(numbers->data() + map.first_shared);
  return product;
}

}  // namespace

/// The middle bits of a linear congruential sequence (Knuth's MMIX).
std::vector<double> pseudo_random(std::int64_t count) {
  std::vector<double> numbers = mesh::filled<double>(static_cast<std::size_t>(count));
  std::uint64_t state = 1;
  for (double& number : numbers) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    number = static_cast<double>(static_cast<std::int64_t>(state >> 40) - (1 << 23)) / (1 << 23);
  }
  return numbers;
}

ReferenceProduct reference_product(const operators::BilinearForm& form, std::vector<double> x) {
  std::vector<double> y = operators::ReferenceOperator(form).apply(x);
  ProductRounding rounding = rounding_of_product(form, x);
  return {std::move(x), std::move(y), std::move(rounding)};
}

ReferenceProduct reference_product(const operators::CsrMatrix<double>& matrix, std::vector<double> x) {
  std::vector<double> y(static_cast<std::size_t>(matrix.rows));
#pragma omp parallel for schedule(static)
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    long double sum = 0;
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k)
      sum += static_cast<long double>(matrix.values[k]) * x[matrix.columns[k]];
    y[row] = static_cast<double>(sum);
  }
  ProductRounding rounding = rounding_of_product(matrix, x);
  return {std::move(x), std::move(y), std::move(rounding)};
}

ReferenceProduct reference_product(const operators::Communicator& communicator,
                                   const operators::FormSubdomain& subdomain) {
  return sum_of_parts(communicator, subdomain, [](const operators::FormPart& part, std::vector<double> x) {
    return reference_product(part.form, std::move(x));
  });
}

ReferenceProduct reference_product(const operators::Communicator& communicator,
                                   const operators::MatrixSubdomain& subdomain) {
  return sum_of_parts(communicator, subdomain, [](const operators::CsrMatrix<double>& part, std::vector<double> x) {
    return reference_product(part, std::move(x));
  });
}

Agreement worst_of(const operators::Communicator& communicator, const Agreement& mine) {
  Agreement worst = mine;
  for (const auto& other : communicator.gathered(std::vector{mine}))
    if (part(other.front()) > part(worst)) worst = other.front();
  return worst;
}

template <std::floating_point T>
Agreement agreement(const operators::Operator<T>& a, const ReferenceProduct& reference, double unit_roundoff,
                    int right_hand_sides) {
  Agreement worst;
  const auto check = [&](const std::pair<operators::Vector<T>, double>& product) {
    const Agreement found =
        compare_product(product.first, product.second, vector_kernels_for(a).ownership(), reference, unit_roundoff);
    if (part(found) > part(worst) || worst.bound == 0) worst = found;
  };
  if (right_hand_sides == 1) {
    check(product(a, reference.x));
  } else {
    const ProductOfColumns<T> products(a, reference.x, right_hand_sides);
    for (int c = 0; c < right_hand_sides; ++c) check(products.column(c));
  }
  return worst;
}

template Agreement agreement(const operators::Operator<double>&, const ReferenceProduct&, double, int);
template Agreement agreement(const operators::Operator<float>&, const ReferenceProduct&, double, int);

}  // namespace femcg::solver

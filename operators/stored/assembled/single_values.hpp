#pragma once

// The matrix in single precision in a loop of double precision: half the bytes of its values; products are added up in
// double precision. CG's restarts from the true residual correct for the rounded matrix.

#include <memory>
#include <string_view>
#include <type_traits>

#include "operators/backend/threads/simd.hpp"
#include "operators/options.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/assembled/value_words.hpp"

namespace femcg::operators {

/// Option `values` of the formats with values in single precision.
inline constexpr OptionDescription values_option{
    "values", "working or single", "working",
    "precision of the stored values; in single precision they are single anyway, and nothing changes",
    [](std::string_view text) { return text == "working" || text == "single"; }};

/// True if the options ask for values in a lower precision than T.
template <std::floating_point T>
bool has_single_values(const Options& given) {
  const auto found = given.find(std::string(values_option.name));
  return std::is_same_v<T, double> && found != given.end() && found->second == "single";
}

/// The matrix with values rounded to single precision. Throws std::overflow_error if a value is too large.
CsrMatrix<float> to_single(const CsrMatrix<double>& matrix);
/// The matrix in precision T: the same, or a rounded copy.
template <std::floating_point T>
std::shared_ptr<const CsrMatrix<T>> in_precision(const std::shared_ptr<const CsrMatrix<double>>& matrix) {
  if constexpr (std::is_same_v<T, double>)
    return matrix;
  else
    return std::make_shared<const CsrMatrix<T>>(to_single(*matrix));
}

/// Loads from[0], ..., from[N - 1], converted to T.
template <std::floating_point T, int N, std::floating_point Value>
inline Pack<T, N> load_as(const Value* from) {
  if constexpr (std::is_same_v<T, Value>)
    return load<N>(from);
  else
    return __builtin_convertvector(load<N>(from), Pack<T, N>);
}

}  // namespace femcg::operators

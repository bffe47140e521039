#pragma once

#include <cmath>
#include <cstdint>

namespace femcg::operators {

/// Operations of point programs. Comparisons and logic give 1 or 0; anything but 0 is true.
enum class PointOperation : std::uint8_t {
  negate,
  add,
  subtract,
  multiply,
  divide,
  power,
  less,
  less_or_equal,
  equal,
  different,
  both,
  either,
  select,  ///< the second number where the first is not 0, else the third
  sine,
  cosine,
  tangent,
  arc_sine,
  arc_cosine,
  arc_tangent,
  arc_tangent_2,
  hyperbolic_sine,
  hyperbolic_cosine,
  hyperbolic_tangent,
  exponential,
  logarithm,
  logarithm_2,
  logarithm_10,
  square_root,
  cube_root,
  hypotenuse,
  absolute,
  sign,
  floor,
  ceiling,
  step,
  least,
  greatest
};

/// True for a function of the C library.
constexpr bool is_elementary(PointOperation operation) {
  return operation == PointOperation::power ||
         (operation >= PointOperation::sine && operation <= PointOperation::hypotenuse);
}

/// Result of an operation on one, two or three values, on the host and on a GPU.
template <PointOperation operation, class Number>
constexpr Number result_of(Number a, Number b, Number c) {
  using enum PointOperation;
  const auto truth = [](bool it) { return it ? Number(1) : Number(0); };
  if constexpr (operation == negate) return -a;
  if constexpr (operation == add) return a + b;
  if constexpr (operation == subtract) return a - b;
  if constexpr (operation == multiply) return a * b;
  if constexpr (operation == divide) return a / b;
  if constexpr (operation == power) return std::pow(a, b);
  if constexpr (operation == less) return truth(a < b);
  if constexpr (operation == less_or_equal) return truth(a <= b);
  if constexpr (operation == equal) return truth(a == b);
  if constexpr (operation == different) return truth(a != b);
  if constexpr (operation == both) return truth((a != 0) & (b != 0));
  if constexpr (operation == either) return truth((a != 0) | (b != 0));
  if constexpr (operation == select) return a != 0 ? b : c;
  if constexpr (operation == sine) return std::sin(a);
  if constexpr (operation == cosine) return std::cos(a);
  if constexpr (operation == tangent) return std::tan(a);
  if constexpr (operation == arc_sine) return std::asin(a);
  if constexpr (operation == arc_cosine) return std::acos(a);
  if constexpr (operation == arc_tangent) return std::atan(a);
  if constexpr (operation == arc_tangent_2) return std::atan2(a, b);
  if constexpr (operation == hyperbolic_sine) return std::sinh(a);
  if constexpr (operation == hyperbolic_cosine) return std::cosh(a);
  if constexpr (operation == hyperbolic_tangent) return std::tanh(a);
  if constexpr (operation == exponential) return std::exp(a);
  if constexpr (operation == logarithm) return std::log(a);
  if constexpr (operation == logarithm_2) return std::log2(a);
  if constexpr (operation == logarithm_10) return std::log10(a);
  if constexpr (operation == square_root) return std::sqrt(a);
  if constexpr (operation == cube_root) return std::cbrt(a);
  if constexpr (operation == hypotenuse) return std::hypot(a, b);
  if constexpr (operation == absolute) return std::fabs(a);
  if constexpr (operation == sign) return truth(a > 0) - truth(a < 0);
  if constexpr (operation == floor) return std::floor(a);
  if constexpr (operation == ceiling) return std::ceil(a);
  if constexpr (operation == step) return truth(!(a < 0));
  if constexpr (operation == least) return b < a ? b : a;
  if constexpr (operation == greatest) return a < b ? b : a;
}

/// Calls work.template operator()<operation>().
template <class Work>
constexpr void with_operation(PointOperation operation, const Work& work) {
  using enum PointOperation;
  switch (operation) {
    case negate:
      return work.template operator()<negate>();
    case add:
      return work.template operator()<add>();
    case subtract:
      return work.template operator()<subtract>();
    case multiply:
      return work.template operator()<multiply>();
    case divide:
      return work.template operator()<divide>();
    case power:
      return work.template operator()<power>();
    case less:
      return work.template operator()<less>();
    case less_or_equal:
      return work.template operator()<less_or_equal>();
    case equal:
      return work.template operator()<equal>();
    case different:
      return work.template operator()<different>();
    case both:
      return work.template operator()<both>();
    case either:
      return work.template operator()<either>();
    case select:
      return work.template operator()<select>();
    case sine:
      return work.template operator()<sine>();
    case cosine:
      return work.template operator()<cosine>();
    case tangent:
      return work.template operator()<tangent>();
    case arc_sine:
      return work.template operator()<arc_sine>();
    case arc_cosine:
      return work.template operator()<arc_cosine>();
    case arc_tangent:
      return work.template operator()<arc_tangent>();
    case arc_tangent_2:
      return work.template operator()<arc_tangent_2>();
    case hyperbolic_sine:
      return work.template operator()<hyperbolic_sine>();
    case hyperbolic_cosine:
      return work.template operator()<hyperbolic_cosine>();
    case hyperbolic_tangent:
      return work.template operator()<hyperbolic_tangent>();
    case exponential:
      return work.template operator()<exponential>();
    case logarithm:
      return work.template operator()<logarithm>();
    case logarithm_2:
      return work.template operator()<logarithm_2>();
    case logarithm_10:
      return work.template operator()<logarithm_10>();
    case square_root:
      return work.template operator()<square_root>();
    case cube_root:
      return work.template operator()<cube_root>();
    case hypotenuse:
      return work.template operator()<hypotenuse>();
    case absolute:
      return work.template operator()<absolute>();
    case sign:
      return work.template operator()<sign>();
    case floor:
      return work.template operator()<floor>();
    case ceiling:
      return work.template operator()<ceiling>();
    case step:
      return work.template operator()<step>();
    case least:
      return work.template operator()<least>();
    case greatest:
      return work.template operator()<greatest>();
  }
}

}  // namespace femcg::operators

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "operators/operator.hpp"
#include "operators/options.hpp"
#include "solver/tuning/search.hpp"

namespace femcg::solver {

/// An option that run-time tuning may change.
struct TunableOption {
  std::string_view op, name;
  bool on_host, on_gpu;
  bool converts;                             ///< TunedOption::converts
  bool up_first;                             ///< TunedOption::up_first
  bool same_bits_on_host;                    ///< TunedOption::same_bits
  std::span<const std::string_view> values;  ///< empty: around the one that was chosen
};

/// All of them; those of an operator in the order in which they are tried.
std::span<const TunableOption> tunable_options();

/// True if an operator has any on a device.
bool is_tunable(std::string_view op, operators::Device device);

/// The options of an operator that was made, which are open: the case says nothing of them, and the operator's way
/// through the matrix has them. Their values begin with those that it has now. `given` is what the case states.
template <std::floating_point T>
std::vector<TunedOption> open_options(std::string_view op, const operators::Operator<T>& a,
                                      const operators::Options& given);

/// The options that a setting stands for: those given, and the tuned ones.
operators::Options options_of(const Setting& setting, const std::vector<TunedOption>& options,
                              operators::Options given);

}  // namespace femcg::solver

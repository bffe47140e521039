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
  std::span<const std::string_view> values;  ///< empty: around the chosen value
};

/// All tunable options; those of an operator in the order of the search.
std::span<const TunableOption> tunable_options();

/// True if an operator has tunable options on a device.
bool is_tunable(std::string_view op, operators::Device device);

/// Open options of an existing operator: not stated in the case, and used by the operator's kernels. Each starts at its
/// present value. `given`: options stated in the case.
template <std::floating_point T>
std::vector<TunedOption> open_options(std::string_view op, const operators::Operator<T>& a,
                                      const operators::Options& given);

/// Options that a setting stands for: the given and the tuned ones.
operators::Options options_of(const Setting& setting, const std::vector<TunedOption>& options,
                              operators::Options given);

}  // namespace femcg::solver

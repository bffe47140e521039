#include "solver/tuning/tunable.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "mesh/base/vector_register.hpp"
#include "operators/capabilities.hpp"
#include "operators/catalogue.hpp"

namespace femcg::solver {

using operators::Device;
using operators::Operator;
using operators::Options;

namespace {

constexpr std::array<std::string_view, 6> up_to_32{"1", "2", "4", "8", "16", "32"};
constexpr std::array<std::string_view, 5> repeats{"1", "4", "16", "64", "256"};  // flat around the optimum
constexpr std::array<std::string_view, 7> block_sizes{"64", "96", "128", "192", "256", "384", "512"};
constexpr std::array<std::string_view, 6> chunk_rows{"4", "8", "16", "32", "64", "128"};
constexpr std::array<std::string_view, 5> windows{"1", "128", "512", "4608", "32768"};  // multiples of all chunk sizes

constexpr bool host = true, gpu = true, converts = true, up = true, same_bits = true;

// On an H200 products of csr depend most on the threads per row, of which the rule chooses slightly too many, then on
// the rows per group, also too many, and little on the threads per block.
constexpr std::array options{
    TunableOption{"csr", "coop", !host, gpu, !converts, !up, !same_bits, up_to_32},
    TunableOption{"csr", "repeat", !host, gpu, !converts, !up, !same_bits, repeats},
    TunableOption{"csr", "block_size", !host, gpu, !converts, up, !same_bits, block_sizes},
    TunableOption{"ellr-t", "block_size", !host, gpu, !converts, up, !same_bits, block_sizes},
    TunableOption{"ellr-t", "T", host, gpu, converts, up, !same_bits, up_to_32},
    TunableOption{"sell", "C", host, gpu, converts, up, same_bits, chunk_rows},
    TunableOption{"sell", "sigma", host, gpu, converts, up, !same_bits, windows},
    TunableOption{"lma-atomic", "patch", !host, gpu, converts, up, !same_bits, {}},
    TunableOption{"lma-coloured", "patch", !host, gpu, converts, up, !same_bits, {}},
    TunableOption{"lma-gather", "patch", !host, gpu, converts, up, !same_bits, {}},
    TunableOption{"matrix-free", "patch", !host, gpu, converts, up, !same_bits, {}},
};

/// Numbers of cells per patch around a chosen one: multiples of 32 in steps of about 3 : 4.
std::vector<std::string> patches_around(std::int64_t chosen) {
  constexpr std::int64_t group = 32, most = 2048;
  std::vector<std::string> values;
  for (const double factor : {0.375, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0}) {
    const std::int64_t cells =
        (static_cast<std::int64_t>(factor * static_cast<double>(chosen)) + group - 1) / group * group;
    const std::string text = std::to_string(std::clamp(cells, group, most));
    if (values.empty() || values.back() != text) values.push_back(text);
  }
  return values;
}

/// Index of the value closest in ratio to a number.
std::size_t place_of(std::int64_t number, const std::vector<std::string>& values) {
  const auto distance = [&](const std::string& value) {
    return std::abs(std::log(std::stod(value) / static_cast<double>(number)));
  };
  return static_cast<std::size_t>(std::ranges::min_element(values, {}, distance) - values.begin());
}

/// Present value of an operator's option: the chosen one, or else the default.
std::string value_now(const operators::OperatorDescription& row, std::string_view option, const Options& chosen) {
  if (const auto found = chosen.find(std::string(option)); found != chosen.end()) return found->second;
  const auto described = std::ranges::find(row.options, option, &operators::OptionDescription::name);
  return described != row.options.end() ? std::string(described->default_value) : "";
}

}  // namespace

std::span<const TunableOption> tunable_options() { return options; }

bool is_tunable(std::string_view op, Device device) {
  return std::ranges::any_of(options, [&](const TunableOption& option) {
    return option.op == op && (device == Device::host ? option.on_host : option.on_gpu);
  });
}

template <std::floating_point T>
std::vector<TunedOption> open_options(std::string_view op, const Operator<T>& a, const Options& given) {
  const bool on_host = a.device() == Device::host;
  const bool launches = dynamic_cast<const operators::WithLaunch*>(&a) != nullptr;
  const Options chosen = a.chosen();
  const bool in_order = chosen.contains("sigma") && chosen.at("sigma") == "1";  // else x'Ax is summed slice by slice
  std::vector<TunedOption> open;
  if (a.size() == 0) return open;
  for (const TunableOption& option : options) {
    if (option.op != op || !(on_host ? option.on_host : option.on_gpu)) continue;
    if (given.contains(std::string(option.name)) || (!option.converts && !launches)) continue;
    const auto now = operators::parse_positive(value_now(*operators::find_operator(op), option.name, chosen));
    if (!now) continue;
    TunedOption tuned{.name = std::string(option.name),
                      .values = {option.values.begin(), option.values.end()},
                      .converts = option.converts,
                      .up_first = option.up_first,
                      .same_bits = on_host && option.same_bits_on_host && in_order};
    if (tuned.values.empty()) tuned.values = patches_around(*now);
    // On a processor, slices that do not fill registers are summed differently, and are slower.
    if (tuned.name == "C" && on_host) {
      constexpr std::int64_t lanes = mesh::register_bytes / sizeof(T);
      std::erase_if(tuned.values, [](const std::string& value) { return std::stoll(value) % lanes != 0; });
      tuned.same_bits = tuned.same_bits && *now % lanes == 0;
    }
    // All windows with more rows than the matrix are equivalent.
    if (tuned.name == "sigma")
      std::erase_if(tuned.values, [&](const std::string& value) { return std::stoll(value) > a.size(); });
    tuned.start = place_of(*now, tuned.values);
    if (!option.values.empty()) tuned.values[tuned.start] = std::to_string(*now);
    if (tuned.values.size() > 1) open.push_back(std::move(tuned));
  }
  return open;
}

Options options_of(const Setting& setting, const std::vector<TunedOption>& tuned, Options given) {
  for (std::size_t i = 0; i < tuned.size(); ++i) given[tuned[i].name] = tuned[i].values[setting[i]];
  return given;
}

template std::vector<TunedOption> open_options(std::string_view, const Operator<double>&, const Options&);
template std::vector<TunedOption> open_options(std::string_view, const Operator<float>&, const Options&);

}  // namespace femcg::solver

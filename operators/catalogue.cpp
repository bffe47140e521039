#include "operators/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace femcg::operators {

namespace {

/// The catalogue with the operators of the libraries that this process has loaded; it has room for all that may come,
/// so that no row moves.
std::vector<OperatorDescription>& all_operators() {
  static std::vector<OperatorDescription> all = [] {
    const auto own = own_operators();
    std::vector<OperatorDescription> rows;
    rows.reserve(own.size() + most_added_operators);
    rows.assign(own.begin(), own.end());
    return rows;
  }();
  return all;
}

}  // namespace

std::span<const OperatorDescription> catalogue() { return all_operators(); }

bool add_operators(std::vector<OperatorDescription> rows) {
  std::vector<OperatorDescription>& all = all_operators();
  if (all.size() + rows.size() > all.capacity()) return false;
  std::ranges::move(rows, std::back_inserter(all));
  return true;
}

const OperatorDescription* find_operator(std::string_view name) {
  const auto rows = catalogue();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const OperatorDescription& candidate) { return candidate.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> OperatorDescription::make(const Ingredients<T>& from, const Options& given) const {
  if (added) return added->make(from, given);
  Makers makers = on_host;
  if (from.device == Device::cuda) {
    const auto rows = cuda_rows();
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const CudaRow& candidate) { return candidate.name == name; });
    makers = row == rows.end() ? Makers{} : row->makers;
  }
  if (makers.in<T>() == nullptr)
    throw std::logic_error(fmt::format("operator '{}' has no version for this device in this build", name));
  return makers.in<T>()(from, given);
}

template std::unique_ptr<Operator<double>> OperatorDescription::make(const Ingredients<double>&, const Options&) const;
template std::unique_ptr<Operator<float>> OperatorDescription::make(const Ingredients<float>&, const Options&) const;

void check_options(const OperatorDescription& row, const Options& given) {
  for (const auto& [name, value] : given) {
    const auto known =
        std::find_if(row.options.begin(), row.options.end(),
                     [&wanted = name](const OptionDescription& option) { return option.name == wanted; });
    if (known == row.options.end()) {
      std::string names;
      for (const OptionDescription& option : row.options)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", option.name);
      throw std::invalid_argument(fmt::format("operator '{}' has no option '{}' ({})", row.name, name,
                                              names.empty() ? "it has none" : "it has " + names));
    }
    if (row.added ? !row.added->accepts(*known, value) : !known->accepts(value))
      throw std::invalid_argument(
          fmt::format("option '{}' of operator '{}' must be {}, not '{}'", name, row.name, known->values, value));
  }
}

}  // namespace femcg::operators

// Catalogues of operators and preconditioners that can be chosen but not made, so that a fuzzer needs none of their
// code.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "operators/catalogue.hpp"
#include "operators/plugins/plugins.hpp"
#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::operators {

namespace {

constexpr std::array threads_of_rows{
    OptionDescription{"coop", "1 to 32", "1", "threads a row",
                      [](std::string_view text) { return parse_positive(text).value_or(33) <= 32; }}};

}  // namespace

std::span<const OperatorDescription> own_operators() {
  static const std::array rows{OperatorDescription{"csr", "rows", "", Needs::matrix, false, threads_of_rows},
                               OperatorDescription{"matrix-free", "nothing", "", Needs::form}};
  return rows;
}

/// A fuzzer must not load a library named by its input.
void load_plugin(const std::filesystem::path&, int) { throw PluginError("a fuzzer loads no plug-ins"); }

const std::vector<std::filesystem::path>& loaded_plugins() {
  static const std::vector<std::filesystem::path> none;
  return none;
}

}  // namespace femcg::operators

namespace femcg::solver {

namespace {

constexpr std::array smoother_of_rows{operators::OptionDescription{
    "smoother", "1 to 8", "3", "degree of the smoother",
    [](std::string_view text) { return operators::parse_positive(text).value_or(9) <= 8; }}};

}  // namespace

std::span<const PreconditionerDescription> preconditioners() {
  static const std::array rows{
      PreconditionerDescription{automatic_preconditioner, "", "", {}, true, 0, true, nullptr, nullptr},
      PreconditionerDescription{"multigrid", "", "", smoother_of_rows, false, 0, true, nullptr, nullptr}};
  return rows;
}

const PreconditionerDescription* find_preconditioner(std::string_view name) {
  const auto rows = preconditioners();
  const auto row = std::ranges::find(rows, name, &PreconditionerDescription::name);
  return row == rows.end() ? nullptr : &*row;
}

std::string why_not(const PreconditionerDescription&, operators::Device, int) { return ""; }

void check_options(const PreconditionerDescription& row, const operators::Options& given) {
  for (const auto& [name, value] : given) {
    const auto known = std::ranges::find(row.options, name, &operators::OptionDescription::name);
    if (known == row.options.end() || !known->accepts(value)) throw std::invalid_argument("no such option");
  }
}

}  // namespace femcg::solver

// A catalogue of operators that are chosen and never made, so that a fuzzer needs no operator's code.
#include <array>

#include "operators/catalogue.hpp"
#include "operators/plugins/plugins.hpp"

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

/// A fuzzer runs no code of a library that it made up.
void load_plugin(const std::filesystem::path&) { throw PluginError("a fuzzer loads no plug-ins"); }

const std::vector<std::filesystem::path>& loaded_plugins() {
  static const std::vector<std::filesystem::path> none;
  return none;
}

}  // namespace femcg::operators

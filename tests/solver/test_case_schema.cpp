// The schema's values of options compared with their own checks. check_schema.py compares cases with the schema.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operators/catalogue.hpp"
#include "solver/case/case_schema.hpp"
#include "solver/preconditioners/preconditioners.hpp"

using namespace femcg;
using solver::AcceptedValues;

namespace {

bool says(const AcceptedValues& accepted, std::int64_t number) {
  if (!accepted.least) return std::ranges::find(accepted.numbers, number) != accepted.numbers.end();
  const bool from = accepted.fractions ? number > *accepted.least : number >= *accepted.least;
  return from && (!accepted.largest || number <= *accepted.largest) && number % accepted.step == 0;
}

void check(const operators::OptionDescription& option) {
  const AcceptedValues accepted = solver::accepted_values(option);
  for (std::int64_t number = 0; number < 20'000; ++number)
    if (says(accepted, number) != option.accepts(fmt::format("{}", number))) {
      CHECK_MESSAGE(false, option.name, " (", option.values, ") and ", number);
      return;
    }
  const std::string standard(option.default_value);
  const bool is_word = standard.find_first_not_of("0123456789") != std::string::npos;
  if (is_word) CHECK(std::ranges::find(accepted.words, standard) != accepted.words.end());
}

operators::OptionDescription option(std::string_view values, bool (*accepts)(std::string_view)) {
  return {"option", values, "", "", accepts};
}

}  // namespace

TEST_CASE("what the schema says of every option is what the option accepts") {
  for (const operators::OperatorDescription& row : operators::catalogue())
    for (const operators::OptionDescription& option : row.options) {
      INFO(row.name, ".", option.name);
      check(option);
    }
  for (const solver::PreconditionerDescription& row : solver::preconditioners())
    for (const operators::OptionDescription& option : row.options) check(option);
}

TEST_CASE("words, lists and ranges of numbers are found by asking") {
  const AcceptedValues words = solver::accepted_values(
      option("auto, on or off", [](std::string_view text) { return text == "auto" || text == "on" || text == "off"; }));
  CHECK(words.words == std::vector<std::string>{"auto", "on", "off"});
  CHECK(words.numbers.empty());
  CHECK_FALSE(words.least);
  const AcceptedValues powers = solver::accepted_values(
      option("auto, 1 to 8", [](std::string_view text) { return operators::is_power_of_two(text, 1, 8); }));
  CHECK(powers.words.empty());
  CHECK(powers.numbers == std::vector<std::int64_t>{1, 2, 4, 8});
  const AcceptedValues multiples =
      solver::accepted_values(option("a multiple of 32 up to 2048", [](std::string_view text) {
        const auto number = operators::parse_positive(text);
        return number && *number % 32 == 0 && *number <= 2048;
      }));
  CHECK(multiples.least == 32);
  CHECK(multiples.largest == 2048);
  CHECK(multiples.step == 32);
  const AcceptedValues any = solver::accepted_values(
      option("auto, or a number", [](std::string_view text) { return operators::parse_positive(text).has_value(); }));
  CHECK(any.least == 1);
  CHECK_FALSE(any.largest);
  CHECK_FALSE(any.fractions);
}

TEST_CASE("the schema has every operator and every preconditioner") {
  const auto schema = nlohmann::json::parse(solver::case_schema());
  const auto names = schema["$defs"]["operator"]["anyOf"][0]["enum"].get<std::vector<std::string>>();
  CHECK(names.size() == operators::catalogue().size());
  for (const operators::OperatorDescription& row : operators::catalogue())
    CHECK(std::ranges::find(names, std::string(row.name)) != names.end());
  CHECK(schema["$defs"]["preconditioner"]["anyOf"][0]["enum"].size() == solver::preconditioners().size());
}

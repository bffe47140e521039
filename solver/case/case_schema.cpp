#include "solver/case/case_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>

#include "operators/catalogue.hpp"
#include "solver/case/case_keys.hpp"
#include "solver/case/sweep.hpp"
#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::solver {

namespace {

using Json = nlohmann::ordered_json;
using operators::OptionDescription;

Json reference(std::string_view definition) { return {{"$ref", fmt::format("#/$defs/{}", definition)}}; }

/// Converts a default from YAML to JSON.
Json value_of(std::string_view yaml) {
  if (yaml == "true" || yaml == "false") return yaml == "true";
  if (Json number = Json::parse(yaml, nullptr, false); number.is_number()) return number;
  return std::string(yaml);
}

void add_bounds(Json& to, const NumberRule& rule, bool whole) {
  const auto bound = [&](double value) { return whole ? Json(static_cast<std::int64_t>(value)) : Json(value); };
  if (rule.least > any_number.least) to[rule.least_left_out ? "exclusiveMinimum" : "minimum"] = bound(rule.least);
  if (rule.largest < any_number.largest)
    to[rule.largest_left_out ? "exclusiveMaximum" : "maximum"] = bound(rule.largest);
}

/// Schema of a number, or of an expression of constants, which contains a digit or pi.
Json number_schema(const NumberRule& rule) {
  Json number{{"type", "number"}};
  add_bounds(number, rule, false);
  return {{"anyOf", {number, {{"type", "string"}, {"pattern", "[0-9]|pi"}}}}};
}

Json schema_of(const KeyDescription& key);

Json list_schema(const KeyDescription& key) {
  Json list{{"type", "array"}, {"minItems", key.fewest}};
  if (key.most > 0) list["maxItems"] = key.most;
  list["items"] = schema_of(*key.each());
  if (key.words.empty()) return list;
  return {{"anyOf", {{{"enum", key.words}}, list}}};
}

/// Schema for exactly one of several sets of keys: all keys of that set and none of the others.
Json alternatives_schema(const KeyDescription& key) {
  Json alternatives = Json::array();
  for (const auto& there : key.one_of) {
    Json none = Json::object();
    for (const auto& others : key.one_of)
      for (const std::string_view other : others)
        if (std::ranges::find(there, other) == there.end()) none[std::string(other)] = false;
    alternatives.push_back({{"required", there}, {"properties", none}});
  }
  return alternatives;
}

Json map_schema(const KeyDescription& key) {
  Json map{{"type", "object"}, {"additionalProperties", false}};
  if (!key.required.empty()) map["required"] = key.required;
  map["properties"] = Json::object();
  for (const KeyDescription& inside : key.inside) map["properties"][std::string(inside.name)] = schema_of(inside);
  if (!key.one_of.empty()) map["oneOf"] = alternatives_schema(key);
  return map;
}

Json names_schema(const KeyDescription& key) {
  Json names{{"type", "object"}};
  if (key.fewest > 0) names["minProperties"] = key.fewest;
  names["additionalProperties"] = schema_of(*key.each());
  return names;
}

Json schema_of_kind(const KeyDescription& key) {
  switch (key.kind) {
    case ValueKind::text:
      if (!key.words.empty()) return {{"anyOf", {{{"enum", key.words}}, {{"type", "string"}}}}};
      return {{"type", {"string", "number", "boolean"}}};  // 2026 and true are valid where a text is expected
    case ValueKind::flag:
      return {{"type", "boolean"}};
    case ValueKind::whole: {
      Json whole{{"type", "integer"}};
      add_bounds(whole, key.rule, true);
      return whole;
    }
    case ValueKind::number:
      return number_schema(key.rule);
    case ValueKind::word:
      return {{"enum", key.words}};
    case ValueKind::device:
      return reference("device");
    case ValueKind::expression:
      return reference("expression");
    case ValueKind::field:
      return reference("field");
    case ValueKind::diffusion: {
      const Json tensor = map_schema(key), value{{"anyOf", {reference("expression"), tensor}}};
      return {{"anyOf", {reference("expression"), tensor, {{"type", "object"}, {"additionalProperties", value}}}}};
    }
    case ValueKind::list:
      return list_schema(key);
    case ValueKind::map:
      return map_schema(key);
    case ValueKind::names:
      return names_schema(key);
    case ValueKind::operator_:
      if (!key.words.empty()) return {{"anyOf", {{{"enum", key.words}}, reference("operator")}}};
      return reference("operator");
    case ValueKind::preconditioner:
      return reference("preconditioner");
    case ValueKind::sweep:
      return reference("sweep");
  }
  return true;
}

Json schema_of(const KeyDescription& key) {
  Json schema{{"description",
               key.unit.empty() ? std::string(key.meaning) : fmt::format("{} (unit: {})", key.meaning, key.unit)}};
  if (!key.default_value.empty()) schema["default"] = value_of(key.default_value);
  schema.update(schema_of_kind(key));
  return schema;
}

Json option_schema(const OptionDescription& option) {
  const AcceptedValues accepted = accepted_values(option);
  Json words = Json::array();
  for (const std::string& word : accepted.words) words.push_back(word);
  for (const std::int64_t number : accepted.numbers) words.push_back(number);
  Json schema{{"description", fmt::format("{}: {}", option.meaning, option.values)},
              {"default", value_of(option.default_value)}};
  if (!accepted.least) {
    schema["enum"] = words;
    return schema;
  }
  Json range{{"type", accepted.fractions ? "number" : "integer"}};
  range[accepted.fractions ? "exclusiveMinimum" : "minimum"] = *accepted.least;
  if (accepted.largest) range["maximum"] = *accepted.largest;
  if (accepted.step > 1) range["multipleOf"] = accepted.step;
  if (words.empty())
    schema.update(range);
  else
    schema["anyOf"] = {{{"enum", words}}, range};
  return schema;
}

/// Schema of the options of a choice, depending on its name; without a name, those of the default.
template <class Row>
Json options_by_name(std::span<const Row> rows, std::string_view default_name) {
  Json all = Json::array();
  for (const Row& row : rows) {
    Json condition{{"properties", {{"name", {{"const", row.name}}}}}};
    if (row.name != default_name) condition["required"] = {"name"};
    Json properties{{"name", true}};
    for (const OptionDescription& option : row.options) {
      const std::string name(option.name);
      const std::size_t dot = name.find('.');  // levels.fine is the key fine in levels
      if (dot == std::string::npos) {
        properties[name] = option_schema(option);
        continue;
      }
      Json& map = properties[name.substr(0, dot)];
      if (map.is_null())
        map = {
            {"type", "object"}, {"description", ""}, {"properties", Json::object()}, {"additionalProperties", false}};
      const std::string inner = name.substr(dot + 1), before = map["description"];
      map["properties"][inner] = option_schema(option);
      map["description"] = fmt::format("{}{}{}: {}", before, before.empty() ? "" : "; ", inner, option.meaning);
    }
    all.push_back({{"if", condition}, {"then", {{"properties", properties}, {"additionalProperties", false}}}});
  }
  return all;
}

/// Schema of a catalogue name, or a map of a name and options; meaning_of(row) describes a row.
template <class Row, class Meaning>
Json choice_schema(std::span<const Row> rows, std::string_view default_name, Meaning&& meaning_of) {
  Json names = Json::array(), meanings = Json::array();
  for (const Row& row : rows) {
    names.push_back(row.name);
    meanings.push_back(meaning_of(row));
  }
  // Editors display enumDescriptions next to a value.
  const Json name{{"enum", names}, {"enumDescriptions", meanings}};
  const Json map{{"type", "object"}, {"properties", {{"name", name}}}, {"allOf", options_by_name(rows, default_name)}};
  return {{"anyOf", {name, map}}};
}

/// Schema of a list of such values, or a range.
Json axis_schema(const Json& values) {
  const Json number{{"type", {"number", "string"}}};
  Json ends{{"from", number}, {"to", number}};
  Json ranges = Json::array({values});
  for (const char* by : {"step", "count", "factor"}) {
    Json properties = ends;
    properties[by] = number;
    ranges.push_back({{"type", "object"},
                      {"properties", properties},
                      {"required", {"from", "to", by}},
                      {"additionalProperties", false}});
  }
  return {{"anyOf", ranges}};
}

Json axis_schema(const KeyDescription& key) {
  Json axis = axis_schema(Json{{"type", "array"}, {"minItems", 1}, {"items", schema_of(key)}});
  axis["description"] = key.meaning;
  return axis;
}

const KeyDescription& key_at(std::string_view path) {
  for (const KeyPath& known : all_case_keys())
    if (known.path == path) return *known.key;
  throw std::logic_error(fmt::format("the table of keys of the case file has no '{}'", path));
}

/// Schema of a sweep: keys of the case by their last word or their whole path, and options of operators.
Json sweep_schema() {
  const Json values = axis_schema(Json{{"type", "array"}, {"minItems", 1}});
  Json axes = Json::object();
  for (const auto& [word, path] : sweep_words()) axes[std::string(word)] = axis_schema(key_at(path));
  for (const operators::OperatorDescription& row : operators::catalogue())
    for (const OptionDescription& option : row.options)
      if (!axes.contains(std::string(option.name))) axes[std::string(option.name)] = values;
  return {{"type", "object"},
          {"properties", axes},
          {"patternProperties", {{"\\.", values}}},
          {"additionalProperties", false}};
}

Json definitions() {
  const KeyDescription& solver = case_keys().at("solver");
  const Json expression{{"type", {"number", "string"}}};
  Json field{{"anyOf", {expression, {{"type", "object"}, {"additionalProperties", expression}}}}};
  const Json devices{{"enum", {"auto", "cpu", "cuda", "cuda:0", "cuda:1"}}};
  return {{"expression", expression},
          {"field", field},
          {"device", {{"anyOf", {devices, {{"type", "string"}, {"pattern", "^cuda:[0-9]{1,3}$"}}}}}},
          {"operator", choice_schema(operators::catalogue(), operator_of_options,
                                     [](const operators::OperatorDescription& row) { return row.stores; })},
          {"preconditioner", choice_schema(preconditioners(), solver.at("preconditioner").default_value,
                                           [](const PreconditionerDescription& row) { return row.meaning; })},
          {"sweep", sweep_schema()}};
}

constexpr std::int64_t all_tried = 5000;        // up to this value every integer is tried with an option
constexpr std::size_t most_listed = 16;         // longer lists are given as a range
constexpr std::int64_t beyond_all = 1LL << 40;  // an option that accepts this value has no upper bound

}  // namespace

AcceptedValues accepted_values(const OptionDescription& option) {
  AcceptedValues accepted;
  std::set<std::int64_t> tried{beyond_all}, taken;
  for (std::int64_t number = 0; number <= all_tried; ++number) tried.insert(number);
  for (std::int64_t number = 1; number < beyond_all; number *= 2) tried.insert(number);
  constexpr std::string_view part_of_word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  for (std::size_t at = 0; (at = option.values.find_first_of(part_of_word, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(option.values.find_first_not_of(part_of_word, at), option.values.size());
    const std::string_view word = option.values.substr(at, end - at);
    at = end;
    std::int64_t number = 0;
    if (const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        error == std::errc() && rest == word.data() + word.size())
      tried.insert(number);
    else if (option.accepts(word) && std::ranges::find(accepted.words, word) == accepted.words.end())
      accepted.words.emplace_back(word);
  }
  for (const std::int64_t number : tried)
    if (option.accepts(fmt::format("{}", number))) taken.insert(number);
  if (taken.size() <= most_listed) {
    accepted.numbers.assign(taken.begin(), taken.end());
    return accepted;
  }
  accepted.step = 0;
  for (const std::int64_t number : taken) accepted.step = std::gcd(accepted.step, number);
  accepted.fractions = option.accepts(fmt::format("{}.5", *taken.begin()));
  accepted.least = *taken.begin() - (accepted.fractions ? 1 : 0);
  if (!option.accepts(fmt::format("{}", *taken.rbegin() + 1))) accepted.largest = *taken.rbegin();
  return accepted;
}

std::string case_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"$comment", "made by femcg schema"},
              {"title", "A case of femcg"}};
  schema.update(schema_of(case_keys()));
  schema["$defs"] = definitions();
  return schema.dump(1) + "\n";
}

}  // namespace femcg::solver

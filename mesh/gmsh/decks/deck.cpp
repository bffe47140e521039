#include "mesh/gmsh/decks/deck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "mesh/gmsh/check/msh_cursor.hpp"

namespace femcg::mesh {

void Deck::add_node(std::int64_t label, const std::array<double, 3>& point, std::size_t line) {
  if (!node_numbers.emplace(label, points.size() / 3 + 1).second)
    fail_at_line(line, fmt::format("node {} is defined twice", label));
  points.insert(points.end(), point.begin(), point.end());
}

std::size_t Deck::add_element(std::int64_t label, std::int32_t type, std::int32_t property,
                              const std::vector<std::int64_t>& nodes, std::size_t line) {
  const std::size_t element = elements.size();
  if (!element_numbers.emplace(label, element).second)
    fail_at_line(line, fmt::format("element {} is defined twice", label));
  elements.push_back({type, property, element_nodes.size(), line});
  element_nodes.insert(element_nodes.end(), nodes.begin(), nodes.end());
  return element;
}

std::int32_t Deck::type_number(const ElementType& type) {
  const auto known = std::ranges::find(types, type.name, &ElementType::name);
  const auto number = static_cast<std::int32_t>(known - types.begin());
  if (known == types.end()) types.push_back(type);
  return number;
}

void Deck::check() const {
  if (points.empty()) throw std::runtime_error("there are no nodes in it");
  for (const Element& element : elements)
    for (int n = 0; n < types[element.type].nodes; ++n)
      if (!node_numbers.contains(element_nodes[element.first + n]))
        fail_at_line(element.line,
                     fmt::format("an element uses node {}, which does not exist", element_nodes[element.first + n]));
}

void fail_at_line(std::size_t line, const std::string& sentence) {
  throw std::runtime_error(fmt::format("line {}: {}", line, sentence));
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

std::int64_t integer_at(std::size_t line, std::string_view field) {
  const std::string_view digits = field.starts_with('+') ? field.substr(1) : field;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    fail_at_line(line, fmt::format("'{}' is not a whole number", printable(field)));
  return value;
}

double real_at(std::size_t line, std::string_view field) {
  std::string text(field.starts_with('+') ? field.substr(1) : field);
  std::ranges::replace_if(
      text, [](char c) { return c == 'd' || c == 'D'; }, 'e');
  const std::size_t sign = text.find_last_of("+-");
  if (sign != std::string::npos && sign > 0 &&
      (std::isdigit(static_cast<unsigned char>(text[sign - 1])) != 0 || text[sign - 1] == '.'))
    text.insert(sign, "e");
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    fail_at_line(line, fmt::format("'{}' is not a number", printable(field)));
  return value;
}

}  // namespace femcg::mesh

#include "mesh/gmsh/length_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace femcg::mesh {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string without_blanks(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (!is_blank(c)) plain += c;
  return plain;
}

/// Definitions of all units of length, by reference: "#17" and the text after "#17 =".
std::map<std::string, std::string, std::less<>> length_units_of(std::string_view step) {
  std::map<std::string, std::string, std::less<>> units;
  constexpr std::string_view mark = "LENGTH_UNIT";
  for (std::size_t at = step.find(mark); at != std::string_view::npos; at = step.find(mark, at + 1)) {
    const std::size_t before = step.rfind(';', at), begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string text = without_blanks(step.substr(begin, step.find(';', at) - begin));
    if (const std::size_t equals = text.find('='); equals != std::string::npos)
      units.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return units;
}

/// Text after "#17 =", up to its semicolon, without blanks; empty if there is no such entity.
std::string definition(std::string_view step, std::string_view reference) {
  for (std::size_t at = step.find(reference); at != std::string_view::npos; at = step.find(reference, at + 1)) {
    std::size_t next = at + reference.size();
    while (next < step.size() && is_blank(step[next])) ++next;
    if (next >= step.size() || step[next] != '=') continue;
    return without_blanks(step.substr(next + 1, step.find(';', next) - next - 1));
  }
  return {};
}

/// First "#17" of a text from a position on; empty if there is none.
std::string_view reference_in(std::string_view text, std::size_t from) {
  const std::size_t begin = text.find('#', from);
  if (begin == std::string_view::npos) return {};
  std::size_t end = begin + 1;
  while (end < text.size() && is_digit(text[end])) ++end;
  return text.substr(begin, end - begin);
}

std::optional<double> si_metres(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 8> prefixes{{{"$,", 1},
                                                                         {".KILO.,", 1e3},
                                                                         {".DECI.,", 1e-1},
                                                                         {".CENTI.,", 1e-2},
                                                                         {".MILLI.,", 1e-3},
                                                                         {".MICRO.,", 1e-6},
                                                                         {".NANO.,", 1e-9},
                                                                         {".PICO.,", 1e-12}}};
  constexpr std::string_view begin = "SI_UNIT(";
  const std::size_t at = unit.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view arguments = unit.substr(at + begin.size());
  for (const auto& [prefix, metres] : prefixes)
    if (arguments.starts_with(prefix) && arguments.substr(prefix.size()).starts_with(".METRE.")) return metres;
  return std::nullopt;
}

/// Metres of CONVERSION_BASED_UNIT('INCH',#17), where #17 is LENGTH_MEASURE_WITH_UNIT(LENGTH_MEASURE(25.4),#18).
std::optional<double> converted_metres(std::string_view step, std::string_view unit) {
  const std::size_t at = unit.find("CONVERSION_BASED_UNIT(");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string measure = definition(step, reference_in(unit, at));
  constexpr std::string_view begin = "LENGTH_MEASURE(";
  const std::size_t number = measure.find(begin);
  if (number == std::string::npos) return std::nullopt;
  const double factor = std::strtod(measure.c_str() + number + begin.size(), nullptr);
  const std::optional<double> base = si_metres(definition(step, reference_in(measure, number)));
  if (!base || !(factor > 0) || !std::isfinite(factor)) return std::nullopt;
  return factor * *base;
}

}  // namespace

std::optional<double> stated_metres(std::string_view step) {
  const std::map<std::string, std::string, std::less<>> units = length_units_of(step);
  constexpr std::string_view context = "GLOBAL_UNIT_ASSIGNED_CONTEXT";
  constexpr int most_contexts = 16;  // an assembly has one per part
  std::optional<double> stated;
  std::size_t at = step.find(context);
  for (int n = 0; n < most_contexts && at != std::string_view::npos; ++n, at = step.find(context, at + 1)) {
    const std::string_view list = step.substr(at, step.find("))", at) - at);
    for (std::size_t from = 0; !reference_in(list, from).empty();) {
      const std::string_view reference = reference_in(list, from);
      from = list.find(reference, from) + reference.size();
      const auto unit = units.find(reference);
      if (unit == units.end()) continue;
      const bool converted = unit->second.find("CONVERSION_BASED_UNIT") != std::string::npos;
      const std::optional<double> metres = converted ? converted_metres(step, unit->second) : si_metres(unit->second);
      if (!metres || (stated && *stated != *metres)) return std::nullopt;
      stated = metres;
    }
  }
  return stated;
}

std::optional<double> iges_metres(std::string_view iges) {
  // Lines have 80 columns; column 73 names the section.
  std::string global;
  for (std::size_t begin = 0; begin < iges.size();) {
    const std::size_t end = std::min(iges.find('\n', begin), iges.size());
    const std::string_view line = iges.substr(begin, end - begin);
    if (line.size() > 72 && line[72] == 'G') global += line.substr(0, 72);
    begin = end + 1;
  }
  // Parameters end in the delimiters that the first two define (1H,,1H;), texts have their length in front (4HINCH).
  std::vector<std::string> parameters;
  char delimiter = ',', last = ';';
  for (std::size_t at = 0; at < global.size() && parameters.size() < 15;) {
    std::string parameter;
    std::size_t digits = at;
    while (digits < global.size() && (is_digit(global[digits]) || global[digits] == ' ')) ++digits;
    if (digits < global.size() && digits > at && global[digits] == 'H') {
      const auto count = static_cast<std::size_t>(std::strtoul(global.c_str() + at, nullptr, 10));
      parameter = global.substr(digits + 1, count);
      at = digits + 1 + std::min(count, global.size());
      if (parameters.empty() && !parameter.empty()) delimiter = parameter[0];
      if (parameters.size() == 1 && !parameter.empty()) last = parameter[0];
    }
    while (at < global.size() && global[at] != delimiter && global[at] != last) parameter += global[at++];
    parameters.push_back(without_blanks(parameter));
    if (at >= global.size() || (global[at] == last && parameters.size() > 2)) break;
    ++at;
  }
  if (parameters.size() < 14) return std::nullopt;
  constexpr std::array<double, 12> by_flag{0, 0.0254, 1e-3, 0, 0.3048, 1609.344, 1, 1e3, 2.54e-5, 1e-6, 1e-2, 2.54e-8};
  const int flag = std::atoi(parameters[13].c_str());
  if (flag >= 1 && flag <= 11 && flag != 3) return by_flag[static_cast<std::size_t>(flag)];
  if (parameters.size() < 15) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, double>, 8> names{{{"INCH", 0.0254},
                                                                      {"IN", 0.0254},
                                                                      {"MM", 1e-3},
                                                                      {"FT", 0.3048},
                                                                      {"M", 1},
                                                                      {"KM", 1e3},
                                                                      {"CM", 1e-2},
                                                                      {"UM", 1e-6}}};
  for (const auto& [name, metres] : names)
    if (parameters[14] == name) return metres;
  return std::nullopt;
}

std::string unit_name(double metres) {
  for (const LengthUnit& known : length_units)
    if (std::abs(known.metres / metres - 1) < 1e-9) return std::string(known.name);
  return fmt::format("{:.6g} m", metres);
}

}  // namespace femcg::mesh

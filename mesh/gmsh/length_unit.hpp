#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace femcg::mesh {

/// A unit of length, and how many metres it has.
struct LengthUnit {
  std::string_view name;
  double metres;
};

inline constexpr std::array<LengthUnit, 8> length_units{
    {{"m", 1}, {"mm", 1e-3}, {"cm", 1e-2}, {"um", 1e-6}, {"nm", 1e-9}, {"km", 1e3}, {"in", 0.0254}, {"ft", 0.3048}}};

/// In metres; 0 for a name that is none.
constexpr double metres_of(std::string_view unit) {
  for (const LengthUnit& known : length_units)
    if (known.name == unit) return known.metres;
  return 0;
}

/// The metres of the unit that a STEP file states for its lengths, in its text (ISO 10303-41: an SI unit with its
/// prefix, or one converted to that); nothing where it states none that can be read, or several.
std::optional<double> stated_metres(std::string_view step);

/// The same of an IGES file, in its global section (parameters 14 and 15).
std::optional<double> iges_metres(std::string_view iges);

/// "mm", or "0.5 m" of what has no name.
std::string unit_name(double metres);

}  // namespace femcg::mesh

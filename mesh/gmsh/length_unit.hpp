#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace femcg::mesh {

/// A unit of length and its size in metres.
struct LengthUnit {
  std::string_view name;
  double metres;
};

inline constexpr std::array<LengthUnit, 8> length_units{
    {{"m", 1}, {"mm", 1e-3}, {"cm", 1e-2}, {"um", 1e-6}, {"nm", 1e-9}, {"km", 1e3}, {"in", 0.0254}, {"ft", 0.3048}}};

/// Size of a unit in metres; 0 for an unknown name.
constexpr double metres_of(std::string_view unit) {
  for (const LengthUnit& known : length_units)
    if (known.name == unit) return known.metres;
  return 0;
}

/// Metres per unit of length that a STEP file states in its text (ISO 10303-41: an SI unit with its prefix, or a unit
/// converted to one); empty if it states none that can be read, or several.
std::optional<double> stated_metres(std::string_view step);

/// The same for an IGES file, from its global section (parameters 14 and 15).
std::optional<double> iges_metres(std::string_view iges);

/// Name of a unit: "mm", or "0.5 m" if it has none.
std::string unit_name(double metres);

}  // namespace femcg::mesh

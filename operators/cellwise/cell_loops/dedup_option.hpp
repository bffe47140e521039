#pragma once

#include <string_view>

#include "operators/backend/device.hpp"
#include "operators/options.hpp"

namespace femcg::operators {

/// Storage of data of congruent cells: once per class, or for each cell.
enum class Dedup {
  automatic,  ///< per class if at most an eighth of the cells are distinct
  on,
  off
};

inline constexpr OptionDescription dedup_option{
    "dedup", "auto|on|off", "auto",
    "store once what identical cells have in common; auto: where at most an eighth are distinct (GPU only)",
    [](std::string_view text) { return text == "auto" || text == "on" || text == "off"; }};

/// Most congruence classes with which Dedup::automatic stores data per class.
constexpr std::int64_t most_classes(std::int64_t cells) { return cells / 8; }

/// The value of the option. Throws std::invalid_argument if it is on for the host, which stores data for every cell.
Dedup asked_dedup(std::string_view operator_name, const Options& given, Device device);

}  // namespace femcg::operators

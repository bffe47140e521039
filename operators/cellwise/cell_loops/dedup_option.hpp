#pragma once

#include <string_view>

#include "operators/backend/device.hpp"
#include "operators/options.hpp"

namespace femcg::operators {

/// Storage of data of congruent cells: once for a class, or for each cell.
enum class Dedup {
  automatic,  ///< where at most an eighth of the cells are distinct
  on,
  off
};

inline constexpr OptionDescription dedup_option{
    "dedup", "auto|on|off", "auto",
    "store once what identical cells have in common; auto: where at most an eighth are distinct (GPU only)",
    [](std::string_view text) { return text == "auto" || text == "on" || text == "off"; }};

/// The most kinds of cells with which Dedup::automatic stores once.
constexpr std::int64_t most_classes(std::int64_t cells) { return cells / 8; }

/// Throws std::invalid_argument where it is on for the CPU, which stores every cell's own.
Dedup asked_dedup(std::string_view operator_name, const Options& given, Device device);

}  // namespace femcg::operators

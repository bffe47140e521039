#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace femcg::solver {

/// Number with thousands separators: 1,234,567.
std::string grouped(std::int64_t number);

/// Number with a metric prefix and unit, three digits: 1.23 GB/s.
std::string scaled(double value, std::string_view unit);

/// Duration in readable units: 8 ns, 12 us, 3.4 ms, 5.67 s, 8 min 09 s.
std::string duration(double seconds);

}  // namespace femcg::solver

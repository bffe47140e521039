#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace femcg::solver {

/// 1234567 as 1,234,567.
std::string grouped(std::int64_t number);

/// A number with a prefix and unit, three digits: 1.23 GB/s.
std::string scaled(double value, std::string_view unit);

/// Seconds as a person says them: 8 ns, 12 us, 3.4 ms, 5.67 s, 8 min 09 s.
std::string duration(double seconds);

}  // namespace femcg::solver

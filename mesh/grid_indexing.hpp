#pragma once

#include <array>
#include <cstdint>

namespace femcg::mesh {

/// Exact integer quotient of numbers from 0 to 2^31 - 1 by a fixed divisor, by multiplication: (n + 1/2) / d lies at
/// least 1 / (2 d) from every integer, and rounding moves it by less.
class Quotient {
 public:
  constexpr Quotient() = default;
  explicit constexpr Quotient(std::int32_t divisor) : divisor_(divisor), reciprocal_(1.0 / divisor) {}

  constexpr std::int32_t operator()(std::int32_t number) const {
    return static_cast<std::int32_t>((number + 0.5) * reciprocal_);
  }
  constexpr std::int32_t rest(std::int32_t number) const { return number - (*this)(number)*divisor_; }

 private:
  std::int32_t divisor_ = 1;
  double reciprocal_ = 1;
};

/// Grid index (x, y, z), numbered with the first axis fastest.
using GridIndex = std::array<std::int32_t, 3>;

/// Maps a number to its grid index in a grid with `along_x` by `along_y` entries per plane.
class GridIndexing {
 public:
  constexpr GridIndexing() = default;
  constexpr GridIndexing(std::int32_t along_x, std::int32_t along_y) : along_x_(along_x), along_y_(along_y) {}

  constexpr GridIndex operator()(std::int32_t number) const {
    const std::int32_t row = along_x_(number);
    return {along_x_.rest(number), along_y_.rest(row), along_y_(row)};
  }

 private:
  Quotient along_x_, along_y_;
};

}  // namespace femcg::mesh

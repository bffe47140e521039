#pragma once

#include <cstdint>

namespace femcg::operators {

/// Hashes a number to 64 pseudo-random bits by the mixing function of SplitMix64 (Steele, Lea & Flood 2014). The same
/// on every device and for any number of threads.
constexpr std::uint64_t mixed_bits(std::int64_t number) {
  std::uint64_t bits = (static_cast<std::uint64_t>(number) + 1) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

}  // namespace femcg::operators

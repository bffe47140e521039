#pragma once

#include <chrono>

namespace femcg::solver {

/// Of a clock that never goes back; two of them tell what something took.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace femcg::solver

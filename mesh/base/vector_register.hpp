#pragma once

#include <experimental/simd>

namespace femcg::mesh {

/// Bytes of a vector register of the processor that femcg is compiled for. Longer vectors are not used because g++ 12
/// splits them into scalars where they are loaded and passed on.
constexpr int register_bytes = static_cast<int>(std::experimental::native_simd<double>::size() * sizeof(double));

}  // namespace femcg::mesh

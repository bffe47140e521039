#pragma once

#include <experimental/simd>

namespace femcg::mesh {

/// Bytes of a vector register of the processor that femcg is compiled for. Vectors of several registers would do as
/// well if g++ 12 did not take them apart, number by number, where they are loaded and passed on.
constexpr int register_bytes = static_cast<int>(std::experimental::native_simd<double>::size() * sizeof(double));

}  // namespace femcg::mesh

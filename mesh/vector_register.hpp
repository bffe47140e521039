#pragma once

namespace femcg::mesh {

/// Bytes of a vector register of the processor that femcg is compiled for. Vectors of several registers would do as
/// well if g++ 12 did not take them apart, number by number, where they are loaded and passed on.
#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

}  // namespace femcg::mesh

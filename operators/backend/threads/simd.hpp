#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

namespace femcg::operators {

template <std::floating_point T, int N>
struct PackOf {
  using type [[gnu::vector_size(N * sizeof(T))]] = T;
};

/// N values in one register; arithmetic is entry by entry.
template <std::floating_point T, int N>
using Pack = typename PackOf<T, N>::type;

/// Four values: the pack of the stored formats, along a row or across rows.
template <std::floating_point T>
using Quad = Pack<T, 4>;

/// Loads from[0], ..., from[N - 1].
template <int N, std::floating_point T>
inline Pack<T, N> load(const T* from) {
  Pack<T, N> pack;
  std::memcpy(&pack, from, sizeof pack);
  return pack;
}

/// Converts to double precision.
template <std::floating_point T>
inline Quad<double> widen(Quad<T> quad) {
  return __builtin_convertvector(quad, Quad<double>);
}

/// Prefetches the entry of a stream `entries` further on. Hardware prefetchers stop at the end of a page and start
/// late: a single-threaded product from memory gains a tenth to a half. Beyond the end of an array this does nothing.
template <class T>
inline void prefetch_ahead(const T* at, std::intptr_t entries = 256) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::intptr_t>(at) +
                                                   entries * static_cast<std::intptr_t>(sizeof(T))));
}

/// Loads x[columns[0]], ..., x[columns[3]] by four scalar loads.
///
/// A plain loop over x[columns[k]] becomes gather instructions with AVX2 and AVX-512. With the microcode against Gather
/// Data Sampling (CVE-2022-40982) these are several times slower than scalar loads on Intel's cores up to Ice Lake, and
/// slower than memory: a product in single precision ran at a third of the bandwidth.
template <std::floating_point T, std::integral Index>
inline Quad<T> pick_four(const T* x, const Index* columns) {
  return Quad<T>{x[columns[0]], x[columns[1]], x[columns[2]], x[columns[3]]};
}
template <std::floating_point T>
inline Pack<T, 2> pick_two(const T* x, const std::int32_t* columns) {
  return Pack<T, 2>{x[columns[0]], x[columns[1]]};
}

/// to[k] = x[columns[k]] for k < count, without gather instructions.
template <std::floating_point T, std::integral Index>
inline void pick(const T* x, const Index* columns, std::int32_t count, T* to) {
  std::int32_t k = 0;
  for (; k + 4 <= count; k += 4) {
    const Quad<T> four = pick_four(x, columns + k);
    std::memcpy(to + k, &four, sizeof four);
  }
#pragma GCC unroll 0
  for (; k < count; ++k) to[k] = x[columns[k]];
}

}  // namespace femcg::operators

#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Row i of `to` is row places[i] of `from`, rounded to To; row i if `places` is empty. Rows have `stride` values
/// (MultiVector). All live on one device; `places` is a permutation. Not instantiated from single to double precision.
template <std::floating_point From, std::floating_point To>
void gather_rows(const Vector<From>& from, const Vector<std::int32_t>& places, int stride, Vector<To>& to);
/// Row places[i] of `to` is row i of `from`. Not instantiated from double to single precision.
template <std::floating_point From, std::floating_point To>
void scatter_rows(const Vector<From>& from, const Vector<std::int32_t>& places, int stride, Vector<To>& to);

/// to[i] = from[places[i]].
template <std::floating_point T>
void gather(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to) {
  gather_rows(from, places, 1, to);
}
/// to[places[i]] = from[i].
template <std::floating_point T>
void scatter(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to) {
  scatter_rows(from, places, 1, to);
}

/// Positions places[i] with from[places[i]] = to[i], for two orderings of 0 .. size - 1; an empty ordering is the
/// identity. Empty if the two orderings are equal. On the device of the orderings.
Vector<std::int32_t> places_between(const Vector<std::int32_t>& from, const Vector<std::int32_t>& to,
                                    std::int64_t size);

/// Sets vector[i] = 0 for all i of `places`.
template <std::floating_point T>
void clear_at(std::span<const std::int32_t> places, Vector<T>& vector);

/// The same on the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point From, std::floating_point To>
void cuda_gather_rows(const From* from, const Vector<std::int32_t>& places, std::int64_t rows, int stride, To* to);
template <std::floating_point From, std::floating_point To>
void cuda_scatter_rows(const From* from, const Vector<std::int32_t>& places, std::int64_t rows, int stride, To* to);
Vector<std::int32_t> cuda_places_between(const Vector<std::int32_t>& from, const Vector<std::int32_t>& to,
                                         std::int64_t size);
template <std::floating_point T>
void cuda_clear_at(std::span<const std::int32_t> places, Vector<T>& vector);

/// On the GPU: to[places[i]] += from[i]; to[i] += from[i] if `places` is empty. Throws std::runtime_error in a build
/// without CUDA.
template <std::floating_point T>
void cuda_scatter_added(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<double>& to);

}  // namespace femcg::operators

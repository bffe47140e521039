#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// to[i] = from[places[i]]. All three have one size and live on one device; `places` is a permutation.
template <std::floating_point T>
void gather(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to);

/// to[places[i]] = from[i].
template <std::floating_point T>
void scatter(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to);

/// places[i]: where the ordering `from` of so many numbers has the one that `to` has at i; an empty ordering has each
/// in its own place. Empty where the two orderings are one. On their device.
Vector<std::int32_t> places_between(const Vector<std::int32_t>& from, const Vector<std::int32_t>& to,
                                    std::int64_t size);

/// vector[i] = 0 for these i.
template <std::floating_point T>
void clear_at(std::span<const std::int32_t> places, Vector<T>& vector);

/// The same on the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point T>
void cuda_gather(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to);
template <std::floating_point T>
void cuda_scatter(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to);
Vector<std::int32_t> cuda_places_between(const Vector<std::int32_t>& from, const Vector<std::int32_t>& to,
                                         std::int64_t size);
template <std::floating_point T>
void cuda_clear_at(std::span<const std::int32_t> places, Vector<T>& vector);

/// On the GPU, with other numbers at one end; without places, i stands for places[i]. They throw std::runtime_error in
/// a build without CUDA.
///
/// to[i] = from[places[i]], rounded.
template <std::floating_point T>
void cuda_gather_rounded(const Vector<double>& from, const Vector<std::int32_t>& places, Vector<T>& to);
/// to[places[i]] += from[i].
template <std::floating_point T>
void cuda_scatter_added(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<double>& to);

}  // namespace femcg::operators

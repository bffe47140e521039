#pragma once

#include <concepts>
#include <cstdint>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// to[i] = from[places[i]]. All three have one size and live on one device; `places` is a permutation.
template <std::floating_point T>
void gather(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to);

/// to[places[i]] = from[i].
template <std::floating_point T>
void scatter(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to);

/// The same on the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point T>
void cuda_gather(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to);
template <std::floating_point T>
void cuda_scatter(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to);

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

// Groups of equal numbers on a GPU, by a stable sort.

#include "operators/aggregation/grouped.hpp"

#include <cub/device/device_radix_sort.cuh>

#include "operators/backend/launch.cuh"

namespace femcg::operators {

namespace {

constexpr int block_threads = 128;

__global__ void __launch_bounds__(block_threads) number_kernel(std::int64_t count, std::int64_t* numbers) {
  const std::int64_t i = cuda::thread_number();
  if (i < count) numbers[i] = i;
}

/// Position of the first of the sorted numbers that is >= i, by bisection. One thread an i.
__global__ void __launch_bounds__(block_threads)
    first_not_below_kernel(std::int64_t count, const std::int32_t* sorted, std::int64_t sorted_count,
                           std::int64_t* places) {
  const std::int64_t i = cuda::thread_number();
  if (i >= count) return;
  std::int64_t low = 0, high = sorted_count;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (sorted[middle] < i)
      low = middle + 1;
    else
      high = middle;
  }
  places[i] = low;
}

template <class... Parameters, class... Arguments>
void for_each(std::int64_t count, void (*kernel)(std::int64_t, Parameters...), const Arguments&... arguments) {
  cuda::launch(kernel, cuda::blocks_of(count, block_threads), block_threads, 0, count, arguments...);
}

}  // namespace

Groups cuda_grouped(const Vector<std::int32_t>& numbers, std::int32_t groups) {
  const std::int64_t count = numbers.size();
  Vector<std::int32_t> sorted(count, Device::cuda);
  Vector<std::int64_t> order(count, Device::cuda);
  Groups result{Vector<std::int64_t>(groups + std::int64_t{1}, Device::cuda),
                Vector<std::int64_t>(count, Device::cuda)};
  for_each(count, number_kernel, order.data());
  std::size_t bytes = 0;
  const auto sort = [&](void* room) {
    cuda::check(cub::DeviceRadixSort::SortPairs(room, bytes, numbers.data(), sorted.data(), order.data(),
                                                result.places.data(), count, 0, 32, cuda::stream()),
                "sorting numbers");
  };
  sort(nullptr);
  Vector<char> room(static_cast<std::int64_t>(bytes), Device::cuda);
  sort(room.data());
  for_each(result.offsets.size(), first_not_below_kernel, sorted.data(), count, result.offsets.data());
  synchronize(Device::cuda);  // before room, sorted, order are freed
  return result;
}

}  // namespace femcg::operators

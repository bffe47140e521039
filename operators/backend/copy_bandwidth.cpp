#include "operators/backend/copy_bandwidth.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

double measure_copy_bandwidth(Device device) {
  if (device == Device::cuda) return cuda_copy_bandwidth(std::int64_t{1} << 30);
  constexpr std::int64_t bytes = std::int64_t{128} << 20;
  constexpr int repetitions = 12;
  Vector<char> from(bytes), to(bytes);
  const auto each_share = [&](auto work) {
#pragma omp parallel
    {
      const std::int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
      const std::int64_t begin = bytes * thread / threads, end = bytes * (thread + 1) / threads;
      work(begin, static_cast<std::size_t>(end - begin));
    }
  };
  each_share([&](std::int64_t begin, std::size_t count) {
    std::memset(from.data() + begin, 1, count);
    std::memset(to.data() + begin, 2, count);
  });
  double best = 0;
  for (int r = 0; r < repetitions; ++r) {
    const auto start = std::chrono::steady_clock::now();
    each_share(
        [&](std::int64_t begin, std::size_t count) { std::memcpy(to.data() + begin, from.data() + begin, count); });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2 * static_cast<double>(bytes) / seconds.count());
  }
  return best;
}

}  // namespace femcg::operators

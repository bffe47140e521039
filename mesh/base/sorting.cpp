#include "mesh/base/sorting.hpp"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

namespace femcg::mesh {

// Sample sort: partitions the keys by splitters taken from a sample (Frazer & McKellar 1970).
Array<NumberedKey> sorted_in_parallel(Array<NumberedKey> keys) {
  if (std::ranges::is_sorted(keys)) return keys;
  constexpr std::size_t parts_of_thread = 8, sample_of_part = 32;
  const std::size_t threads = static_cast<std::size_t>(omp_get_max_threads()), parts = threads * parts_of_thread;
  std::vector<std::uint64_t> sample;
  for (std::size_t k = 0; k < parts * sample_of_part && !keys.empty(); ++k)
    sample.push_back(keys[keys.size() * k / (parts * sample_of_part)].key);
  std::ranges::sort(sample);
  // Branchless binary search: counts the splitters <= key. The padding at the end is greater than every key.
  std::vector<std::uint64_t> splitters(std::bit_ceil(parts), std::numeric_limits<std::uint64_t>::max());
  for (std::size_t part = 1; part < parts && !sample.empty(); ++part)
    splitters[part - 1] = sample[part * sample_of_part];
  const auto part_of = [&](const NumberedKey& key) {
    std::size_t part = 0;
    for (std::size_t step = splitters.size() / 2; step > 0; step /= 2)
      part += splitters[part + step - 1] <= key.key ? step : 0;
    return part;
  };
  const auto share = [&](std::size_t thread) { return keys.size() * thread / threads; };
  // Number of keys [thread][part], then the position of the next key of each thread in each part: parts in order, and
  // threads in order within a part.
  std::vector<std::size_t> next(threads * parts);
  Array<std::uint32_t> part_of_key = unset<std::uint32_t>(keys.size());
#pragma omp parallel for schedule(static)
  for (std::size_t thread = 0; thread < threads; ++thread)
    for (std::size_t k = share(thread); k < share(thread + 1); ++k) {
      part_of_key[k] = static_cast<std::uint32_t>(part_of(keys[k]));
      ++next[thread * parts + part_of_key[k]];
    }
  std::vector<std::size_t> first_of_part{0};
  for (std::size_t part = 0; part < parts; ++part) {
    std::size_t end = first_of_part.back();
    for (std::size_t thread = 0; thread < threads; ++thread) end += std::exchange(next[thread * parts + part], end);
    first_of_part.push_back(end);
  }
  Array<NumberedKey> sorted = unset<NumberedKey>(keys.size());
#pragma omp parallel for schedule(static)
  for (std::size_t thread = 0; thread < threads; ++thread)
    for (std::size_t k = share(thread); k < share(thread + 1); ++k)
      sorted[next[thread * parts + part_of_key[k]]++] = keys[k];
#pragma omp parallel for schedule(dynamic)
  for (std::size_t part = 0; part < parts; ++part)
    std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(first_of_part[part]),
              sorted.begin() + static_cast<std::ptrdiff_t>(first_of_part[part + 1]));
  return sorted;
}

}  // namespace femcg::mesh

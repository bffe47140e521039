#include "operators/stored/common/row_chunks.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace femcg::operators {

ChunkBudget chunk_budget(const Residence& residence, std::int64_t reserved) {
  const std::int64_t bytes = bytes_for(residence);
  return {.bytes = std::max<std::int64_t>(0, bytes - reserved),
          .least_streamed = residence.where == Residence::Where::streamed ? chunk_buffers : 0,
          .is_asked_for = bytes == residence.limit};
}

std::int64_t chunk_target(const ChunkBudget& budget, std::int64_t matrix_bytes) {
  constexpr std::int64_t least = 64 << 10, most = 256 << 20;
  return std::clamp(std::min(budget.bytes / (16 * chunk_buffers), matrix_bytes / 8), least, most);
}

ChunkPlan place_chunks(std::vector<RowRange>& chunks, const ChunkBudget& budget) {
  ChunkPlan plan;
  std::int64_t total = 0;
  for (const RowRange& chunk : chunks) {
    plan.largest = std::max(plan.largest, chunk.bytes);
    total += chunk.bytes;
  }
  const auto count = static_cast<std::int64_t>(chunks.size());
  if (total == 0 || (total <= budget.bytes && budget.least_streamed == 0)) {
    for (RowRange& chunk : chunks) chunk.on_gpu = true;
    plan.gpu_bytes = total;
    return plan;
  }
  const std::int64_t of_buffers = chunk_buffers * plan.largest;
  if (of_buffers > budget.bytes) {
    const std::string sentence = fmt::format(
        "rows streamed from the host need {:.3g} MB of the GPU, for {} chunks of them, and beside the vectors {:.3g} "
        "MB "
        "are left{}",
        1e-6 * static_cast<double>(of_buffers), chunk_buffers, 1e-6 * static_cast<double>(budget.bytes),
        budget.is_asked_for ? " of option 'gpu_memory'" : "");
    if (budget.is_asked_for) throw std::invalid_argument(sentence);
    throw OutOfMemory(sentence);
  }
  const std::int64_t most = std::max<std::int64_t>(0, count - budget.least_streamed);
  std::int64_t stay = 0;
  for (; stay < most; ++stay) {
    const std::int64_t bytes = chunks[static_cast<std::size_t>(stay)].bytes;
    if (plan.gpu_bytes + bytes + of_buffers > budget.bytes) break;
    plan.gpu_bytes += bytes;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    RowRange& chunk = chunks[static_cast<std::size_t>(i)];
    chunk.on_gpu = i < stay;
    if (chunk.on_gpu) continue;
    plan.host_bytes += chunk.bytes;
    plan.buffer_bytes = std::max({plan.buffer_bytes, chunk.bytes, array_alignment});
  }
  return plan;
}

}  // namespace femcg::operators

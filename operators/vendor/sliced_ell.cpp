#include "operators/vendor/sliced_ell.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace femcg::operators {

namespace {

/// Equally long rows keep their order.
std::shared_ptr<const Vector<std::int32_t>> rows_by_length(const Vector<std::int64_t>& row_offsets,
                                                           std::int64_t sigma) {
  const std::int64_t rows = row_offsets.size() - 1;
  auto row_at = std::make_shared<Vector<std::int32_t>>(rows);
  const auto length = [&](std::int32_t row) { return row_offsets[row + 1] - row_offsets[row]; };
#pragma omp parallel for schedule(static)
  for (std::int64_t window = 0; window < rows; window += sigma) {
    const auto sorted = row_at->span().subspan(window, std::min(sigma, rows - window));
    std::iota(sorted.begin(), sorted.end(), static_cast<std::int32_t>(window));
    std::ranges::stable_sort(sorted, std::greater{}, length);
  }
  return row_at;
}

Vector<std::int64_t> slice_offsets(const Vector<std::int64_t>& row_offsets, const Vector<std::int32_t>* row_at,
                                   std::int64_t height) {
  const std::int64_t rows = row_offsets.size() - 1, slices = (rows + height - 1) / height;
  Vector<std::int64_t> offsets(slices + 1);
  offsets[0] = 0;
#pragma omp parallel for schedule(static)
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    std::int64_t longest = 0;
    for (std::int64_t position = slice * height; position < std::min(rows, (slice + 1) * height); ++position) {
      const std::int64_t row = row_at != nullptr ? (*row_at)[position] : position;
      longest = std::max(longest, row_offsets[row + 1] - row_offsets[row]);
    }
    offsets[slice + 1] = longest * height;
  }
  std::partial_sum(offsets.data(), offsets.data() + offsets.size(), offsets.data());
  return offsets;
}

}  // namespace

std::vector<SliceLayout> slice_layouts(const Vector<std::int64_t>& row_offsets, std::span<const std::int64_t> heights,
                                       std::span<const std::int64_t> sigmas) {
  std::vector<SliceLayout> layouts;
  for (const std::int64_t sigma : sigmas) {
    const auto row_at = sigma > 1 ? rows_by_length(row_offsets, sigma) : nullptr;
    for (const std::int64_t height : heights)
      layouts.push_back({height, sigma, slice_offsets(row_offsets, row_at.get(), height), row_at});
  }
  const std::int64_t least = std::ranges::min_element(layouts, {}, &SliceLayout::entries)->entries();
  std::erase_if(layouts, [&](const SliceLayout& layout) { return layout.entries() > least + least / 2; });
  return layouts;
}

}  // namespace femcg::operators

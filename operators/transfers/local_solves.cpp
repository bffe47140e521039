#include "operators/transfers/local_solves.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/backend/threads/thread_team.hpp"

namespace femcg::operators {

namespace {

template <std::floating_point T>
class HostLocalSolves final : public LocalSolves<T> {
 public:
  explicit HostLocalSolves(BlockInverses inverses)
      : of_(std::move(inverses)), places_(of_), solutions_(std::ssize(of_.unknowns)) {}

  std::int64_t stored_bytes() const override {
    return std::ssize(of_.values) * std::int64_t{sizeof(float)} + solutions_.bytes() +
           (2 * std::ssize(of_.unknowns) + std::ssize(of_.begin) + 2 * std::ssize(places_.unknowns)) *
               std::int64_t{sizeof(std::int32_t)};
  }
  std::int64_t count() const override { return of_.count(); }

 private:
  void add_rows(T factor, const Vector<T>& r, const Vector<T>* q, int stride, Vector<T>& d,
                Vector<T>& x) const override {
    if (solutions_.size() != std::ssize(of_.unknowns) * stride)
      solutions_ = Vector<T>(std::ssize(of_.unknowns) * stride);
    for_blocks([&](std::int32_t block, std::vector<T>& residual) {
      const std::int32_t begin = of_.begin[block], size = of_.begin[block + 1] - begin;
      const std::int32_t* unknowns = of_.unknowns.data() + begin;
      residual.resize(static_cast<std::size_t>(size));
      for (int c = 0; c < stride; ++c) {
        for (std::int32_t j = 0; j < size; ++j) {
          const std::int64_t at = std::int64_t{unknowns[j]} * stride + c;
          residual[j] = q != nullptr ? r[at] - (*q)[at] : r[at];
        }
        const float* row = of_.values.data() + of_.values_begin[block];
        for (std::int32_t i = 0; i < size; ++i, row += size) {
          T sum = 0;
          for (std::int32_t j = 0; j < size; ++j) sum += row[j] * residual[j];
          solutions_[std::int64_t{begin + i} * stride + c] = sum;
        }
      }
    });
    for_each_row(std::ssize(places_.unknowns), [&](std::int64_t i) {
      for (int c = 0; c < stride; ++c) {
        T sum = 0;
        for (std::int32_t k = places_.begin[i]; k < places_.begin[i + 1]; ++k)
          sum += solutions_[std::int64_t{places_.places[k]} * stride + c];
        const std::int64_t at = std::int64_t{places_.unknowns[i]} * stride + c;
        d[at] += factor * sum;
        x[at] += factor * sum;
      }
    });
  }
  /// Calls work(block, scratch) for every block, in parallel, with equal numbers of blocks a thread.
  template <class Work>
  void for_blocks(const Work& work) const {
    for_shares([&](int share, int shares) {
      std::vector<T> scratch;
      const auto first = static_cast<std::int32_t>(std::int64_t{of_.count()} * share / shares),
                 last = static_cast<std::int32_t>(std::int64_t{of_.count()} * (share + 1) / shares);
      for (std::int32_t block = first; block < last; ++block) work(block, scratch);
    });
  }

  BlockInverses of_;
  PlacesInBlocks places_;
  mutable Vector<T> solutions_;  ///< A_b^-1 R_b (r - q), block after block
};

}  // namespace

PlacesInBlocks::PlacesInBlocks(const BlockInverses& blocks) : places(blocks.unknowns.size()) {
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, {}, [&](std::int32_t place) { return blocks.unknowns[place]; });
  for (std::size_t k = 0; k < places.size(); ++k) {
    const std::int32_t unknown = blocks.unknowns[places[k]];
    if (!unknowns.empty() && unknowns.back() == unknown) continue;
    unknowns.push_back(unknown);
    begin.push_back(static_cast<std::int32_t>(k));
  }
  begin.push_back(static_cast<std::int32_t>(places.size()));
}

template <std::floating_point T>
std::unique_ptr<LocalSolves<T>> make_local_solves(BlockInverses inverses, Device device) {
  if (device == Device::cuda) return make_cuda_local_solves<T>(inverses);
  return std::make_unique<HostLocalSolves<T>>(std::move(inverses));
}

template std::unique_ptr<LocalSolves<double>> make_local_solves(BlockInverses, Device);
template std::unique_ptr<LocalSolves<float>> make_local_solves(BlockInverses, Device);

}  // namespace femcg::operators

#include "operators/distributed/distributed_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/distributed/distributed_vectors.hpp"
#include "operators/distributed/gpu/gpu_interface.hpp"
#include "operators/distributed/interface_sum.hpp"

namespace femcg::operators {

namespace {

/// The lists of all processes by rank, on the first; on the others an empty one each.
template <class Number>
std::vector<std::vector<Number>> lists_on_first(const Communicator& communicator, std::span<const Number> mine) {
  std::vector<std::vector<Number>> all(static_cast<std::size_t>(communicator.size()));
  if (!communicator.is_first()) {
    communicator.send_text({reinterpret_cast<const char*>(mine.data()), mine.size_bytes()}, 0);
    return all;
  }
  all[0].assign(mine.begin(), mine.end());
  for (int rank = 1; rank < communicator.size(); ++rank) {
    const std::string text = communicator.text_from(rank);
    all[rank].resize(text.size() / sizeof(Number));
    if (!text.empty()) std::memcpy(all[rank].data(), text.data(), text.size());
  }
  return all;
}

template <std::floating_point T>
class DistributedTransfer final : public Transfer<T> {
 public:
  DistributedTransfer(const Communicator& communicator, const IndexMap& fine, const IndexMap& coarse,
                      std::unique_ptr<Transfer<T>> owned, Device device)
      : fine_(fine),
        coarse_(coarse),
        owned_(std::move(owned)),
        fine_sum_(communicator, fine, 1, device),
        coarse_sum_(communicator, coarse, 1, device) {}

  /// Then the owners' values and the zeros of ghosts are added up.
  void add_prolonged(const Vector<T>& coarse, Vector<T>& fine) const override {
    owned_->add_prolonged(coarse, fine);
    Vector<T> ghosts = part_of(fine, fine_.owned, fine_.ghosts());
    clear(ghosts);
    fine_sum_.add_up(fine.data() + fine_.first_shared);
  }
  void restrict_residual(const Vector<T>& r, const Vector<T>& q, Vector<T>& coarse) const override {
    owned_->restrict_residual(r, q, coarse);
    coarse_sum_.add_up(coarse.data() + coarse_.first_shared);
  }
  std::int64_t stored_bytes() const override { return owned_->stored_bytes(); }

 private:
  const IndexMap &fine_, &coarse_;
  std::unique_ptr<Transfer<T>> owned_;
  mutable InterfaceSum<T> fine_sum_, coarse_sum_;
};

/// The first process exchanges with each other one as many numbers as that has unknowns, in one direction those of the
/// residual, in the other those of the correction.
template <std::floating_point T>
class GatheringTransfer final : public Transfer<T> {
 public:
  GatheringTransfer(const Communicator& communicator, const IndexMap& fine, const Vector<std::int32_t>& ordering,
                    std::unique_ptr<Transfer<T>> on_first, Device device)
      : on_first_(std::move(on_first)), mine_(fine.size()), others_(fine.size()) {
    if (device == Device::cuda) on_gpu_ = Vector<T>(fine.size(), device);
    const Vector<std::int32_t> order = copied(ordering, Device::host);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(fine.size()));
    for (std::int32_t i = 0; i < fine.size(); ++i) numbers[i] = fine.numbers[order.size() > 0 ? order[i] : i];
    const auto all = lists_on_first(communicator, std::span<const std::int64_t>(numbers));
    const auto owned = lists_on_first(communicator, std::span<const std::int32_t>(&fine.owned, 1));
    std::vector<Message> messages;
    if (communicator.is_first()) {
      std::int64_t unknowns = 0;
      for (int rank = 0; rank < communicator.size(); ++rank) {
        const std::int64_t begin = std::ssize(numbers_), count = std::ssize(all[rank]);
        owners_.push_back({begin, owned[rank].front()});
        unknowns += owned[rank].front();
        numbers_.insert(numbers_.end(), all[rank].begin(), all[rank].end());
        if (rank > 0 && count > 0) messages.push_back({rank, begin, count});
      }
      for (Vector<T>* vector : {&mine_, &others_}) *vector = Vector<T>(std::ssize(numbers_));
      for (Vector<T>* vector : {&residual_, &zero_}) *vector = Vector<T>(unknowns, device);
      clear(zero_);
      if (device == Device::cuda) on_host_ = Vector<T>(unknowns);
    } else if (fine.size() > 0) {
      messages.push_back({0, 0, fine.size()});
    }
    for (Vector<T>* vector : {&mine_, &others_}) clear(*vector);
    messages_ = std::make_unique<NeighbourMessages>(communicator, messages, mine_.data(), others_.data());
  }

  void restrict_residual(const Vector<T>& r, const Vector<T>& q, Vector<T>& coarse) const override {
    Vector<T> here = part_of(mine_, 0, r.size());
    if (r.device() == Device::host) {
      subtract(r, q, here);
    } else {
      const Vector<T> r_here = copied(r, Device::host), q_here = copied(q, Device::host);
      subtract(r_here, q_here, here);
    }
    exchange();
    if (on_first_ == nullptr) return;
    Vector<T>& residual = on_host_.size() > 0 ? on_host_ : residual_;
    for (std::size_t rank = 0; rank < owners_.size(); ++rank) {
      const auto& [begin, count] = owners_[rank];
      const Vector<T>& from = rank == 0 ? mine_ : others_;
      // Numbers of what a process owns differ, so that threads write apart.
      for_each_row(count, [&](std::int64_t i) { residual[numbers_[begin + i]] = from[begin + i]; });
    }
    if (on_host_.size() > 0) copy(on_host_, residual_);
    on_first_->restrict_residual(residual_, zero_, coarse);
  }

  void add_prolonged(const Vector<T>& coarse, Vector<T>& fine) const override {
    if (on_first_ != nullptr) {
      clear(residual_);
      on_first_->add_prolonged(coarse, residual_);
      if (on_host_.size() > 0) copy(residual_, on_host_);
      const Vector<T>& correction = on_host_.size() > 0 ? on_host_ : residual_;
      for_each_row(std::ssize(numbers_), [&](std::int64_t i) { mine_[i] = correction[numbers_[i]]; });
    }
    exchange();
    const Vector<T> here = part_of(std::as_const(on_first_ != nullptr ? mine_ : others_), 0, fine.size());
    if (fine.device() == Device::cuda) {
      copy(here, on_gpu_);
      cuda_add_contributions<T>(on_gpu_.data(), fine.size(), fine.size(), 1, nullptr, fine.data(), fine.data());
    } else {
      for_each_row(fine.size(), [&](std::int64_t i) { fine[i] += here[i]; });
    }
  }

  std::int64_t stored_bytes() const override {
    std::int64_t sum = on_first_ != nullptr ? on_first_->stored_bytes() : 0;
    for (const Vector<T>* vector : {&mine_, &others_, &residual_, &zero_, &on_host_, &on_gpu_}) sum += vector->bytes();
    return sum + std::ssize(numbers_) * std::int64_t{sizeof(std::int64_t)};
  }

 private:
  struct Owned {
    std::int64_t begin, count;  ///< in numbers_
  };
  static void subtract(const Vector<T>& r, const Vector<T>& q, Vector<T>& to) {
    for_each_row(r.size(), [&](std::int64_t i) { to[i] = r[i] - q[i]; });
  }
  void exchange() const {
    messages_->start();
    messages_->finish();
  }

  std::unique_ptr<Transfer<T>> on_first_;
  mutable Vector<T> mine_, others_;  ///< sent and received; of the first process, for all processes by rank
  mutable Vector<T> residual_, zero_, on_host_, on_gpu_;
  std::vector<std::int64_t> numbers_;  ///< of what the first process receives
  std::vector<Owned> owners_;          ///< by rank: what each owns comes first
  std::unique_ptr<NeighbourMessages> messages_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_distributed_transfer(const Communicator& communicator, const IndexMap& fine,
                                                       const IndexMap& coarse, std::unique_ptr<Transfer<T>> owned,
                                                       Device device) {
  return std::make_unique<DistributedTransfer<T>>(communicator, fine, coarse, std::move(owned), device);
}

template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_gathering_transfer(const Communicator& communicator, const IndexMap& fine,
                                                     const Vector<std::int32_t>& ordering,
                                                     std::unique_ptr<Transfer<T>> on_first, Device device) {
  return std::make_unique<GatheringTransfer<T>>(communicator, fine, ordering, std::move(on_first), device);
}

RectangularMatrix gathered_on_first(const Communicator& communicator, const IndexMap& map,
                                    const CompleteRows<double>& rows) {
  const std::int64_t unknowns = rows.firsts.back();
  if (unknowns > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("the level of degree 1 has more than 2^31 - 1 unknowns; take fewer cells");
  std::vector<std::int32_t> counts, columns;
  std::vector<double> values;
  std::vector<std::pair<std::int64_t, double>> row;
  for (const std::int32_t i : rows.unknowns) {
    row.clear();
    for (std::int64_t k = rows.matrix.row_offsets[i]; k < rows.matrix.row_offsets[i + 1]; ++k) {
      const std::int32_t column = rows.matrix.columns[k];
      row.emplace_back(column < map.owned ? map.numbers[column] : rows.ghosts[column - map.owned],
                       rows.matrix.values[k]);
    }
    std::ranges::sort(row);
    counts.push_back(static_cast<std::int32_t>(row.size()));
    for (const auto& [column, value] : row) {
      columns.push_back(static_cast<std::int32_t>(column));
      values.push_back(value);
    }
  }
  const auto all_counts = lists_on_first(communicator, std::span<const std::int32_t>(counts));
  const auto all_columns = lists_on_first(communicator, std::span<const std::int32_t>(columns));
  const auto all_values = lists_on_first(communicator, std::span<const double>(values));
  RectangularMatrix matrix;
  if (!communicator.is_first()) return matrix;
  matrix.rows = matrix.columns = static_cast<std::int32_t>(unknowns);
  matrix.row_offsets = Vector<std::int64_t>(unknowns + 1);
  std::int64_t at = 0, end = matrix.row_offsets[0] = 0;
  for (const auto& list : all_counts)
    for (const std::int32_t count : list) matrix.row_offsets[++at] = end += count;
  matrix.column = Vector<std::int32_t>(end);
  matrix.value = Vector<double>(end);
  std::int64_t begin = 0;
  for (std::size_t rank = 0; rank < all_columns.size(); ++rank) {
    std::ranges::copy(all_columns[rank], matrix.column.data() + begin);
    std::ranges::copy(all_values[rank], matrix.value.data() + begin);
    begin += std::ssize(all_columns[rank]);
  }
  return matrix;
}

template std::unique_ptr<Transfer<double>> make_distributed_transfer(const Communicator&, const IndexMap&,
                                                                     const IndexMap&, std::unique_ptr<Transfer<double>>,
                                                                     Device);
template std::unique_ptr<Transfer<float>> make_distributed_transfer(const Communicator&, const IndexMap&,
                                                                    const IndexMap&, std::unique_ptr<Transfer<float>>,
                                                                    Device);
template std::unique_ptr<Transfer<double>> make_gathering_transfer(const Communicator&, const IndexMap&,
                                                                   const Vector<std::int32_t>&,
                                                                   std::unique_ptr<Transfer<double>>, Device);
template std::unique_ptr<Transfer<float>> make_gathering_transfer(const Communicator&, const IndexMap&,
                                                                  const Vector<std::int32_t>&,
                                                                  std::unique_ptr<Transfer<float>>, Device);

}  // namespace femcg::operators

#include "operators/distributed/distributed_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
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

/// The lists of all processes by rank, on the first process; empty lists on the others.
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
      : communicator_(communicator), fine_(fine), coarse_(coarse), owned_(std::move(owned)), device_(device) {}

  /// Prolongs to owned rows, sets ghosts to zero, and adds up all copies of shared unknowns.
  void prolong_rows(const Vector<T>& coarse, int stride, Vector<T>& fine) const override {
    owned_->prolong_rows(coarse, stride, fine);
    Vector<T> ghosts = part_of(fine, std::int64_t{fine_.owned} * stride, std::int64_t{fine_.ghosts()} * stride);
    clear(ghosts);
    sums_of(stride).fine.add_up(fine.data() + std::int64_t{fine_.first_shared} * stride);
  }
  void restrict_rows(const Vector<T>& r, const Vector<T>& q, int stride, Vector<T>& coarse) const override {
    owned_->restrict_rows(r, q, stride, coarse);
    sums_of(stride).coarse.add_up(coarse.data() + std::int64_t{coarse_.first_shared} * stride);
  }
  std::int64_t stored_bytes() const override { return owned_->stored_bytes(); }

 private:
  struct Sums {
    InterfaceSum<T> fine, coarse;
  };
  Sums& sums_of(int stride) const {
    std::unique_ptr<Sums>& sums = sums_[stride];
    if (sums == nullptr)
      sums.reset(new Sums{{communicator_, fine_, stride, device_}, {communicator_, coarse_, stride, device_}});
    return *sums;
  }

  const Communicator& communicator_;
  const IndexMap &fine_, &coarse_;
  std::unique_ptr<Transfer<T>> owned_;
  Device device_;
  mutable std::map<int, std::unique_ptr<Sums>> sums_;  ///< by stride
};

/// Transfer to a level on the first process: that process exchanges one row per unknown with each other process, of the
/// residual in one direction and of the correction in the other.
template <std::floating_point T>
class GatheringTransfer final : public Transfer<T> {
 public:
  GatheringTransfer(const Communicator& communicator, const IndexMap& fine, const Vector<std::int32_t>& ordering,
                    std::unique_ptr<Transfer<T>> on_first, Device device)
      : communicator_(communicator), on_first_(std::move(on_first)), size_(fine.size()), device_(device) {
    const Vector<std::int32_t> order = copied(ordering, Device::host);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(fine.size()));
    for (std::int32_t i = 0; i < fine.size(); ++i) numbers[i] = fine.numbers[order.size() > 0 ? order[i] : i];
    const auto all = lists_on_first(communicator, std::span<const std::int64_t>(numbers));
    const auto owned = lists_on_first(communicator, std::span<const std::int32_t>(&fine.owned, 1));
    if (!communicator.is_first()) return;
    for (int rank = 0; rank < communicator.size(); ++rank) {
      owners_.push_back({std::ssize(numbers_), owned[rank].front()});
      unknowns_ += owned[rank].front();
      numbers_.insert(numbers_.end(), all[rank].begin(), all[rank].end());
    }
  }

  void restrict_rows(const Vector<T>& r, const Vector<T>& q, int stride, Vector<T>& coarse) const override {
    Buffers& buffers = buffers_of(stride);
    Vector<T> here = part_of(buffers.mine, 0, r.size());
    if (r.device() == Device::host) {
      subtract(r, q, here);
    } else {
      const Vector<T> r_here = copied(r, Device::host), q_here = copied(q, Device::host);
      subtract(r_here, q_here, here);
    }
    buffers.exchange();
    if (on_first_ == nullptr) return;
    Vector<T>& residual = buffers.whole_on_host();
    for (std::size_t rank = 0; rank < owners_.size(); ++rank) {
      const auto& [begin, count] = owners_[rank];
      const Vector<T>& from = rank == 0 ? buffers.mine : buffers.others;
      // Global indices of owned unknowns are distinct: threads write to distinct rows.
      for_each_row(count, [&](std::int64_t i) {
        std::copy_n(from.data() + (begin + i) * stride, stride, residual.data() + numbers_[begin + i] * stride);
      });
    }
    if (device_ == Device::cuda) copy(buffers.on_host, buffers.whole);
    on_first_->restrict_rows(buffers.whole, buffers.zero, stride, coarse);
  }

  void prolong_rows(const Vector<T>& coarse, int stride, Vector<T>& fine) const override {
    Buffers& buffers = buffers_of(stride);
    if (on_first_ != nullptr) {
      clear(buffers.whole);
      on_first_->prolong_rows(coarse, stride, buffers.whole);
      if (device_ == Device::cuda) copy(buffers.whole, buffers.on_host);
      const Vector<T>& correction = buffers.whole_on_host();
      for_each_row(std::ssize(numbers_), [&](std::int64_t i) {
        std::copy_n(correction.data() + numbers_[i] * stride, stride, buffers.mine.data() + i * stride);
      });
    }
    buffers.exchange();
    const Vector<T> here = part_of(std::as_const(on_first_ != nullptr ? buffers.mine : buffers.others), 0, fine.size());
    if (device_ == Device::cuda) {
      copy(here, buffers.on_gpu);
      cuda_add_contributions<T>(buffers.on_gpu.data(), fine.size(), fine.size(), 1, nullptr, fine.data(), fine.data());
    } else {
      for_each_row(fine.size(), [&](std::int64_t i) { fine[i] += here[i]; });
    }
  }

  std::int64_t stored_bytes() const override {
    std::int64_t sum = on_first_ != nullptr ? on_first_->stored_bytes() : 0;
    for (const auto& [stride, of] : buffers_)
      for (const Vector<T>* vector : {&of->mine, &of->others, &of->whole, &of->zero, &of->on_host, &of->on_gpu})
        sum += vector->bytes();
    return sum + std::ssize(numbers_) * std::int64_t{sizeof(std::int64_t)};
  }

 private:
  struct Owned {
    std::int64_t begin, count;  ///< range of numbers_
  };
  /// Buffers and messages for rows of one stride.
  struct Buffers {
    Vector<T> mine, others;                  ///< sent and received; on the first process for all processes by rank
    Vector<T> whole, zero, on_host, on_gpu;  ///< all unknowns, zeros, `whole` on the host, this process's unknowns
    std::unique_ptr<NeighbourMessages> messages;

    Vector<T>& whole_on_host() { return on_host.size() > 0 ? on_host : whole; }
    void exchange() {
      messages->start();
      messages->finish();
    }
  };

  Buffers& buffers_of(int stride) const {
    std::unique_ptr<Buffers>& buffers = buffers_[stride];
    if (buffers != nullptr) return *buffers;
    buffers = std::make_unique<Buffers>();
    std::vector<Message> messages;
    std::int64_t rows = size_;
    if (communicator_.is_first()) {
      rows = std::ssize(numbers_);
      for (std::size_t rank = 1; rank < owners_.size(); ++rank) {
        const std::int64_t begin = owners_[rank].begin,
                           end = rank + 1 < owners_.size() ? owners_[rank + 1].begin : rows;
        if (end > begin) messages.push_back({static_cast<int>(rank), begin * stride, (end - begin) * stride});
      }
      for (Vector<T>* vector : {&buffers->whole, &buffers->zero}) *vector = Vector<T>(unknowns_ * stride, device_);
      clear(buffers->zero);
      if (device_ == Device::cuda) buffers->on_host = Vector<T>(unknowns_ * stride);
    } else if (size_ > 0) {
      messages.push_back({0, 0, size_ * stride});
    }
    if (device_ == Device::cuda) buffers->on_gpu = Vector<T>(size_ * stride, device_);
    for (Vector<T>* vector : {&buffers->mine, &buffers->others}) {
      *vector = Vector<T>(rows * stride);
      clear(*vector);
    }
    buffers->messages =
        std::make_unique<NeighbourMessages>(communicator_, messages, buffers->mine.data(), buffers->others.data());
    return *buffers;
  }
  static void subtract(const Vector<T>& r, const Vector<T>& q, Vector<T>& to) {
    for_each_row(r.size(), [&](std::int64_t i) { to[i] = r[i] - q[i]; });
  }

  const Communicator& communicator_;
  std::unique_ptr<Transfer<T>> on_first_;
  std::int64_t size_, unknowns_ = 0;  ///< of this process; of all processes, on the first one
  Device device_;
  std::vector<std::int64_t> numbers_;                        ///< global indices of its received values
  std::vector<Owned> owners_;                                ///< by rank: range of the owned ones
  mutable std::map<int, std::unique_ptr<Buffers>> buffers_;  ///< by stride
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

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "operators/backend/cuda_graph.hpp"
#include "operators/backend/vector.hpp"
#include "solver/krylov/cg.hpp"

namespace femcg::solver {

/// Iterations of a batch of the classic recurrence in launched kernels.
/// One where M is neither I nor diagonal: an iteration then takes longer than reading its scalars, and there are few.
template <class Options>
std::int64_t batch_of(const Options& options, operators::Device device) {
  if (options.check_every > 0) return options.check_every;
  const bool is_applied = options.preconditioner != nullptr && !options.preconditioner->is_fused();
  return device == operators::Device::host || is_applied ? 1 : 16;
}

/// BatchQueue: whether a GPU has a batch before the host has seen the one before.
template <std::floating_point T>
bool sends_ahead(const Preconditioner<T>* m) {
  return m == nullptr || !m->takes_few_iterations();
}

/// Numbers of one iteration as the host reads them: p'Ap of its direction, and r'z and r'r of the residual after it.
struct IterationNumbers {
  double energy, rz, rr;
};

/// The scalars (operators::CgScalars, operators::CgMultiScalars) of a batch of iterations on the device, and of those
/// before it that the recurrence looks back at.
template <class Scalars>
class BatchScalars {
 public:
  /// `make(numbers, place)` makes the Scalars at a place of `numbers`; each has `columns` of every kind. An iteration
  /// looks back at itself and at `back` before it.
  template <class Make>
  BatchScalars(std::int64_t iterations, int back, int columns, operators::Device device, const Make& make)
      : back_(back), columns_(columns), iterations_(iterations), numbers_(each() * (iterations + 1 + back), device) {
    clear();
    for (std::int64_t i = 0; i < iterations + 1 + back; ++i) of_.push_back(make(numbers_, each() * i));
  }

  /// Scalars of iteration i of the batch, -back <= i <= iterations; the last are what the batch ends with.
  Scalars& of(std::int64_t i) { return of_[static_cast<std::size_t>(i + back_)]; }
  Scalars& last() { return of_.back(); }
  /// All of them, iteration by iteration.
  operators::Vector<double>& numbers() { return numbers_; }
  std::int64_t bytes_of_iteration() const { return each() * std::int64_t{sizeof(double)}; }
  void clear() { operators::clear(numbers_); }
  /// Begins a batch where the last one ended: in one copy, unless a batch is so short that what is copied overlaps.
  void go_on() {
    const std::int64_t together = iterations_ > back_ ? back_ + 1 : 1;
    for (std::int64_t i = -back_; i <= 0; i += together)
      operators::copy_bytes(of(iterations_ + i).rz.data(), numbers_.device(), of(i).rz.data(), numbers_.device(),
                            together * bytes_of_iteration());
  }
  /// Reads the sums of iteration i of the batch, in one column, from a copy of all.
  IterationNumbers read(std::span<const double> copy, std::int64_t i, int column = 0) const {
    enum { rz, rr, energy };
    const auto at = [&](std::int64_t iteration, int kind) {
      return copy[static_cast<std::size_t>(each() * (iteration + back_) + kind * columns_ + column)];
    };
    return {at(i, energy), at(i + 1, rz), at(i + 1, rr)};
  }

 private:
  std::int64_t each() const { return Scalars::count * std::int64_t{columns_}; }

  int back_, columns_;
  std::int64_t iterations_;
  operators::Vector<double> numbers_;
  std::vector<Scalars> of_;
};

/// Batches of iterations on their way through a device. A GPU may have the next batch before the host looks at the one
/// before, each as one CUDA graph where they are recorded; their scalars are read back asynchronously.
class BatchQueue {
 public:
  struct Batch {
    std::int64_t iterations;
    std::span<const double> numbers;  ///< a copy of the scalars, until two more batches are sent
  };

  /// `iterate(n)` gives the device n iterations, whose numbers are then in `scalars`; a batch has `batch` of them.
  /// Without `ahead` a batch waits until the one before was received.
  BatchQueue(const operators::Vector<double>& scalars, std::int64_t batch, std::function<void(std::int64_t)> iterate,
             bool ahead)
      : scalars_(scalars),
        device_(scalars.device()),
        batch_(batch),
        most_(device_ == operators::Device::host || !ahead ? 1 : 2),
        iterate_(std::move(iterate)) {
    for (int i = 0; i < 2; ++i) readbacks_.emplace_back(scalars.size(), device_);
  }
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// On a GPU, some iterations: kernels are loaded at their first launch, which must be neither recorded nor timed.
  void warm_up() {
    if (device_ != operators::Device::host) iterate_(std::min<std::int64_t>(3, batch_));  // a pair and one more
  }
  /// Batches are given to a GPU as a CUDA graph from now on. After warm_up().
  void record() {
    if (device_ != operators::Device::host) graph_.emplace(device_, [this] { iterate_(batch_); });
  }

  bool is_empty() const { return in_flight_.empty(); }
  bool is_full() const { return in_flight_.size() == most_; }
  /// Iterations in flight.
  std::int64_t iterations() const { return std::accumulate(in_flight_.begin(), in_flight_.end(), std::int64_t{0}); }
  /// Iterations of the batch that was sent last.
  std::int64_t last_iterations() const { return last_; }
  /// Sends a batch of so many iterations, less than `batch` at the very end only.
  void send(std::int64_t iterations) {
    if (graph_ && iterations == batch_)
      graph_->run();
    else
      iterate_(iterations);
    readbacks_[sent_++ % 2].post(scalars_);
    in_flight_.push_back(iterations);
    last_ = iterations;
  }
  /// Waits for the oldest batch in flight.
  Batch receive() {
    const std::int64_t iterations = in_flight_.front();
    const auto numbers = readbacks_[(sent_ - std::ssize(in_flight_)) % 2].receive();
    in_flight_.pop_front();
    return {iterations, numbers};
  }
  /// Waits for the batch that was sent last, which stays in flight.
  Batch newest() const { return {last_, readbacks_[(sent_ - 1) % 2].receive()}; }
  /// Forgets what is in flight.
  void drop() { in_flight_.clear(); }

 private:
  const operators::Vector<double>& scalars_;
  operators::Device device_;
  std::int64_t batch_, last_ = batch_, sent_ = 0;
  std::size_t most_;  ///< batches in flight
  std::function<void(std::int64_t)> iterate_;
  std::vector<operators::AsyncReadback> readbacks_;
  std::optional<operators::CudaGraph> graph_;
  std::deque<std::int64_t> in_flight_;  ///< iterations of each batch
};

}  // namespace femcg::solver

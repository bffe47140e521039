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

/// Iterations per batch of the classic recurrence in launched kernels. 1 if M is neither I nor diagonal: an iteration
/// then takes longer than reading its scalars, and iterations are few.
template <class Options>
std::int64_t batch_of(const Options& options, operators::Device device) {
  if (options.check_every > 0) return options.check_every;
  const bool is_applied = options.preconditioner != nullptr && !options.preconditioner->is_fused();
  return device == operators::Device::host || is_applied ? 1 : 16;
}

/// True if a GPU receives a batch before the host has examined the previous one (BatchQueue).
template <std::floating_point T>
bool sends_ahead(const Preconditioner<T>* m) {
  return m == nullptr || !m->takes_few_iterations();
}

/// Scalars of one iteration as the host reads them: p'Ap of its direction, and r'z and r'r of the residual after it.
struct IterationNumbers {
  double energy, rz, rr;
};

/// Scalars (operators::CgScalars, operators::CgMultiScalars) of a batch of iterations on the device, and of the
/// preceding iterations that the recurrence refers to.
template <class Scalars>
class BatchScalars {
 public:
  /// `make(numbers, place)` makes the Scalars at offset `place` of `numbers`; each has `columns` values of every kind.
  /// An iteration refers to itself and to `back` iterations before it.
  template <class Make>
  BatchScalars(std::int64_t iterations, int back, int columns, operators::Device device, const Make& make)
      : back_(back), columns_(columns), iterations_(iterations), numbers_(each() * (iterations + 1 + back), device) {
    clear();
    for (std::int64_t i = 0; i < iterations + 1 + back; ++i) of_.push_back(make(numbers_, each() * i));
  }

  /// Scalars of iteration i of the batch, -back <= i <= iterations; those of `iterations` are the final ones.
  Scalars& of(std::int64_t i) { return of_[static_cast<std::size_t>(i + back_)]; }
  Scalars& last() { return of_.back(); }
  /// All scalars, iteration by iteration.
  operators::Vector<double>& numbers() { return numbers_; }
  std::int64_t bytes_of_iteration() const { return each() * std::int64_t{sizeof(double)}; }
  void clear() { operators::clear(numbers_); }
  /// Starts the next batch from the end of the previous one: in one copy, unless source and destination overlap in a
  /// short batch.
  void go_on() {
    const std::int64_t together = iterations_ > back_ ? back_ + 1 : 1;
    for (std::int64_t i = -back_; i <= 0; i += together)
      operators::copy_bytes(of(iterations_ + i).rz.data(), numbers_.device(), of(i).rz.data(), numbers_.device(),
                            together * bytes_of_iteration());
  }
  /// Reads the sums of iteration i of the batch, for one column, from a copy of all scalars.
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

/// Batches of iterations in flight on a device. A GPU may receive the next batch before the host examines the previous
/// one, each as one CUDA graph after record(); their scalars are read back asynchronously.
class BatchQueue {
 public:
  struct Batch {
    std::int64_t iterations;
    std::span<const double> numbers;  ///< copy of the scalars, valid until two more batches are sent
  };

  /// `iterate(n)` enqueues n iterations, which write their scalars to `scalars`; a batch has `batch` iterations.
  /// Without `ahead`, a batch waits until the previous one was received.
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

  /// Runs some iterations on a GPU: kernels are loaded at their first launch, which must be neither captured nor timed.
  void warm_up() {
    if (device_ != operators::Device::host) iterate_(std::min<std::int64_t>(3, batch_));  // a pair and one more
  }
  /// From now on each batch runs as one CUDA graph on a GPU. To be called after warm_up().
  void record() {
    if (device_ != operators::Device::host) graph_.emplace(device_, [this] { iterate_(batch_); });
  }

  bool is_empty() const { return in_flight_.empty(); }
  bool is_full() const { return in_flight_.size() == most_; }
  /// Iterations in flight.
  std::int64_t iterations() const { return std::accumulate(in_flight_.begin(), in_flight_.end(), std::int64_t{0}); }
  /// Number of iterations of the batch that was sent last.
  std::int64_t last_iterations() const { return last_; }
  /// Sends a batch of `iterations`, fewer than `batch` only at the very end.
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
  /// Discards the batches in flight.
  void drop() { in_flight_.clear(); }

 private:
  const operators::Vector<double>& scalars_;
  operators::Device device_;
  std::int64_t batch_, last_ = batch_, sent_ = 0;
  std::size_t most_;  ///< number of batches in flight
  std::function<void(std::int64_t)> iterate_;
  std::vector<operators::AsyncReadback> readbacks_;
  std::optional<operators::CudaGraph> graph_;
  std::deque<std::int64_t> in_flight_;  ///< iterations of each batch
};

}  // namespace femcg::solver

#include "solver/prediction/message_rates.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "operators/backend/cuda_graph.hpp"
#include "operators/backend/passes/counted_kernels.hpp"
#include "operators/distributed/gpu/gpu_exchange.hpp"
#include "operators/distributed/gpu/gpu_sums.hpp"
#include "operators/distributed/maps/index_map.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::Vector;

namespace {

/// Least seconds of work that all processes start at the same time.
double least_seconds(const Communicator& communicator, const std::function<void()>& work) {
  constexpr int repetitions = 5;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    communicator.sum(0.0);
    const auto begin = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

class HostMessages {
 public:
  explicit HostMessages(const Communicator& communicator) : communicator_(communicator) {}

  /// Seconds in which the first two processes exchange `count` values, as neighbours do.
  double exchange(std::int64_t count) const {
    std::vector<operators::Message> messages;
    if (communicator_.rank() < 2) messages.push_back({1 - communicator_.rank(), 0, count});
    const std::vector<double> sent(static_cast<std::size_t>(count), 1.0);
    std::vector<double> received(sent.size());
    operators::NeighbourMessages exchange(communicator_, messages, sent.data(), received.data());
    return seconds_of_one([&] {
      exchange.start();
      exchange.finish();
    });
  }
  double sum() const {
    return seconds_of_one([this] { communicator_.sum(1.0); });
  }

 private:
  double seconds_of_one(const std::function<void()>& work) const {
    constexpr int in_a_row = 20;
    return least_seconds(communicator_,
                         [&] {
                           for (int i = 0; i < in_a_row; ++i) work();
                         }) /
           in_a_row;
  }

  const Communicator& communicator_;
};

class GpuMessages {
 public:
  explicit GpuMessages(const Communicator& communicator)
      : communicator_(communicator), sums_(operators::make_gpu_sums(communicator)) {
    if (!sums_)
      throw MachineError("--processes on GPUs is for those of one machine that write into each other's memory");
  }

  double exchange(std::int64_t count) const {
    const operators::IndexMap map = shared_by_two(count);
    const auto exchange = operators::make_gpu_exchange<double>(communicator_, map, 1, *sums_);
    Vector<double> contributions(map.size(), Device::cuda), y(map.size(), Device::cuda);
    clear(contributions);
    const operators::InterfaceRows<double> rows{contributions.data(), map.size(), 0, 0, nullptr, y.data(), y.data()};
    return seconds_of_one([&] {
      exchange->send(contributions.data());
      exchange->receive(rows, {});
    });
  }
  /// Seconds of a global sum in addition to the kernel that computes it.
  double sum() const {
    const auto alone = operators::make_cuda_vector_kernels<double>(1),
               of_all = operators::make_cuda_vector_kernels<double>(1, &sums_->memories());
    Vector<double> one(1, Device::cuda), result(1, Device::cuda);
    clear(one);
    operators::Scalar scalar(result.data(), Device::cuda);
    const double with = seconds_of_one([&] { of_all->dot(one, one, scalar); });
    return std::max(0.0, with - seconds_of_one([&] { alone->dot(one, one, scalar); }));
  }

 private:
  /// Map with `count` unknowns shared by the first two processes, and none on the others.
  operators::IndexMap shared_by_two(std::int64_t count) const {
    operators::IndexMap map;
    const int rank = communicator_.rank();
    if (rank > 1) return map;
    map.unknowns.resize(count);
    std::iota(map.unknowns.begin(), map.unknowns.end(), 0);
    map.owned = rank == 0 ? map.size() : 0;
    map.owners.assign(map.ghosts(), 0);
    map.numbers.assign(map.unknowns.begin(), map.unknowns.end());
    map.neighbours.push_back({1 - rank, map.unknowns});
    return map;
  }
  double seconds_of_one(const std::function<void()>& work) const {
    constexpr int in_a_row = 100;
    const operators::CudaGraph captured(Device::cuda, [&] {
      for (int i = 0; i < in_a_row; ++i) work();
    });
    return least_seconds(communicator_,
                         [&] {
                           captured.run();
                           operators::synchronize(Device::cuda);
                         }) /
           in_a_row;
  }

  const Communicator& communicator_;
  std::unique_ptr<operators::GpuSums> sums_;
};

template <class Messages>
MessageRates measure(const Messages& messages, std::int64_t many, const Communicator& communicator) {
  MessageRates rates;
  rates.latency = messages.exchange(1);
  rates.bytes_per_second =
      static_cast<double>(many * sizeof(double)) / std::max(messages.exchange(many) - rates.latency, 1e-9);
  rates.sum = messages.sum() / std::log2(communicator.size());
  std::array<double, 3> of_first{rates.latency, rates.bytes_per_second, rates.sum};
  communicator.broadcast(std::span<double>(of_first), 0);
  return {.latency = of_first[0], .bytes_per_second = of_first[1], .sum = of_first[2]};
}

}  // namespace

MessageRates measure_messages(Device device, const Communicator& communicator) {
  MessageRates rates = device == Device::host ? measure(HostMessages(communicator), std::int64_t{1} << 18, communicator)
                                              : measure(GpuMessages(communicator), std::int64_t{1} << 21, communicator);
  rates.device = device;
  return rates;
}

}  // namespace femcg::solver

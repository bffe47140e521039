#pragma once

#include <concepts>
#include <cstdint>
#include <memory>

#include "operators/backend/vector.hpp"
#include "operators/distributed/gpu/gpu_interface.hpp"
#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/maps/interface_plan.hpp"
#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

/// y_i = sum of what each process contributes to the unknowns that it shares: each sends what it has to all others that
/// have the unknown, and adds up in the order of ranks, so that all copies have the same bits. One exchange.
///
/// The vectors here are the interface's: entry 0 is unknown IndexMap::first_shared. Several vectors may lie
/// interleaved. On a GPU the host waits in start() and finish() alone; GpuExchange does the same without it.
template <std::floating_point T>
class InterfaceSum {
 public:
  /// Sums of vectors on a device. The communicator must outlive it.
  InterfaceSum(const Communicator& communicator, const IndexMap& map, int stride = 1, Device device = Device::host);

  int stride() const { return stride_; }
  /// Takes this process's contributions.
  void pack(const T* contributions);
  /// Sends them; returns at once, but for a GPU, which has to have them.
  void start();
  /// Waits for those of the others.
  void finish();
  /// The sums, from the contributions that were packed.
  void add(T* sums) const;

  /// All of these at once: contributions in place become the sums.
  void add_up(T* contributions) {
    pack(contributions);
    start();
    finish();
    add(contributions);
  }

  std::int64_t messages() const { return message_count_; }
  std::int64_t sent_bytes() const { return std::ssize(plan_.places) * stride_ * std::int64_t{sizeof(T)}; }

 private:
  int stride_;
  std::int64_t message_count_;
  InterfacePlan plan_;
  std::unique_ptr<GpuInterface<T>> gpu_;
  Vector<T> sent_, received_;  ///< on the host; behind what others have, received has the own contributions
  std::unique_ptr<NeighbourMessages> messages_;
};

extern template class InterfaceSum<double>;
extern template class InterfaceSum<float>;

}  // namespace femcg::operators

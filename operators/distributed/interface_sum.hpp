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

/// y_i = sum of all processes' contributions to a shared unknown i: each process sends its contributions to all others
/// that have the unknown, and adds up in the order of ranks, so that all copies have the same bits. One exchange.
///
/// Vectors are the interface's: entry 0 is unknown IndexMap::first_shared. Several vectors may be interleaved. With a
/// GPU the host waits in start() and finish() only; GpuExchange works without the host.
template <std::floating_point T>
class InterfaceSum {
 public:
  /// For vectors on `device`. The communicator must outlive the object.
  InterfaceSum(const Communicator& communicator, const IndexMap& map, int stride = 1, Device device = Device::host);

  int stride() const { return stride_; }
  /// Packs this process's contributions.
  void pack(const T* contributions);
  /// Starts sending; does not wait, except for a GPU to end packing.
  void start();
  /// Waits for the contributions of the others.
  void finish();
  /// Computes the sums, own contributions included.
  void add(T* sums) const;

  /// All of these steps; contributions are replaced by the sums.
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
  Vector<T> sent_, received_;  ///< on the host; received: of others, then own contributions
  std::unique_ptr<NeighbourMessages> messages_;
};

extern template class InterfaceSum<double>;
extern template class InterfaceSum<float>;

}  // namespace femcg::operators

#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <vector>

#include "operators/backend/vector.hpp"
#include "operators/distributed/communicator.hpp"
#include "operators/distributed/index_map.hpp"

namespace femcg::operators {

/// y_i = sum of what each process contributes to the unknowns that it shares: each sends what it has to all others that
/// have the unknown, and adds up in the order of ranks, so that all copies have the same bits. One exchange.
///
/// The vectors here are the interface's: entry 0 is unknown IndexMap::first_shared. Several vectors may lie
/// interleaved.
template <std::floating_point T>
class InterfaceSum {
 public:
  /// The communicator must outlive it.
  InterfaceSum(const Communicator& communicator, const IndexMap& map, int stride = 1);

  int stride() const { return stride_; }
  /// Takes this process's contributions.
  void pack(const T* contributions);
  /// Sends them; returns at once.
  void start() { messages_.start(); }
  /// Waits for those of the others.
  void finish() { messages_.finish(); }
  /// The sums, from the contributions that were packed.
  void add(T* sums) const;

  std::int64_t messages() const { return message_count_; }
  std::int64_t sent_bytes() const { return sent_.bytes(); }

 private:
  int stride_;
  std::int64_t shared_, message_count_;
  std::vector<std::int32_t> places_;  ///< of the shared unknown of each number that is sent
  /// The sum of shared unknown i is that of received_[terms_[offsets_[i]]] to received_[terms_[offsets_[i + 1] - 1]],
  /// where the own contributions stand behind those of others.
  std::vector<std::int64_t> offsets_;
  std::vector<std::int32_t> terms_;
  Vector<T> sent_, received_;
  NeighbourMessages messages_;
};

extern template class InterfaceSum<double>;
extern template class InterfaceSum<float>;

}  // namespace femcg::operators

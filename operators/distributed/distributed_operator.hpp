#pragma once

// Products over several processes after Kreutzer et al. 2012, section III-A, from which the modes have their names.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "operators/backend/side_stream.hpp"
#include "operators/capabilities.hpp"
#include "operators/distributed/distributed_multi_vectors.hpp"
#include "operators/distributed/distributed_vectors.hpp"
#include "operators/distributed/gpu/gpu_exchange.hpp"
#include "operators/distributed/gpu/gpu_interface.hpp"
#include "operators/distributed/interface_sum.hpp"
#include "operators/distributed/maps/complete_rows.hpp"
#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/messages/exchange_mode.hpp"
#include "operators/distributed/messages/progress_thread.hpp"
#include "operators/operator.hpp"
#include "operators/persistent/persistent_cg.hpp"

namespace femcg::operators {

/// Exchange statistics of one process. A GPU's times are by its own clock.
struct ExchangeRecord {
  std::int64_t products = 0, messages = 0, sent_bytes = 0;
  double multiplying = 0, waiting = 0;  ///< seconds: of products with its own cells; of waiting for the others
};

/// y = A x, where A is the sum of the processes' contributions. Each process has two operators of the catalogue, of any
/// kind, made from its own cells or rows as from a small problem: one of the interface cells, whose part of y is
/// exchanged, and one of the interior cells. The natural order of x and y is that of IndexMap; `ordering` is that of
/// the interior part. All modes compute the same sums in the same order: their results have the same bits.
template <std::floating_point T>
class DistributedOperator final
    : public Operator<T>,
      public WithVectorKernels<T>,
      public WithMultiVectorKernels<T>,
      public WithBlockCgKernels<T>,
      public WithPersistentCg<T>,
      public WithLaunch,
      public std::conditional_t<std::is_same_v<T, double>, WithSinglePrecision, std::monostate> {
 public:
  /// Takes the operators of the subdomain's two parts, which are on this device; null for a part without unknowns.
  /// Communicator and subdomain must outlive it. `stop`: see DistributedVectors. `tries_task`: automatic may select
  /// task mode. Collective, as is the destructor (GpuExchange). Throws std::invalid_argument if `mode` is task and MPI
  /// does not support calls from other threads, or the device is a GPU.
  DistributedOperator(const Communicator& communicator, const Subdomain& subdomain, Device device,
                      std::unique_ptr<Operator<T>> interior, std::unique_ptr<Operator<T>> interface, ExchangeMode mode,
                      std::function<bool()> stop = {}, bool tries_task = true);
  ~DistributedOperator() override;

  /// Keeps the data of the persistent kernel over all processes, if their GPUs can run it and it is wanted for a system
  /// of this size. `interior`, `interface`: the matrices, with their rounding, from which the parts' operators were
  /// made; null for a part without unknowns. Collective.
  void keep_rows(const CsrMatrix<T>* interior, const CsrMatrix<T>* interface, PersistentFor systems);

  const DistributedVectors<T>& vector_kernels() const override { return vectors_; }
  const DistributedMultiVectors<T>& multi_vector_kernels() const override { return columns_; }
  std::unique_ptr<BlockCgKernels<T>> make_block_cg_kernels() const override {
    return std::make_unique<DistributedBlocks<T>>(vectors_, subdomain_.map, this->device());
  }
  /// Launch options for the operators of both parts, which must offer WithLaunch.
  void launch_as(const Options& given) override;
  /// The operator in single precision, of an operator in double precision. Null if a process has none. Collective.
  std::unique_ptr<Operator<float>> in_single_precision(std::string_view name) const;
  /// The operator of the larger part of this process; null where there is none.
  const Operator<T>* largest_part() const;
  /// Collective.
  std::unique_ptr<PersistentCg<T>> persistent_cg(PersistentFor systems) const override;
  void diagonal(Vector<T>& d) const override;
  const Vector<std::int32_t>& ordering() const override { return ordering_; }
  /// Footprint of this process's operators.
  Footprint footprint() const override;
  std::map<std::string, std::string> chosen() const override;
  /// The mode in use.
  ExchangeMode mode() const { return mode_; }
  /// True while products are timing trials of the modes.
  bool seeks_mode() const { return trial_ != nullptr; }
  ExchangeRecord record() const;
  /// True if products and sums involve the GPUs only, so that iterations can be captured in CUDA graphs.
  bool gpus_run_alone() const { return vectors_.gpus_sum(); }

 private:
  struct Part;
  class Trial;

  void take_ordering_of_interior();
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override;
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override;
  void multiply_interleaved(const T* x, T* y, int count, int stride, double* energies) const;
  InterfaceRows<T> interface_rows(T* y, int stride) const;
  void add_contributions(const InterfaceRows<T>& rows, int stride) const;
  template <class Work>
  void exchange(InterfaceSum<T>& sum, ExchangeMode mode, const Work& meanwhile) const;
  template <class Work>
  void exchange_of_gpu(InterfaceSum<T>& sum, ExchangeMode mode, const Work& meanwhile) const;
  void sum_energies(const double* of_parts, int stride, double* energies) const;
  void take_times() const;
  void mark(int moment) const;
  InterfaceSum<T>& interface_sum(int stride) const;
  GpuExchange<T>& exchange_of(int stride) const;

  const Communicator& communicator_;
  const Subdomain& subdomain_;
  std::unique_ptr<Part> interior_, interface_;
  std::optional<CompleteRows<T>> rows_;  ///< for the persistent kernel
  Vector<std::int32_t> ordering_;        ///< empty for the natural ordering
  Vector<std::int32_t> places_of_both_;  ///< in `ordering`, local indices of the unknowns of both kinds of cells
  DistributedVectors<T> vectors_;
  DistributedMultiVectors<T> columns_;
  mutable ExchangeMode mode_;
  mutable std::unique_ptr<Trial> trial_;  ///< during timing trials
  mutable std::unique_ptr<ProgressThread> progress_thread_;
  mutable std::map<int, std::unique_ptr<InterfaceSum<T>>> sums_;      ///< by stride
  mutable std::map<int, std::unique_ptr<GpuExchange<T>>> exchanges_;  ///< by stride, if the GPUs run alone
  mutable Vector<T> at_interface_;            ///< contributions of interface cells, if there are interior cells
  mutable Vector<double> energies_of_parts_;  ///< of interface and interior; 0 for a part that does not exist
  mutable int stride_of_energies_ = 1;        ///< of energies_of_parts_
  mutable HostNumbers energies_;              ///< sums of both parts, on a GPU
  mutable std::unique_ptr<SideStream> side_;  ///< for interface cells, if the GPUs run alone
  mutable std::unique_ptr<GpuStopwatch> stopwatch_;
  mutable bool has_times_ = false;  ///< of a product, not yet in the record
  mutable std::int64_t products_seen_ = 0, timed_products_ = 0;
  mutable ExchangeRecord record_;
};

extern template class DistributedOperator<double>;
extern template class DistributedOperator<float>;

}  // namespace femcg::operators

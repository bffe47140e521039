#pragma once

#include <concepts>
#include <memory>
#include <string_view>

#include "operators/options.hpp"

// Capabilities that an operator may have beyond Operator: it derives from the class of each as well. Code that can use
// one asks by dynamic_cast, and does without where there is none.
//
//   class                 what it brings                       offered by                          asked for by
//   WithVectorOperations  vector kernels of its own for CG     eigen, cusparse, distributed,       CG
//                                                              under tuning
//   WithColumnOperations  the same for multi-vectors           distributed                         batched CG
//   WithBlockOperations   the same for block CG                distributed                         block CG
//   WithPersistentCg      CG in one persistent kernel          on a GPU: csr, sell, lma,           CG (persistent_cg)
//                                                              matrix-free; distributed
//   WithMergedCg          products fused with CG's vector      on the host: matrix-free            CG
//                         kernels
//   WithLaunch            another launch configuration,        on a GPU: csr with coop, ellpack,   tuning
//                         without making the operator again    ellr-t, hyb, jad, csr-aligned;
//                                                              distributed
//   WithSinglePrecision   the same operator in single         on a GPU: matrix-free; on the       multigrid
//                         precision, of parts that are there  host: csr; distributed
//   WithDelayedSums       sums over processes that wait for    DistributedVectors, which are       CG, single reduction
//                         the next product's                   VectorOperations

namespace femcg::operators {

template <std::floating_point T>
class Operator;
template <std::floating_point T>
class VectorKernels;
template <class T>
class MultiVector;
template <class Vectors>
class CgKernels;
template <std::floating_point T>
class BlockCgKernels;
template <std::floating_point T>
class PersistentCg;
enum class PersistentFor;
template <std::floating_point T>
struct FusedStep;
struct FusedSums;

/// Interface of operators that bring their own vector kernels (operators/backend/passes/vector_kernels.hpp): those of a
/// library, or those of distributed vectors.
template <std::floating_point T>
class WithVectorKernels {
 public:
  virtual const VectorKernels<T>& vector_kernels() const = 0;

 protected:
  ~WithVectorKernels() = default;
};

/// The same for multi-vectors (operators/backend/passes/multi_vector_kernels.hpp).
template <std::floating_point T>
class WithMultiVectorKernels {
 public:
  virtual const CgKernels<MultiVector<T>>& multi_vector_kernels() const = 0;

 protected:
  ~WithMultiVectorKernels() = default;
};

/// The same for block CG (operators/backend/passes/block_cg_kernels.hpp).
template <std::floating_point T>
class WithBlockCgKernels {
 public:
  virtual std::unique_ptr<BlockCgKernels<T>> make_block_cg_kernels() const = 0;

 protected:
  ~WithBlockCgKernels() = default;
};

/// Interface of operators that offer CG in one persistent kernel (operators/persistent/persistent_cg.hpp).
template <std::floating_point T>
class WithPersistentCg {
 public:
  /// Null where the system is too large for it.
  virtual std::unique_ptr<PersistentCg<T>> persistent_cg(PersistentFor systems) const = 0;

 protected:
  ~WithPersistentCg() = default;
};

/// Interface of operators whose product on the host can make CG's vector updates, too
/// (operators/cellwise/cell_loops/fused_cg.hpp).
template <std::floating_point T>
class WithFusedCg {
 public:
  virtual FusedSums fused_product(const FusedStep<T>& of) const = 0;

 protected:
  ~WithFusedCg() = default;
};

/// Interface of operators some of whose options change only how products are launched on a GPU.
class WithLaunch {
 public:
  /// From now on products are launched as these options say; those not given are as the operator was made. Not while a
  /// CUDA graph recorded with the operator is to run. Throws std::invalid_argument as making does.
  virtual void launch_as(const Options& given) = 0;

 protected:
  ~WithLaunch() = default;
};

/// Interface of operators in double precision from which one in single precision is made in less time, with the same
/// ordering.
class WithSinglePrecision {
 public:
  /// It may outlive this operator. Null where this one, or a part of it, has another name in the catalogue. Collective
  /// where several processes have it.
  virtual std::unique_ptr<Operator<float>> in_single_precision(std::string_view name) const = 0;

 protected:
  ~WithSinglePrecision() = default;
};

/// Interface of vector operations whose sums over processes can wait, so that the single-reduction method has one
/// global sum an iteration.
class WithDelayedSums {
 public:
  /// If `delayed`, from now on `start` and `advance` leave r'M^-1 r and r'r to the next product that has an energy.
  virtual void delay_sums(bool delayed) const = 0;

 protected:
  ~WithDelayedSums() = default;
};

}  // namespace femcg::operators

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "operators/capabilities.hpp"
#include "operators/operator.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/tuning/search.hpp"
#include "solver/tuning/tunable.hpp"

namespace femcg::solver {

/// Runs `iterations` iterations of CG with an operator whose products are trials, in launched kernels, and returns its
/// state, from which CG resumes with another operator (CgOptions::before). Ignores `loop` and `captured`.
template <std::floating_point T>
CgCheckpoint<T> iterate_with_trials(const operators::Operator<T>& trials, std::int64_t iterations,
                                    const operators::Vector<T>& b, std::vector<double>& x, CgOptions<T> options);

/// Functions by which a tuning operator makes other settings, and limits their cost.
template <std::floating_point T>
struct TuningMeans {
  operators::Options given;  ///< stated in the case
  /// Makes another conversion with these options; an exception refuses the setting. Null: only launches vary.
  std::function<std::unique_ptr<operators::Operator<T>>(const operators::Options&)> make;
  /// Called once, with the seconds of a product. Null: no limits.
  std::function<SearchLimits(double product)> limits;
  /// Converts this process's seconds to a value agreed by all processes. Null: one process.
  std::function<double(double seconds)> agreed;
  /// Replaces the measured time of a product with these options, in tests; null: wall-clock time.
  std::function<double(const operators::Options&)> clock;
};

/// Operator that tries settings of its options while it multiplies: every product uses the setting requested by the
/// search, and is timed except for the first after a conversion; after the search it uses the best setting. x and y are
/// in the initial operator's ordering. On a GPU every product is waited for, and thus cannot be captured
/// (CgOptions::captured).
template <std::floating_point T>
class TuningOperator final : public operators::Operator<T>, public operators::WithVectorKernels<T> {
 public:
  /// `start` has the initial values of the options (open_options); it and `search` must outlive this object. Options
  /// that only affect launches are changed in `start` itself, which has their best values after finish().
  TuningOperator(operators::Operator<T>& start, Search& search, TuningMeans<T> means);

  void diagonal(operators::Vector<T>& d) const override { start_.diagonal(d); }
  operators::Footprint footprint() const override { return start_.footprint(); }
  const operators::Vector<std::int32_t>& ordering() const override { return start_.ordering(); }
  const operators::VectorKernels<T>& vector_kernels() const override { return vector_kernels_for(start_); }

  /// Seconds of conversions so far, excluded from CG's time (CgOptions::aside).
  const double& conversions() const { return conversions_; }
  /// Ends the search if it is not over; returns the operator with the best setting, or null if that is the initial
  /// operator. To be called once.
  std::unique_ptr<operators::Operator<T>> finish();

 private:
  using Conversion = std::vector<std::size_t>;  ///< part of a setting that requires a conversion

  void multiply(const operators::Vector<T>& x, operators::Vector<T>& y, operators::Scalar* energy) const override;
  void multiply_multi_vector(const operators::MultiVector<T>& x, operators::MultiVector<T>& y,
                             double* energies) const override;
  Conversion conversion_of(const Setting& setting) const;
  operators::Operator<T>* made_for(const Setting& setting) const;
  operators::Operator<T>* with(const Setting& setting) const;
  void converted(double seconds) const;

  operators::Operator<T>& start_;
  Search& search_;
  TuningMeans<T> means_;
  mutable std::map<Conversion, std::unique_ptr<operators::Operator<T>>> made_;  ///< all but the start
  mutable std::map<const operators::Operator<T>*, Setting> launched_;           ///< present launch setting of each
  mutable const operators::Operator<T>* cold_ = nullptr;  ///< new: its first product includes kernel loading
  mutable double conversions_ = 0;
};

}  // namespace femcg::solver

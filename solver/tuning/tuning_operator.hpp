#pragma once

#include <functional>
#include <map>
#include <memory>

#include "operators/capabilities.hpp"
#include "operators/operator.hpp"
#include "solver/krylov/recurrence.hpp"
#include "solver/tuning/search.hpp"
#include "solver/tuning/tunable.hpp"

namespace femcg::solver {

/// How a tuning operator comes to other settings, and to what they may cost.
template <std::floating_point T>
struct TuningMeans {
  operators::Options given;  ///< what the case states
  /// Another conversion with these options; may throw, which refuses the setting. Null: there are launches only.
  std::function<std::unique_ptr<operators::Operator<T>>(const operators::Options&)> make;
  /// Asked once, with the seconds of a product. Null: no limits.
  std::function<SearchLimits(double product)> limits;
  /// Seconds of this process as all take them that tune together. Null: there is one.
  std::function<double(double seconds)> agreed;
  /// The clock; null: the products' own wall-clock seconds. With the options of the product. For tests.
  std::function<double(const operators::Options&)> clock;
};

/// An operator that tries settings of its options while it multiplies: every product is made with the setting that the
/// search asks for, and timed, but for the first after a conversion; after the search with the best. x and y are in the
/// ordering of the operator that it begins with. On a GPU every product is waited for, so that its work cannot be
/// recorded (CgOptions::captured).
template <std::floating_point T>
class TuningOperator final : public operators::Operator<T>, public operators::WithVectorKernels<T> {
 public:
  /// `start` multiplies with what the options begin with (open_options), and must outlive it, as must `search`. What
  /// only changes launches changes those of `start`, which has the best of them when finish() is over.
  TuningOperator(operators::Operator<T>& start, Search& search, TuningMeans<T> means);

  void diagonal(operators::Vector<T>& d) const override { start_.diagonal(d); }
  operators::Footprint footprint() const override { return start_.footprint(); }
  const operators::Vector<std::int32_t>& ordering() const override { return start_.ordering(); }
  const operators::VectorKernels<T>& vector_kernels() const override { return vector_kernels_for(start_); }

  /// Seconds of conversions, up to now: what CG's clock is to leave out (CgOptions::aside).
  const double& conversions() const { return conversions_; }
  /// The operator with the best setting; null where that is the one of the beginning. Ends the search where it is not
  /// over. Once.
  std::unique_ptr<operators::Operator<T>> finish();

 private:
  using Conversion = std::vector<std::size_t>;  ///< the part of a setting that needs one

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
  mutable std::map<const operators::Operator<T>*, Setting> launched_;           ///< as what each is launched now
  mutable const operators::Operator<T>* cold_ = nullptr;  ///< just made: its first product brings pages and kernels
  mutable double conversions_ = 0;
};

}  // namespace femcg::solver

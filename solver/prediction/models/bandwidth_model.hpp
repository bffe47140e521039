#pragma once

#include "solver/prediction/models/model.hpp"
#include "solver/prediction/models/rates.hpp"

namespace femcg::solver {

/// The bandwidth model. A product takes
///
///   latency + bytes / bandwidth + operations / speed + rows / rate
///
/// where bytes are those of the code balance (Kreutzer et al. 2012, eq. 1): what is stored, y, and x as often as it
/// comes from memory. Bandwidth and speed are the device's own, as measured; how much of them each operator reaches is
/// a table of this model, of constants that were fitted to measurements (bandwidth_model.cpp says to which).
class BandwidthModel final : public Model {
 public:
  explicit BandwidthModel(Rates rates) : rates_(std::move(rates)) {}
  std::optional<double> seconds(const Product& product) const override;
  double start(const Product& product) const override;
  const Rates& rates() const { return rates_; }

 private:
  double host_seconds(const Product& product, const operators::Footprint& cost) const;
  double gpu_seconds(const Product& product, const operators::Footprint& cost) const;

  Rates rates_;
};

/// Key of a product's correction; the cost is that of one vector.
CorrectionKey correction_key(const Product& product);

/// How far a kept calibration says that the model is off for a product; all 1 for a matrix from a file, options, and
/// several right-hand sides.
CorrectionFactors correction_of(const Product& product, const Rates& rates);

/// Seconds until as many threads of the processor have begun and ended a loop together.
constexpr double together_on_host(int threads) { return threads > 1 ? 2e-6 : 0.02e-6; }

/// Bytes that a GPU fetches for a product with ELLPACK-R beside x and y: whole groups of 64 bytes down to the longest
/// of the rows that a group has an entry of.
double fetched_by_ellpack_r(std::span<const std::int64_t> row_offsets, int word_bytes);

}  // namespace femcg::solver

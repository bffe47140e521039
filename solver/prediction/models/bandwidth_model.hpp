#pragma once

#include "solver/prediction/models/model.hpp"
#include "solver/prediction/models/rates.hpp"

namespace femcg::solver {

/// The bandwidth model. The time of a product is
///
///   latency + bytes / bandwidth + operations / speed + rows / rate
///
/// where bytes follow from the code balance (Kreutzer et al. 2012, eq. 1): stored data, y, and x as often as it is read
/// from memory. Bandwidth and speed are measured on the device; the fraction of them that each operator reaches is a
/// table of constants fitted to measurements (source: bandwidth_model.cpp).
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

/// Correction factors of the cached calibration for a product; all 1 for a matrix from a file, for options, and for
/// several right-hand sides.
CorrectionFactors correction_of(const Product& product, const Rates& rates);

/// Seconds of a parallel region with this number of threads, from start to end.
constexpr double together_on_host(int threads) { return threads > 1 ? 2e-6 : 0.02e-6; }

/// Bytes that a GPU fetches for a product with ELLPACK-R in addition to x and y: groups of 64 bytes, up to the longest
/// row with an entry in a group.
double fetched_by_ellpack_r(std::span<const std::int64_t> row_offsets, int word_bytes);

}  // namespace femcg::solver

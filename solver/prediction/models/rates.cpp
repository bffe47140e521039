#include "solver/prediction/models/rates.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <new>

#include "mesh/base/vector_register.hpp"
#include "operators/backend/vector.hpp"
#include "solver/benchmark/cached_bandwidth.hpp"
#include "solver/benchmark/clock.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/prediction/models/cached_model.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

using operators::Device;

namespace {

constexpr std::array<std::int64_t, 5> measured_mebibytes{1, 8, 32, 96, 256};

using Pack [[gnu::vector_size(mesh::register_bytes)]] = double;
constexpr std::int64_t pack = mesh::register_bytes / sizeof(double);

/// Bytes per second at which all threads repeatedly sum their parts of an array; the best of some rounds.
double measure_reads(const operators::Vector<double>& array, std::int64_t bytes) {
  constexpr std::int64_t at_least = std::int64_t{64} << 20;  // per round
  const std::int64_t packs = bytes / static_cast<std::int64_t>(sizeof(Pack));
  const auto times = std::max<std::int64_t>(1, at_least / bytes);
  const auto* from = reinterpret_cast<const Pack*>(array.data());
  double best = 0, sum = 0;
  for (int round = 0; round < 4; ++round) {
    const double begin = seconds_now();
#pragma omp parallel reduction(+ : sum)
    {
      const std::int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
      const std::int64_t first = packs * thread / threads, last = packs * (thread + 1) / threads;
      for (std::int64_t i = 0; i < times; ++i) {
        Pack sums[8] = {};
        for (std::int64_t k = first; k + 8 <= last; k += 8)
          for (int j = 0; j < 8; ++j) sums[j] += from[k + j];
        Pack all = {};
        for (const Pack& each : sums) all += each;
        for (int j = 0; j < pack; ++j) sum += all[j];
      }
    }
    if (round > 0) best = std::max(best, static_cast<double>(bytes * times) / (seconds_now() - begin));
  }
  return std::isfinite(sum) ? best : 0;  // uses the sums, so that they are not optimised away
}

/// Operations per second of y += a x in the L1 caches.
double measure_flops() {
  constexpr std::int64_t packs = 1024 / pack, times = 20000;  // 8 KiB each
  double best = 0, sum = 0;
  for (int round = 0; round < 4; ++round) {
    const double begin = seconds_now();
#pragma omp parallel reduction(+ : sum)
    {
      Pack x[packs], y[packs];
      for (std::int64_t i = 0; i < packs; ++i) x[i] = y[i] = Pack{} + 1.0 / static_cast<double>(i + 1);
      for (std::int64_t n = 0; n < times; ++n) {
        const double a = 1e-9 * static_cast<double>(n);
        for (std::int64_t i = 0; i < packs; ++i) y[i] += a * x[i];
      }
      for (std::int64_t i = 0; i < packs; ++i) sum += y[i][0];
    }
    const double operations = 2.0 * pack * packs * times * omp_get_max_threads();
    if (round > 0) best = std::max(best, operations / (seconds_now() - begin));
  }
  return std::isfinite(sum) ? best : 0;
}

/// Name of a rate; measured rates depend on the registers that femcg is compiled for.
std::string in_registers(const std::string& what) { return fmt::format("{} in {} bytes", what, mesh::register_bytes); }
std::string reads_of(std::int64_t mebibytes) { return in_registers(fmt::format("reads of {} MiB", mebibytes)); }

/// A cached rate, or one measured now and cached.
template <class Measure>
double kept_or(const std::string& what, Device device, Rates& rates, const Measure& measure) {
  if (const auto kept = cached_rate(what, device)) return *kept;
  const ProcessorTime before = processor_time();
  const double measured = measure();
  if (was_refused(processor_time() - before, rates.threads)) return measured;
  const std::string failure = cache_rate(what, device, measured);
  if (!failure.empty() && std::ranges::find(rates.warnings, failure) == rates.warnings.end())
    rates.warnings.push_back(failure);
  return measured;
}

/// Cached or measured read rates. Throws std::bad_alloc.
std::vector<ReadRate> cached_or_measured_reads(Rates& rates) {
  std::vector<ReadRate> reads;
  operators::Vector<double> array;
  for (const std::int64_t mebibytes : measured_mebibytes) {
    const double rate = kept_or(reads_of(mebibytes), rates.device, rates, [&] {
      if (array.size() == 0) {
        array = operators::Vector<double>(measured_mebibytes.back() << 17);
#pragma omp parallel for schedule(static)
        for (std::int64_t i = 0; i < array.size(); ++i) array[i] = 1;
      }
      return measure_reads(array, mebibytes << 20);
    });
    reads.push_back({static_cast<double>(mebibytes << 20), rate});
  }
  return reads;
}

}  // namespace

double Rates::reading(double bytes) const {
  if (reads.empty()) return copy_bandwidth;
  if (bytes <= reads.front().bytes) return reads.front().bytes_per_second;
  for (std::size_t i = 1; i < reads.size(); ++i) {
    const ReadRate &less = reads[i - 1], &more = reads[i];
    if (bytes > more.bytes) continue;
    const double part = std::log(bytes / less.bytes) / std::log(more.bytes / less.bytes);
    return less.bytes_per_second + part * (more.bytes_per_second - less.bytes_per_second);
  }
  return reads.back().bytes_per_second;
}

Rates rates_of(Device device) {
  Rates rates;
  rates.device = device;
  rates.threads = this_machine().threads;
  const CopyBandwidth copies = copy_bandwidth_of(device);
  rates.copy_bandwidth = copies.bytes_per_second;
  if (!copies.warning.empty()) rates.warnings.push_back(copies.warning);
  CachedCalibration kept = cached_calibration(device);
  rates.calibration = std::move(kept.calibration);
  if (!kept.warning.empty()) rates.warnings.push_back(std::move(kept.warning));
  if (device == Device::cuda || !rates.known()) return rates;
  try {
    rates.reads = cached_or_measured_reads(rates);
  } catch (const std::bad_alloc&) {  // the copy bandwidth replaces them
    rates.warnings.emplace_back("the read bandwidth was not measured: out of memory");
  }
  rates.flops = kept_or(in_registers("multiply-adds"), device, rates, measure_flops);
  return rates;
}

}  // namespace femcg::solver

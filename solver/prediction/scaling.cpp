#include "solver/prediction/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "solver/messages/units.hpp"

namespace femcg::solver {

namespace {

/// Seconds of a part of some work, given those of the whole and its size-independent part.
double of_part(double seconds, double start, std::int64_t part, std::int64_t whole) {
  if (part == 0) return 0;
  const double begun = std::min(seconds, start);
  return begun + (seconds - begun) * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

ScalingPrediction predict_scaling(const OneProcess& one, const operators::SubdomainSize& whole,
                                  std::span<const operators::SubdomainSize> surfaces, int word_bytes,
                                  const MessageRates& messages) {
  ScalingPrediction prediction;
  prediction.processes = static_cast<int>(surfaces.size());
  const bool on_gpus = messages.device == operators::Device::cuda;
  for (const operators::SubdomainSize& surface : surfaces) {
    operators::SubdomainSize& largest = prediction.largest;
    largest.cells = std::max(largest.cells, surface.cells);
    largest.interface_cells = std::max(largest.interface_cells, surface.interface_cells);
    largest.unknowns = std::max(largest.unknowns, surface.unknowns);
    largest.sent = std::max(largest.sent, surface.sent);
    largest.neighbours = std::max(largest.neighbours, surface.neighbours);
    const auto product = [&](std::int64_t cells) {
      return of_part(one.product, one.product_start, cells, whole.cells);
    };
    const double interface = product(surface.interface_cells),
                 interior = product(surface.cells - surface.interface_cells),
                 passes = of_part(one.passes, one.passes_start, surface.unknowns, whole.unknowns);
    const double latency =
                     static_cast<double>(on_gpus ? std::min<std::int64_t>(1, surface.neighbours) : surface.neighbours) *
                     messages.latency,
                 travel = static_cast<double>(surface.sent * word_bytes) / messages.bytes_per_second;
    const double beside = on_gpus ? latency + std::max(interior, travel) : std::max(interior, latency + travel);
    prediction.exchange = std::max(prediction.exchange, latency + travel);
    prediction.vector = std::max(prediction.vector, interface + interior + latency + travel + passes);
    prediction.beside = std::max(prediction.beside, interface + beside + passes);
  }
  prediction.sums = 2 * messages.sum * std::log2(prediction.processes);
  prediction.vector += prediction.sums;
  prediction.beside += prediction.sums;
  return prediction;
}

std::string to_text(const OneProcess& one, std::span<const ScalingPrediction> predictions, operators::Device device) {
  const double alone = one.product + one.passes;
  std::string text = fmt::format("  {:>9} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>10}\n", "processes",
                                 "cells", "unknowns", "sends", "exchange", "sums", "vector",
                                 device == operators::Device::cuda ? "overlap" : "task", "speed-up", "efficiency");
  for (const ScalingPrediction& each : predictions) {
    const double speed_up = alone / each.iteration();
    text += fmt::format("  {:>9} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8.2f} {:>9.0f}%\n", each.processes,
                        each.largest.cells, each.largest.unknowns, each.largest.sent, duration(each.exchange),
                        duration(each.sums), duration(each.vector), duration(each.beside), speed_up,
                        100 * speed_up / each.processes);
  }
  const auto best = std::ranges::min_element(predictions, {}, &ScalingPrediction::iteration);
  if (best->iteration() >= alone) return text + "  one process is as fast as any of these numbers\n";
  return text + (best + 1 == predictions.end()
                     ? "  the most processes are the fastest of these numbers\n"
                     : fmt::format("  more than {} processes do not help\n", best->processes));
}

}  // namespace femcg::solver

#include "solver/prediction/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include "solver/messages/units.hpp"

namespace femcg::solver {

namespace {

/// The least seconds of work that all processes begin together.
template <class Work>
double least_seconds(const operators::Communicator& communicator, int repetitions, const Work& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    communicator.sum(0.0);
    const auto begin = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

/// Seconds in which the first two processes give each other so many numbers, as neighbours do.
double exchange_seconds(const operators::Communicator& communicator, std::int64_t count) {
  constexpr int in_a_row = 20;
  std::vector<operators::Message> messages;
  if (communicator.rank() < 2) messages.push_back({1 - communicator.rank(), 0, count});
  const std::vector<double> sent(static_cast<std::size_t>(count), 1.0);
  std::vector<double> received(sent.size());
  operators::NeighbourMessages exchange(communicator, messages, sent.data(), received.data());
  return least_seconds(communicator, 5,
                       [&] {
                         for (int i = 0; i < in_a_row; ++i) {
                           exchange.start();
                           exchange.finish();
                         }
                       }) /
         in_a_row;
}

}  // namespace

MessageRates measure_messages(const operators::Communicator& communicator) {
  constexpr std::int64_t many = std::int64_t{1} << 18;
  constexpr int sums = 20;
  MessageRates rates;
  rates.latency = exchange_seconds(communicator, 1);
  rates.bytes_per_second = many * sizeof(double) / std::max(exchange_seconds(communicator, many) - rates.latency, 1e-9);
  const double all = least_seconds(communicator, 5, [&] {
    for (int i = 0; i < sums; ++i) communicator.sum(1.0);
  });
  rates.sum = all / sums / std::log2(communicator.size());
  std::array<double, 3> of_first{rates.latency, rates.bytes_per_second, rates.sum};
  communicator.broadcast(std::span<double>(of_first), 0);
  return {of_first[0], of_first[1], of_first[2]};
}

ScalingPrediction predict_scaling(const OneProcess& one, const operators::Surface& whole,
                                  std::span<const operators::Surface> surfaces, int word_bytes,
                                  const MessageRates& messages) {
  ScalingPrediction prediction;
  prediction.processes = static_cast<int>(surfaces.size());
  const auto cells = static_cast<double>(whole.cells),
             unknowns = static_cast<double>(std::max<std::int64_t>(whole.unknowns, 1));
  for (const operators::Surface& surface : surfaces) {
    operators::Surface& largest = prediction.largest;
    largest.cells = std::max(largest.cells, surface.cells);
    largest.interface_cells = std::max(largest.interface_cells, surface.interface_cells);
    largest.unknowns = std::max(largest.unknowns, surface.unknowns);
    largest.sent = std::max(largest.sent, surface.sent);
    largest.neighbours = std::max(largest.neighbours, surface.neighbours);
    const double interface = one.product * static_cast<double>(surface.interface_cells) / cells,
                 interior = one.product * static_cast<double>(surface.cells - surface.interface_cells) / cells,
                 passes = one.passes * static_cast<double>(surface.unknowns) / unknowns;
    const double exchange = static_cast<double>(surface.neighbours) * messages.latency +
                            static_cast<double>(surface.sent * word_bytes) / messages.bytes_per_second;
    prediction.exchange = std::max(prediction.exchange, exchange);
    prediction.vector = std::max(prediction.vector, interface + interior + exchange + passes);
    prediction.task = std::max(prediction.task, interface + std::max(interior, exchange) + passes);
  }
  prediction.sums = 2 * messages.sum * std::log2(prediction.processes);
  prediction.vector += prediction.sums;
  prediction.task += prediction.sums;
  return prediction;
}

std::string to_text(const OneProcess& one, std::span<const ScalingPrediction> predictions) {
  const double alone = one.product + one.passes;
  std::string text =
      fmt::format("  {:>9} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>10}\n", "processes", "cells",
                  "unknowns", "sends", "exchange", "sums", "vector", "task", "speed-up", "efficiency");
  for (const ScalingPrediction& each : predictions) {
    const double speed_up = alone / each.iteration();
    text += fmt::format("  {:>9} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8.2f} {:>9.0f}%\n", each.processes,
                        each.largest.cells, each.largest.unknowns, each.largest.sent, duration(each.exchange),
                        duration(each.sums), duration(each.vector), duration(each.task), speed_up,
                        100 * speed_up / each.processes);
  }
  const auto best = std::ranges::min_element(predictions, {}, &ScalingPrediction::iteration);
  if (best->iteration() >= alone) return text + "  one process is as fast as any of these numbers\n";
  return text + (best + 1 == predictions.end()
                     ? "  the most processes are the fastest of these numbers\n"
                     : fmt::format("  more than {} processes do not help\n", best->processes));
}

}  // namespace femcg::solver

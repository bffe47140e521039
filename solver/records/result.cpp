#include "solver/records/result.hpp"

#include <array>
#include <cmath>
#include <string_view>

#include "operators/catalogue.hpp"

namespace femcg::solver {

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, 5> names{"timed", "disagrees", "failed", "not applicable", "interrupted"};
  return names[static_cast<int>(outcome)];
}

void relate(std::vector<BenchmarkResult>& rows) {
  const auto best = [&](std::string_view wanted, const BenchmarkResult& like) {
    const BenchmarkResult* found = nullptr;
    for (const BenchmarkResult& row : rows)
      if (row.record.op.name == wanted && row.record.device == like.record.device &&
          row.right_hand_sides == like.right_hand_sides && row.outcome == Outcome::timed &&
          (found == nullptr || row.ranked().median() < found->ranked().median()))
        found = &row;
    return found;
  };
  for (BenchmarkResult& row : rows) {
    if (row.outcome != Outcome::timed ||
        operators::find_operator(row.record.op.name)->needs != operators::Needs::matrix)
      continue;
    if (const BenchmarkResult* ellpack = best("ellpack", row))
      row.data_reduction = 1 - static_cast<double>(row.record.footprint.stored_bytes) /
                                   static_cast<double>(ellpack->record.footprint.stored_bytes);
    const BenchmarkResult* csr = best("csr", row);
    if (csr == nullptr || row.record.op.name == "csr") continue;
    const double gain = csr->ranked().median() - row.ranked().median();
    if (gain > 0) row.break_even = std::ceil(row.record.seconds.conversion / gain);
  }
  const BenchmarkResult* alone = nullptr;
  for (BenchmarkResult& row : rows) {
    if (row.right_hand_sides == 1) {
      alone = &row;
    } else if (row.outcome == Outcome::timed && alone != nullptr && alone->outcome == Outcome::timed) {
      row.product_gain = row.right_hand_sides * alone->record.apply.median() / row.record.apply.median();
      if (!row.iteration.empty()) row.iteration_gain = alone->iteration.median() / row.iteration.median();
    }
  }
}

}  // namespace femcg::solver

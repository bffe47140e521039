#include "solver/benchmark/testbed.hpp"

#include <fmt/format.h>

#include "operators/stored/io/matrix_statistics.hpp"
#include "solver/benchmark/cached_bandwidth.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/problem/scaled_load.hpp"

namespace femcg::solver {

using operators::Device;

namespace {

// Model of the cache traffic of x (Reguly & Giles 2012, section 5.5): rows that share a cache, and bytes of a cache
// line.
constexpr std::int32_t rows_per_block = 512;
constexpr std::int64_t bytes_per_line(Device device) { return device == Device::host ? 64 : 32; }

}  // namespace

template <std::floating_point T>
void Testbed<T>::assemble(std::span<const BenchmarkEntry> entries) {
  require_memory(assembly_.prepare(wanted_by(entries)), "assembling");
  assembly_.assemble();
  const operators::CsrMatrix<T>* matrix = assembly_.matrix();
  if (matrix == nullptr) return;
  statistics_ = std::make_shared<operators::MatrixStatistics>(operators::statistics(*matrix));
  for (const Device device : {Device::host, Device::cuda})
    cached_input_bytes_[device] =
        operators::cached_input_bytes(matrix->row_offsets.span(), matrix->columns.span(), matrix->rows, rows_per_block,
                                      sizeof(T), bytes_per_line(device));
}

template <std::floating_point T>
void Testbed<T>::require(const MemoryEstimate& need, const MemoryUser& user) const {
  if (system_.load) require_loop(need, user);
  require_memory(need, user.systems > 1 ? fmt::format("CG for {} right-hand sides", user.systems) : "it");
}

template <std::floating_point T>
MadeOperator<T> Testbed<T>::make(const BenchmarkEntry& entry, std::int64_t reserved_bytes) const {
  MadeOperator<T> made;
  const auto free = [&] { made.a.reset(); };
  made.conversion = least_seconds(free, [&] {
    made.a = assembly_.make(entry, reserved_bytes);
    operators::synchronize(entry.device);
  });
  if (system_.form != nullptr) made.diagonal = diagonal_in_range(*made.a);
  return made;
}

template <std::floating_point T>
std::vector<operators::Vector<T>> Testbed<T>::loads(int count, Device device) const {
  return right_hand_sides(scaled_load(*system_.load).values(), count, device, [](std::int64_t i) { return i; });
}

template <std::floating_point T>
ReferenceProduct Testbed<T>::reference() const {
  return system_.form != nullptr ? reference_product(*system_.form, pseudo_random(system_.unknowns()))
                                 : reference_product(*system_.matrix, pseudo_random(system_.unknowns()));
}

template <std::floating_point T>
CopyBandwidth Testbed<T>::copy_bandwidth(Device device) const {
  return renewed_copy_bandwidth(device);
}

template <std::floating_point T>
void Testbed<T>::note_made(const BenchmarkEntry& entry, const operators::Operator<T>& a, BenchmarkResult& row) const {
  Record& record = row.record;
  const std::int64_t vector_bytes = std::int64_t{sizeof(T)} * a.size();
  record.footprint = a.footprint().of_multi_vector(row.right_hand_sides, vector_bytes);
  record.seconds.assembly = assembly_.seconds(entry);
  if (entry.description().needs != operators::Needs::matrix) return;
  row.matrix = statistics_;
  if (row.right_hand_sides == 1)
    row.caching_bytes = record.footprint.moved_bytes - vector_bytes + cached_input_bytes_.at(entry.device);
}

template class Testbed<double>;
template class Testbed<float>;

}  // namespace femcg::solver

#include "solver/compare/distributed_testbed.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "operators/stored/assembled/single_values.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/messages/do_on_all.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

using operators::CsrMatrix;
using operators::Device;
using operators::DistributedOperator;
using operators::Vector;

template <std::floating_point T>
DistributedTestbed<T>::DistributedTestbed(const System& system, const Subdomain& subdomain, const StopRequested& stop)
    : Testbed<T>(system), subdomain_(subdomain), stop_(stop), communicator_(subdomain.division.communicator) {
  if (const operators::FormSubdomain* part = subdomain.form) {
    if (!part->interior.empty()) interior_.emplace(&part->interior.form, nullptr);
    if (!part->interface.empty()) interface_.emplace(&part->interface.form, nullptr);
    return;
  }
  using Borrowed = std::shared_ptr<const CsrMatrix<double>>;  // kept by the caller
  const operators::MatrixSubdomain& part = *subdomain.matrix;
  if (part.interior.rows > 0) interior_.emplace(nullptr, Borrowed(Borrowed(), &part.interior));
  if (part.interface.rows > 0) interface_.emplace(nullptr, Borrowed(Borrowed(), &part.interface));
}

template <std::floating_point T>
void DistributedTestbed<T>::assemble(std::span<const BenchmarkEntry> entries) {
  const WantedAssembly wanted = wanted_by(entries);
  if (!wanted.element_matrices) return;
  if (std::is_same_v<T, float> && !subdomain_.why_not_single.empty())
    throw std::overflow_error(subdomain_.why_not_single);
  MemoryEstimate need;
  do_on_all(communicator_, [&] {
    for (auto* part : {&interior_, &interface_})
      if (*part) add((*part)->prepare(wanted), need);
  });
  const auto first = std::ranges::find_if(
      entries, [](const BenchmarkEntry& entry) { return wanted_by(std::span(&entry, 1)).element_matrices; });
  require_memory_of_all(need, first->op.name, first->device, communicator_);
  do_on_all(communicator_, [&] {
    for (auto* part : {&interior_, &interface_})
      if (*part) (*part)->assemble();
  });
}

/// The smaller interface operator exists while the interior one is made. All processes receive the largest reserved
/// bytes, and `in_chunks` if any process holds its rows in chunks, so that they decide alike.
template <std::floating_point T>
MemoryEstimate DistributedTestbed<T>::need_of(MemoryUser user) const {
  MemoryEstimate all;
  do_on_all(communicator_, [&] {
    for (const auto* part : {&interface_, &interior_}) {
      if (!*part) continue;
      const MemoryEstimate need = (*part)->need_of(user);
      add(need, all);
      user.also_on_device += need.device_bytes;
      all.reserved_bytes = std::max(all.reserved_bytes, need.reserved_bytes);
      all.of_operator.in_chunks = all.of_operator.in_chunks || need.of_operator.in_chunks;
    }
  });
  const std::vector mine{all.reserved_bytes, std::int64_t{all.of_operator.in_chunks}};
  for (const auto& other : communicator_.gathered(mine)) {
    all.reserved_bytes = std::max(all.reserved_bytes, other[0]);
    all.of_operator.in_chunks = all.of_operator.in_chunks || other[1] != 0;
  }
  return all;
}

template <std::floating_point T>
void DistributedTestbed<T>::require(const MemoryEstimate& need, const MemoryUser& user) const {
  require_memory_of_all(need, std::string(user.row->name), user.device, communicator_);
}

template <std::floating_point T>
MadeOperator<T> DistributedTestbed<T>::make(const BenchmarkEntry& entry, std::int64_t reserved_bytes) const {
  MadeOperator<T> made;
  std::unique_ptr<operators::Operator<T>> interior, interface;
  do_on_all(communicator_, [&] {
    const auto free = [&] {
      interior.reset();
      interface.reset();
    };
    made.conversion = least_seconds(free, [&] {
      if (interior_) interior = interior_->make(entry, reserved_bytes);
      if (interface_) interface = interface_->make(entry, reserved_bytes);
      operators::synchronize(entry.device);
    });
  });
  auto a = placed(subdomain_.distribution.mode_place, [&] {
    return std::make_unique<DistributedOperator<T>>(communicator_, subdomain_.division.subdomain, entry.device,
                                                    std::move(interior), std::move(interface),
                                                    subdomain_.distribution.mode, stop_, subdomain_.cores_to_spare);
  });
  const bool of_matrix = entry.description().needs == operators::Needs::matrix;
  if (of_matrix && system_.loop != CgLoop::launched && !operators::has_single_values<T>(entry.op.options))
    timed(made.conversion, [&] {
      a->keep_rows(interior_ ? interior_->matrix() : nullptr, interface_ ? interface_->matrix() : nullptr,
                   persistent_for(system_.loop));
    });
  Vector<T> x(a->size(), entry.device), y(a->size(), entry.device);
  for (operators::fill(x, T(1)); a->seeks_mode();) a->apply(x, y);
  if (system_.form != nullptr) do_on_all(communicator_, [&] { made.diagonal = diagonal_in_range(*a); });
  made.captured = a->gpus_run_alone();
  made.stop = [a = a.get()] { return a->vector_kernels().asked_to_stop(); };
  made.a = std::move(a);
  return made;
}

template <std::floating_point T>
std::vector<Vector<T>> DistributedTestbed<T>::loads(int count, Device device) const {
  const std::vector<std::int64_t>& numbers = subdomain_.division.subdomain.map.numbers;
  return this->right_hand_sides(*system_.load, count, device,
                                [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; });
}

template <std::floating_point T>
ReferenceProduct DistributedTestbed<T>::reference() const {
  return subdomain_.form != nullptr ? reference_product(communicator_, *subdomain_.form)
                                    : reference_product(communicator_, *subdomain_.matrix);
}

/// Bandwidth of copies by all processes at the same time.
template <std::floating_point T>
CopyBandwidth DistributedTestbed<T>::copy_bandwidth(Device device) const {
  Record record;
  record.device = device;
  measure_copies(communicator_, record);
  return {record.machine.copy_bandwidth, record.warnings.empty() ? "" : record.warnings.front()};
}

/// Records assembly times; the footprint of all processes is recorded elsewhere.
template <std::floating_point T>
void DistributedTestbed<T>::note_made(const BenchmarkEntry& entry, const operators::Operator<T>&,
                                      BenchmarkResult& row) const {
  row.record.seconds.assembly = 0;
  for (const auto* part : {&interior_, &interface_})
    if (*part) row.record.seconds.assembly += (*part)->seconds(entry);
  if (entry.description().needs == operators::Needs::matrix) row.matrix = subdomain_.statistics;
}

template <std::floating_point T>
void DistributedTestbed<T>::note_timed(const operators::Operator<T>& a, BenchmarkResult& row) const {
  complete_record(subdomain_.division, static_cast<const DistributedOperator<T>&>(a), row.right_hand_sides, row.record);
}

std::vector<BenchmarkResult> compare_operators(const System& system, const Subdomain& subdomain,
                                               const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common) {
  const auto compare_in = [&]<class T>(T) {
    DistributedTestbed<T> testbed(system, subdomain, settings.stop);
    return compare_operators<T>(system, testbed, entries, settings, common, subdomain.division.communicator);
  };
  return settings.precision == Precision::double_ ? compare_in(double()) : compare_in(float());
}

}  // namespace femcg::solver

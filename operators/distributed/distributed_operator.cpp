// Per product a process moves the bytes of its two operators, the interface cells' part of y once more, and the shared
// unknowns three times for each process that shares them: packed, received, added.

#include "operators/distributed/distributed_operator.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "operators/backend/permutation.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/distributed/gpu/gpu_persistent_cg.hpp"
#include "operators/ordering.hpp"
#include "operators/persistent/row_layout.hpp"

namespace femcg::operators {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr std::array modes{ExchangeMode::vector, ExchangeMode::overlap, ExchangeMode::task};

}  // namespace

/// Operator of one part of the cells, on the part's unknowns in their own order.
template <std::floating_point T>
struct DistributedOperator<T>::Part {
  explicit Part(std::unique_ptr<Operator<T>> made) : a(std::move(made)) {}

  /// y = A x, and x'Ax per vector if `energies` is not null; all on the operator's device.
  void apply(const T* x, T* y, int count, int stride, double* energies) {
    const std::int64_t entries = std::int64_t{a->size()} * stride;
    const Vector<T> from(const_cast<T*>(x), entries, a->device());  // the view is const
    Vector<T> to(y, entries, a->device());
    const bool moves = x_places.size() > 0 || (a->ordering().size() > 0 && !takes_its_ordering);
    if (moves) return in_ordering(from, to, count, stride, energies);
    // Kernels load several values at a time.
    constexpr std::uintptr_t aligned = 16;
    if (a->device() == Device::host || reinterpret_cast<std::uintptr_t>(x) % aligned == 0)
      return multiply(from, to, count, stride, energies);
    make(ordered_x, entries);
    copy(from, ordered_x);
    multiply(ordered_x, to, count, stride, energies);
  }

  /// The diagonal, on the host.
  Vector<T> diagonal() const {
    Vector<T> d(a->size(), a->device());
    a->diagonal(d);
    return copied(from_ordering(*a, d), Device::host);
  }

  std::unique_ptr<Operator<T>> a;
  bool takes_its_ordering = false;  ///< x and y are in the operator's ordering
  Vector<std::int32_t> x_places;    ///< local indices of the operator's unknowns in x, if x is in another order

 private:
  void make(Vector<T>& vector, std::int64_t entries) const {
    if (vector.size() != entries) vector = Vector<T>(entries, a->device());
  }
  void multiply(const Vector<T>& x, Vector<T>& y, int count, int stride, double* energies) const {
    if (stride > 1) {
      MultiScalar sums(energies, stride, a->device());
      MultiVector<T> to(part_of(y, 0, y.size()), count);
      a->apply(MultiVector<T>(part_of(const_cast<Vector<T>&>(x), 0, x.size()), count), to,
               energies != nullptr ? &sums : nullptr);
    } else {
      Scalar energy(energies, a->device());
      a->apply(x, y, energies != nullptr ? &energy : nullptr);
    }
  }
  void in_ordering(const Vector<T>& x, Vector<T>& y, int count, int stride, double* energies) {
    const Vector<std::int32_t>&ordering = a->ordering(), &from = x_places.size() > 0 ? x_places : ordering;
    make(ordered_x, x.size());
    gather_rows(x, from, stride, ordered_x);
    if (ordering.size() == 0) return multiply(ordered_x, y, count, stride, energies);
    make(ordered_y, x.size());
    multiply(ordered_x, ordered_y, count, stride, energies);
    scatter_rows(ordered_y, ordering, stride, y);
  }

  Vector<T> ordered_x, ordered_y;  ///< for an operator with its own ordering, or an x that is not aligned
};

/// Timing trials: uses the modes in turn for the first products, then selects the mode whose fastest product took
/// least, by the times summed over the processes.
template <std::floating_point T>
class DistributedOperator<T>::Trial {
 public:
  explicit Trial(bool with_task) : candidates_(with_task ? 3 : 2) { best_.fill(1e9); }

  ExchangeMode next() const { return modes[products_ % candidates_]; }
  void took(double seconds) {
    // The first round has cold caches and allocates buffers: it does not count.
    double& best = best_[products_ % candidates_];
    if (products_++ >= candidates_) best = std::min(best, seconds);
  }
  bool is_over() const { return products_ == candidates_ * epochs; }
  ExchangeMode verdict(const Communicator& communicator) {
    communicator.sum(best_);
    return modes[std::min_element(best_.begin(), best_.begin() + candidates_) - best_.begin()];
  }

 private:
  static constexpr int epochs = 6;
  int candidates_, products_ = 0;
  std::array<double, modes.size()> best_{};
};

template <std::floating_point T>
DistributedOperator<T>::DistributedOperator(const Communicator& communicator, const Subdomain& subdomain, Device device,
                                            std::unique_ptr<Operator<T>> interior,
                                            std::unique_ptr<Operator<T>> interface, ExchangeMode mode,
                                            std::function<bool()> stop, bool tries_task)
    : Operator<T>(subdomain.map.size(), device),
      communicator_(communicator),
      subdomain_(subdomain),
      vectors_(communicator, subdomain.map, device, std::move(stop)),
      columns_(vectors_, subdomain.map, device),
      mode_(mode),
      energies_of_parts_(2 * MultiVector<T>::most, device),
      energies_(MultiVector<T>::most, device) {
  const bool with_task = communicator.takes_threads() && device == Device::host;
  if (mode == ExchangeMode::task && !with_task)
    throw std::invalid_argument(device == Device::cuda
                                    ? "task mode is for processors, a GPU needs no thread beside it: use "
                                      "distribution.mode: overlap"
                                    : "this MPI takes no calls from another thread: use distribution.mode: overlap");
  if (interior) interior_ = std::make_unique<Part>(std::move(interior));
  if (interface) interface_ = std::make_unique<Part>(std::move(interface));
  if (device == Device::cuda) stopwatch_ = std::make_unique<GpuStopwatch>();
  take_ordering_of_interior();
  clear(energies_of_parts_);
  if (gpus_run_alone() && interior_ && interface_ && interior_->a->runs_concurrently() &&
      interface_->a->runs_concurrently())
    side_ = std::make_unique<SideStream>();
  if (gpus_run_alone())
    exchange_of(1);
  else
    interface_sum(1);
  if (mode != ExchangeMode::automatic) return;
  if (gpus_run_alone())
    mode_ = ExchangeMode::overlap;  // packed values are posted immediately
  else
    trial_ = std::make_unique<Trial>(with_task && tries_task);
}

template <std::floating_point T>
DistributedOperator<T>::~DistributedOperator() = default;

template <std::floating_point T>
void DistributedOperator<T>::keep_rows(const CsrMatrix<T>* interior, const CsrMatrix<T>* interface,
                                       PersistentFor systems) {
  constexpr std::int32_t most_rows = 1 << 19;  // a GPU has no threads for more
  std::int64_t entries = 0;
  for (const CsrMatrix<T>* part : {interior, interface})
    if (part != nullptr) entries += part->nonzeros();
  const auto has_loop = [](const std::unique_ptr<Part>& part) {
    return !part || dynamic_cast<const WithPersistentCg<T>*>(part->a.get()) != nullptr;
  };
  const bool wanted = gpus_run_alone() && has_loop(interior_) && has_loop(interface_) && subdomain_.map.owned > 0 &&
                      subdomain_.map.owned <= most_rows &&
                      (systems == PersistentFor::possible || persistent_is_faster(entries, sizeof(T)));
  if (communicator_.sum(wanted ? 0.0 : 1.0) > 0) return;
  rows_ = complete_rows(communicator_, subdomain_, interior, interface);
}

template <std::floating_point T>
std::unique_ptr<PersistentCg<T>> DistributedOperator<T>::persistent_cg(PersistentFor systems) const {
  if (!rows_) return nullptr;
  const Vector<std::int32_t> ordering = copied(ordering_, Device::host);
  return make_gpu_persistent_cg<T>(communicator_, subdomain_.map, *rows_, ordering.span(), exchange_of(1), systems);
}

/// Takes the interior part's ordering for the vectors, since most cells are interior: that of its operator if it has
/// one, else that of its form's unknowns. Only the entries that interface cells need are permuted.
template <std::floating_point T>
void DistributedOperator<T>::take_ordering_of_interior() {
  const std::vector<std::int32_t>& unknowns = subdomain_.interior_unknowns;
  if (!interior_ || (interior_->a->ordering().size() == 0 && std::ranges::is_sorted(unknowns))) return;
  interior_->takes_its_ordering = true;
  const Vector<std::int32_t> of_interior = copied(interior_->a->ordering(), Device::host);
  const std::int32_t size = subdomain_.map.size(), first = subdomain_.first_interface;
  Vector<std::int32_t> ordering(size), places(size);
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < size; ++i)
    ordering[i] = i >= std::ssize(unknowns) ? i : unknowns[of_interior.size() > 0 ? of_interior[i] : i];
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < size; ++i) places[ordering[i]] = i;
  ordering_ = copied(ordering, this->device());
  const std::int32_t both = static_cast<std::int32_t>(unknowns.size()) - first;
  Vector<std::int32_t> of_both(both);
  for (std::int32_t i = 0; i < both; ++i) of_both[i] = places[first + i];
  places_of_both_ = copied(of_both, this->device());
  if (!interface_) return;
  const Vector<std::int32_t> of_interface = copied(interface_->a->ordering(), Device::host);
  Vector<std::int32_t> x_places(interface_->a->size());
  for (std::int32_t i = 0; i < x_places.size(); ++i)
    x_places[i] = places[first + (of_interface.size() > 0 ? of_interface[i] : i)];
  interface_->x_places = copied(x_places, this->device());
}

template <std::floating_point T>
GpuExchange<T>& DistributedOperator<T>::exchange_of(int stride) const {
  auto& exchange = exchanges_[stride];
  if (!exchange) exchange = make_gpu_exchange<T>(communicator_, subdomain_.map, stride, vectors_.gpu_sums());
  return *exchange;
}

template <std::floating_point T>
InterfaceSum<T>& DistributedOperator<T>::interface_sum(int stride) const {
  auto& sum = sums_[stride];
  if (!sum) sum = std::make_unique<InterfaceSum<T>>(communicator_, subdomain_.map, stride, this->device());
  return *sum;
}

/// Exchanges the packed contributions and calls meanwhile(), work that needs no contributions of other processes.
template <std::floating_point T>
template <class Work>
void DistributedOperator<T>::exchange(InterfaceSum<T>& sum, ExchangeMode mode, const Work& meanwhile) const {
  if (mode == ExchangeMode::task) {
    if (!progress_thread_) progress_thread_ = std::make_unique<ProgressThread>();
    progress_thread_->begin([&sum] {
      sum.start();
      sum.finish();
    });
  }
  if (mode == ExchangeMode::overlap) sum.start();
  const double begin = seconds_now();
  meanwhile();
  const double multiplied = seconds_now();
  if (mode == ExchangeMode::vector) sum.start();
  mode == ExchangeMode::task ? progress_thread_->wait() : sum.finish();
  record_.multiplying += multiplied - begin;
  record_.waiting += seconds_now() - multiplied;
  record_.messages += sum.messages();
  record_.sent_bytes += sum.sent_bytes();
}

/// The same for a GPU, to which all work is enqueued without waiting: meanwhile() first, then the use of what arrives.
template <std::floating_point T>
template <class Work>
void DistributedOperator<T>::exchange_of_gpu(InterfaceSum<T>& sum, ExchangeMode mode, const Work& meanwhile) const {
  meanwhile();
  mark(1);
  if (mode == ExchangeMode::vector) synchronize(Device::cuda);
  sum.start();
  sum.finish();
  mark(2);
  record_.messages += sum.messages();
  record_.sent_bytes += sum.sent_bytes();
}

/// Adds the times of a GPU's last product, which may not have ended when it returned, to the record.
template <std::floating_point T>
void DistributedOperator<T>::take_times() const {
  if (!has_times_ || cuda_is_capturing()) return;
  has_times_ = false;
  // If the GPUs run alone, the first products wait for the other processes; the products that count are in CUDA graphs.
  constexpr int cold = 4;
  if (gpus_run_alone() && products_seen_++ < cold) return;
  record_.multiplying += stopwatch_->seconds(0, 1);
  record_.waiting += stopwatch_->seconds(1, 2);
  ++timed_products_;
}

/// Records a moment of a product, unless it is being captured into a CUDA graph, where events have no times.
template <std::floating_point T>
void DistributedOperator<T>::mark(int moment) const {
  if (cuda_is_capturing()) return;
  stopwatch_->mark(moment);
  has_times_ = moment == 2;
}

template <std::floating_point T>
ExchangeRecord DistributedOperator<T>::record() const {
  take_times();
  if (!gpus_run_alone()) return record_;
  ExchangeRecord all;
  std::int64_t sent = 0;
  for (const IndexMap::Neighbour& neighbour : subdomain_.map.neighbours) sent += std::ssize(neighbour.shared);
  for (const auto& [stride, exchange] : exchanges_) {
    const std::int64_t epochs = exchange->epochs();
    all.products += epochs;
    all.messages += epochs * std::ssize(subdomain_.map.neighbours);
    all.sent_bytes += epochs * sent * stride * std::int64_t{sizeof(T)};
  }
  const double each =
      timed_products_ > 0 ? static_cast<double>(all.products) / static_cast<double>(timed_products_) : 0;
  all.multiplying = each * record_.multiplying;
  all.waiting = each * record_.waiting;
  return all;
}

template <std::floating_point T>
void DistributedOperator<T>::sum_energies(const double* of_parts, int stride, double* energies) const {
  std::span<double> sums(energies, static_cast<std::size_t>(stride));
  if (this->device() == Device::cuda) {
    cuda_add_energies(of_parts, of_parts + stride, stride, energies_.on_device().data());
    synchronize(Device::cuda);
    sums = energies_.values().first(static_cast<std::size_t>(stride));
  } else {
    for (int c = 0; c < stride; ++c) energies[c] = of_parts[c] + of_parts[stride + c];
  }
  vectors_.sum_energies(sums);
  if (this->device() == Device::cuda) give(sums, energies, Device::cuda);
}

/// Buffers and indices of the interface rows. Interior cells overwrite the rows that both kinds of cells contribute to;
/// so if there are interior cells, contributions of interface cells have a buffer of their own.
template <std::floating_point T>
InterfaceRows<T> DistributedOperator<T>::interface_rows(T* y, int stride) const {
  const std::int64_t first = subdomain_.first_interface, count = subdomain_.map.size() - first;
  if (interior_ && at_interface_.size() < count * stride) at_interface_ = Vector<T>(count * stride, this->device());
  return {.contributions = interior_ ? at_interface_.data() : y + first * stride,
          .count = count * stride,
          .both = interior_ ? (std::ssize(subdomain_.interior_unknowns) - first) * stride : 0,
          .shared = (subdomain_.map.first_shared - first) * stride,
          .places = ordering_.size() > 0 ? places_of_both_.data() : nullptr,
          .y = y,
          .of_first = y + first * stride};
}

/// Adds the interface cells' contributions to y, except for shared unknowns.
template <std::floating_point T>
void DistributedOperator<T>::add_contributions(const InterfaceRows<T>& rows, int stride) const {
  if (this->device() == Device::cuda)
    return cuda_add_contributions(rows.contributions, rows.both, rows.shared, stride, rows.places, rows.of_first,
                                  rows.y);
  for_row_blocks(rows.shared, EqualRows{}, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i)
      if (i >= rows.both)
        rows.of_first[i] = rows.contributions[i];
      else if (rows.places != nullptr)
        rows.y[std::int64_t{rows.places[i / stride]} * stride + i % stride] += rows.contributions[i];
      else
        rows.of_first[i] += rows.contributions[i];
  });
}

template <std::floating_point T>
void DistributedOperator<T>::multiply_interleaved(const T* x, T* y, int count, int stride, double* energies) const {
  const bool on_host = this->device() == Device::host;
  take_times();
  const double begin = seconds_now();
  if (!on_host) mark(0);
  const ExchangeMode mode = trial_ ? trial_->next() : mode_;
  const InterfaceRows<T> rows = interface_rows(y, stride);
  if (stride != stride_of_energies_) clear(energies_of_parts_);
  stride_of_energies_ = stride;
  double* of_interface = energies != nullptr ? energies_of_parts_.data() : nullptr;
  double* of_interior = energies != nullptr ? energies_of_parts_.data() + stride : nullptr;
  const auto multiply_interface = [&] {
    if (interface_)
      interface_->apply(ordering_.size() > 0 ? x : x + std::int64_t{subdomain_.first_interface} * stride,
                        rows.contributions, count, stride, of_interface);
  };
  const auto multiply_interior = [&] {
    if (interior_) interior_->apply(x, y, count, stride, of_interior);
  };
  ++record_.products;
  if (gpus_run_alone()) {
    GpuExchange<T>& exchange = exchange_of(stride);
    const auto send = [&] { exchange.send(rows.contributions + rows.shared); };
    if (mode == ExchangeMode::vector) {
      multiply_interface();
      multiply_interior();
      send();
    } else if (side_) {
      side_->begin([&] {
        multiply_interface();
        send();
      });
      multiply_interior();
      side_->join();
    } else {
      multiply_interface();
      send();
      multiply_interior();
    }
    mark(1);
    exchange.receive(rows,
                     energies != nullptr ? vectors_.summands(of_interface, of_interior, stride, energies) : Summands());
    mark(2);
    return;
  }
  InterfaceSum<T>& sum = interface_sum(stride);
  multiply_interface();
  if (interface_) sum.pack(rows.contributions + rows.shared);
  if (on_host) record_.multiplying += seconds_now() - begin;
  const auto meanwhile = [&] {
    multiply_interior();
    if (interior_) add_contributions(rows, stride);
  };
  on_host ? exchange(sum, mode, meanwhile) : exchange_of_gpu(sum, mode, meanwhile);
  sum.add(rows.of_first + rows.shared);
  if (energies != nullptr) sum_energies(energies_of_parts_.data(), stride, energies);
  if (!trial_) return;
  synchronize(this->device());
  trial_->took(seconds_now() - begin);
  if (!trial_->is_over()) return;
  mode_ = trial_->verdict(communicator_);
  trial_.reset();
}

template <std::floating_point T>
void DistributedOperator<T>::multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
  multiply_interleaved(x.data(), y.data(), 1, 1, energy != nullptr ? energy->data() : nullptr);
}

template <std::floating_point T>
void DistributedOperator<T>::multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const {
  multiply_interleaved(x.data(), y.data(), x.count(), x.stride(), energies);
}

template <std::floating_point T>
void DistributedOperator<T>::diagonal(Vector<T>& d) const {
  Vector<T> sums(d.size());
  fill(sums, T(0));
  const auto add = [&](const Part& part, std::span<const std::int32_t> unknowns) {
    const Vector<T> of_part = part.diagonal();
    for (std::int64_t i = 0; i < of_part.size(); ++i) sums[unknowns[i]] += of_part[i];
  };
  if (interior_) add(*interior_, subdomain_.interior_unknowns);
  if (interface_) add(*interface_, subdomain_.interface_unknowns);
  InterfaceSum<T>(communicator_, subdomain_.map).add_up(sums.data() + subdomain_.map.first_shared);
  copy(to_ordering(*this, sums), d);
}

template <std::floating_point T>
Footprint DistributedOperator<T>::footprint() const {
  Footprint all;
  double stored_entries = 0;
  for (const Part* part : {interior_.get(), interface_.get()}) {
    if (part == nullptr) continue;
    const Footprint of_part = part->a->footprint();
    all.stored_bytes += of_part.stored_bytes;
    all.moved_bytes += of_part.moved_bytes;
    all.effective_bytes += of_part.effective_bytes;
    all.flops += of_part.flops;
    all.nonzeros += of_part.nonzeros;
    stored_entries += of_part.padding_ratio * static_cast<double>(of_part.nonzeros);
  }
  if (all.nonzeros > 0) all.padding_ratio = stored_entries / static_cast<double>(all.nonzeros);
  return all;
}

template <std::floating_point T>
void DistributedOperator<T>::launch_as(const Options& given) {
  for (const Part* part : {interior_.get(), interface_.get()})
    if (part != nullptr) dynamic_cast<WithLaunch&>(*part->a).launch_as(given);
}

template <std::floating_point T>
std::unique_ptr<Operator<float>> DistributedOperator<T>::in_single_precision(std::string_view name) const {
  std::unique_ptr<Operator<float>> interior, interface;
  double missing = 0;
  for (const auto& [part, to] : {std::pair{interior_.get(), &interior}, {interface_.get(), &interface}}) {
    if (part == nullptr) continue;
    if (const auto* with = dynamic_cast<const WithSinglePrecision*>(part->a.get()))
      *to = with->in_single_precision(name);
    missing += *to == nullptr ? 1 : 0;
  }
  if (communicator_.sum(missing) > 0) return nullptr;
  return std::make_unique<DistributedOperator<float>>(communicator_, subdomain_, this->device(), std::move(interior),
                                                      std::move(interface), ExchangeMode::overlap);
}

template <std::floating_point T>
const Operator<T>* DistributedOperator<T>::largest_part() const {
  const Part* largest = interior_ ? interior_.get() : interface_.get();
  if (interface_ && interface_->a->size() > largest->a->size()) largest = interface_.get();
  return largest != nullptr ? largest->a.get() : nullptr;
}

template <std::floating_point T>
std::map<std::string, std::string> DistributedOperator<T>::chosen() const {
  const Operator<T>* part = largest_part();
  return part != nullptr ? part->chosen() : std::map<std::string, std::string>();
}

template class DistributedOperator<double>;
template class DistributedOperator<float>;

}  // namespace femcg::operators

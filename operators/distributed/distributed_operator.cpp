// Per product a process moves what its two operators move, its interface cells' part of y once more, and for each
// process that shares them the shared unknowns three times: packed, received, added.

#include "operators/distributed/distributed_operator.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include "operators/backend/parallel_rows.hpp"
#include "operators/backend/permutation.hpp"
#include "operators/ordering.hpp"

namespace femcg::operators {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr std::array modes{ExchangeMode::vector, ExchangeMode::overlap, ExchangeMode::task};

}  // namespace

/// The operator of one part of the cells, on the part's unknowns in their own order.
template <std::floating_point T>
struct DistributedOperator<T>::Part {
  explicit Part(std::unique_ptr<Operator<T>> made) : a(std::move(made)) {}

  /// y = A x, and x'Ax of each vector where energies is not null.
  void apply(const T* x, T* y, int count, int stride, double* energies) {
    const std::int64_t entries = std::int64_t{a->size()} * stride;
    const Vector<T> from(const_cast<T*>(x), entries, Device::host);  // const as a whole
    Vector<T> to(y, entries, Device::host);
    if (stride > 1)
      columns(count, stride, from, to, energies);
    else
      vector(from, to, energies);
  }

  Vector<T> diagonal() const {
    Vector<T> d(a->size());
    a->diagonal(d);
    return from_ordering(*a, d);
  }

  std::unique_ptr<Operator<T>> a;

 private:
  void vector(const Vector<T>& x, Vector<T>& y, double* energies) {
    double unused = 0;
    Scalar energy(energies != nullptr ? energies : &unused, Device::host);
    Scalar* wanted = energies != nullptr ? &energy : nullptr;
    if (a->ordering().size() == 0) return a->apply(x, y, wanted);
    if (ordered_x.size() != x.size()) {
      ordered_x = Vector<T>(x.size());
      ordered_y = Vector<T>(x.size());
    }
    gather(x, a->ordering(), ordered_x);
    a->apply(ordered_x, ordered_y, wanted);
    scatter(ordered_y, a->ordering(), y);
  }
  void columns(int count, int stride, const Vector<T>& x, Vector<T>& y, double* energies) {
    std::vector<double> unused(stride);
    ColumnScalars sums(energies != nullptr ? energies : unused.data(), stride, Device::host);
    Columns<T> from(part_of(const_cast<Vector<T>&>(x), 0, x.size()), count), to(part_of(y, 0, y.size()), count);
    if (a->ordering().size() == 0) return a->apply(from, to, energies != nullptr ? &sums : nullptr);
    const std::int64_t rows = a->size();
    Columns<T> ordered(rows, count), product(rows, count);
    for_row_blocks(rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        std::copy_n(x.data() + std::int64_t{a->ordering()[i]} * stride, stride, ordered.data() + i * stride);
    });
    a->apply(ordered, product, energies != nullptr ? &sums : nullptr);
    for_row_blocks(rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        std::copy_n(product.data() + i * stride, stride, y.data() + std::int64_t{a->ordering()[i]} * stride);
    });
  }

  Vector<T> ordered_x, ordered_y;  ///< where the operator has an ordering of its own
};

/// Takes the modes in turn over the first products, and then the one whose best product took least, where the slowest
/// process decides.
template <std::floating_point T>
class DistributedOperator<T>::Trial {
 public:
  explicit Trial(bool with_task) : candidates_(with_task ? 3 : 2) { best_.fill(1e9); }

  ExchangeMode next() const { return modes[products_ % candidates_]; }
  void took(double seconds) {
    // The first round finds caches cold and buffers not yet made.
    double& best = best_[products_ % candidates_];
    if (products_++ >= candidates_) best = std::min(best, seconds);
  }
  bool is_over() const { return products_ == candidates_ * rounds; }
  ExchangeMode verdict(const Communicator& communicator) {
    communicator.sum(best_);
    return modes[std::min_element(best_.begin(), best_.begin() + candidates_) - best_.begin()];
  }

 private:
  static constexpr int rounds = 6;
  int candidates_, products_ = 0;
  std::array<double, modes.size()> best_{};
};

template <std::floating_point T>
DistributedOperator<T>::DistributedOperator(const Communicator& communicator, const FormShare& share,
                                            std::unique_ptr<Operator<T>> interior,
                                            std::unique_ptr<Operator<T>> interface, ExchangeMode mode,
                                            std::function<bool()> stop)
    : Operator<T>(share.map.size(), Device::host),
      communicator_(communicator),
      share_(share),
      vectors_(communicator, share.map, std::move(stop)),
      mode_(mode) {
  const bool with_task = communicator.takes_threads();
  if (mode == ExchangeMode::task && !with_task)
    throw std::invalid_argument("this MPI takes no calls from another thread: use distribution.mode: overlap");
  if (interior) interior_ = std::make_unique<Part>(std::move(interior));
  if (interface) interface_ = std::make_unique<Part>(std::move(interface));
  if (mode == ExchangeMode::automatic) trial_ = std::make_unique<Trial>(with_task);
  interface_sum(1);
}

template <std::floating_point T>
DistributedOperator<T>::~DistributedOperator() = default;

template <std::floating_point T>
InterfaceSum<T>& DistributedOperator<T>::interface_sum(int stride) const {
  auto& sum = sums_[stride];
  if (!sum) sum = std::make_unique<InterfaceSum<T>>(communicator_, share_.map, stride);
  return *sum;
}

/// Has the contributions that are packed travel, and does meanwhile what needs none of the others'.
template <std::floating_point T>
template <class Work>
void DistributedOperator<T>::exchange(InterfaceSum<T>& sum, ExchangeMode mode, const Work& meanwhile) const {
  if (mode == ExchangeMode::task) {
    if (!companion_) companion_ = std::make_unique<CompanionThread>();
    companion_->begin([&sum] {
      sum.start();
      sum.finish();
    });
  }
  if (mode == ExchangeMode::overlap) sum.start();
  const double begin = seconds_now();
  meanwhile();
  const double multiplied = seconds_now();
  if (mode == ExchangeMode::vector) sum.start();
  mode == ExchangeMode::task ? companion_->wait() : sum.finish();
  record_.multiplying += multiplied - begin;
  record_.waiting += seconds_now() - multiplied;
  record_.messages += sum.messages();
  record_.sent_bytes += sum.sent_bytes();
}

template <std::floating_point T>
void DistributedOperator<T>::multiply_interleaved(const T* x, T* y, int count, int stride, double* energies) const {
  const double begin = seconds_now();
  const ExchangeMode mode = trial_ ? trial_->next() : mode_;
  const std::int64_t first = std::int64_t{share_.first_interface} * stride,
                     shared = std::int64_t{share_.map.first_shared} * stride,
                     size = std::int64_t{share_.map.size()} * stride;
  InterfaceSum<T>& sum = interface_sum(stride);
  std::array<double, 2 * Columns<T>::most> of_parts{};
  double* of_interface = energies != nullptr ? of_parts.data() : nullptr;
  double* of_interior = energies != nullptr ? of_parts.data() + stride : nullptr;
  // Interior cells write over what both kinds contribute to.
  if (interior_ && at_interface_.size() < size - first) at_interface_ = Vector<T>(size - first);
  T* contributions = interior_ ? at_interface_.data() : y + first;
  if (interface_) {
    interface_->apply(x + first, contributions, count, stride, of_interface);
    sum.pack(contributions + (shared - first));
  }
  record_.multiplying += seconds_now() - begin;
  exchange(sum, mode, [&] {
    if (!interior_) return;
    interior_->apply(x, y, count, stride, of_interior);
    const std::int64_t both = std::int64_t{share_.interior.form.unknowns} * stride;
    for_row_blocks(shared - first, EqualRows{}, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i)
        y[first + i] = first + i < both ? y[first + i] + contributions[i] : contributions[i];
    });
  });
  sum.add(y + shared);
  if (energies != nullptr) {
    for (int c = 0; c < stride; ++c) energies[c] = of_parts[c] + of_parts[stride + c];
    vectors_.sum_over_processes({energies, static_cast<std::size_t>(stride)});
  }
  ++record_.products;
  if (!trial_) return;
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
void DistributedOperator<T>::multiply_columns(const Columns<T>& x, Columns<T>& y, double* energies) const {
  multiply_interleaved(x.data(), y.data(), x.count(), x.stride(), energies);
}

template <std::floating_point T>
void DistributedOperator<T>::diagonal(Vector<T>& d) const {
  fill(d, T(0));
  const auto add = [&](const Part& part, std::int64_t first) {
    const Vector<T> of_part = part.diagonal();
    for (std::int64_t i = 0; i < of_part.size(); ++i) d[first + i] += of_part[i];
  };
  if (interior_) add(*interior_, 0);
  if (interface_) add(*interface_, share_.first_interface);
  InterfaceSum<T>& sum = interface_sum(1);
  T* shared = d.data() + share_.map.first_shared;
  sum.pack(shared);
  sum.start();
  sum.finish();
  sum.add(shared);
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
std::map<std::string, std::string> DistributedOperator<T>::chosen() const {
  return interior_    ? interior_->a->chosen()
         : interface_ ? interface_->a->chosen()
                      : std::map<std::string, std::string>();
}

template class DistributedOperator<double>;
template class DistributedOperator<float>;

}  // namespace femcg::operators

#include "operators/distributed/distributed_vectors.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "operators/backend/passes/counted_kernels.hpp"
#include "operators/distributed/gpu/gpu_interface.hpp"

namespace femcg::operators {

namespace {

/// Scalars of an iteration that are discarded: those of a kernel over ghosts.
struct Unused {
  Vector<double> numbers{CgScalars::count};
  CgScalars scalars{numbers, 0};
};

/// Vector kernels of the host whose sums run over the owned entries of a map, which come first.
template <std::floating_point T>
class OwnedSums final : public VectorKernels<T> {
 public:
  explicit OwnedSums(const IndexMap& map) : map_(map), all_(vector_kernels<T>(Device::host)) {}

  void start(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, Vector<T>& p,
             CgScalars& first) const override {
    on_both(first, [&](std::int64_t at, std::int64_t count, CgScalars& sums) {
      Vector<T> p_part = part_of(p, at, count);
      all_.start(part_of(r, at, count), DiagonalPart(inverse_diagonal, at, count).get(), p_part, sums);
    });
  }
  void update(const CgScalars& now, const Vector<T>& q, const InverseDiagonal* inverse_diagonal, Vector<T>& r,
              CgScalars& next) const override {
    on_both(next, [&](std::int64_t at, std::int64_t count, CgScalars& sums) {
      Vector<T> r_part = part_of(r, at, count);
      all_.update(now, part_of(q, at, count), DiagonalPart(inverse_diagonal, at, count).get(), r_part, sums);
    });
  }
  void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                 const InverseDiagonal* inverse_diagonal, Vector<T>& p, Vector<T>& x) const override {
    all_.direction(now, next, r, inverse_diagonal, p, x);
  }
  void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
               const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r, CgScalars& next) const override {
    on_both(next, [&](std::int64_t at, std::int64_t count, CgScalars& sums) {
      SingleReduction<T> parts{inverse_diagonal != nullptr ? part_of(vectors.u, at, count) : Vector<T>(),
                               part_of(vectors.w, at, count), part_of(vectors.p, at, count),
                               part_of(vectors.s, at, count)};
      Vector<T> x_part = part_of(x, at, count), r_part = part_of(r, at, count);
      all_.advance(before, now, parts, DiagonalPart(inverse_diagonal, at, count).get(), x_part, r_part, sums);
    });
  }
  void advance_pipelined(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors, Pipelined<T>& ahead,
                         const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r,
                         CgScalars& next) const override {
    on_both(next, [&](std::int64_t at, std::int64_t count, CgScalars& sums) {
      const auto part = [&](Vector<T>& whole) { return part_of(whole, at, count); };
      SingleReduction<T> parts{Vector<T>(), part(vectors.w), part(vectors.p), part(vectors.s)};
      Pipelined<T> parts_ahead{inverse_diagonal != nullptr ? part(ahead.m) : Vector<T>(), part(ahead.n), part(ahead.z)};
      Vector<T> x_part = part(x), r_part = part(r);
      all_.advance_pipelined(before, now, parts, parts_ahead, DiagonalPart(inverse_diagonal, at, count).get(), x_part,
                             r_part, sums);
    });
  }
  void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const override {
    all_.dot(part_of(a, 0, map_.owned), part_of(b, 0, map_.owned), result);
  }

 private:
  /// Calls pass(first, count, sums) on the owned entries and, with sums that are discarded, on the ghosts.
  template <class Pass>
  void on_both(CgScalars& sums, const Pass& pass) const {
    pass(std::int64_t{0}, std::int64_t{map_.owned}, sums);
    Unused unused;
    if (map_.ghosts() > 0) pass(std::int64_t{map_.owned}, std::int64_t{map_.ghosts()}, unused.scalars);
  }

  const IndexMap& map_;
  const VectorKernels<T>& all_;
};

}  // namespace

HostNumbers::HostNumbers(std::int64_t count, Device device)
    : memory_(device == Device::cuda ? count * std::int64_t{sizeof(double)} : 0),
      numbers_(device == Device::cuda ? Vector<double>(reinterpret_cast<double*>(memory_.data()), count, device)
                                      : Vector<double>(count)) {
  std::ranges::fill(values(), 0.0);
}

void give(std::span<const double> numbers, double* to, Device device) {
  if (device == Device::cuda)
    cuda_send_values(numbers, to);
  else
    std::ranges::copy(numbers, to);
}

template <std::floating_point T>
DistributedVectors<T>::DistributedVectors(const Communicator& communicator, const IndexMap& map, Device device,
                                          std::function<bool()> stop)
    : communicator_(&communicator),
      map_(&map),
      device_(device),
      gpu_sums_(device == Device::cuda ? make_gpu_sums(communicator) : nullptr),
      mine_(device == Device::cuda ? make_cuda_vector_kernels<T>(map.owned) : std::make_unique<OwnedSums<T>>(map)),
      all_(gpus_sum() ? make_cuda_vector_kernels<T>(map.owned, &gpu_sums_->memories()) : nullptr),
      numbers_(CgScalars::count, device),
      sums_(numbers_.on_device(), 0),
      stop_(std::move(stop)) {}

template <std::floating_point T>
bool DistributedVectors<T>::asked_to_stop() const {
  constexpr int calls = 16;
  if (gpus_sum() && times_asked_++ % calls == 0) asked_to_stop_ = communicator_->sum(stop_ && stop_() ? 1.0 : 0.0) > 0;
  return asked_to_stop_;
}

template <std::floating_point T>
Summands DistributedVectors<T>::summands(const double* a, const double* b, int count, double* energies) const {
  double* norms = waiting_ != nullptr ? waiting_->rz.data() : nullptr;  // followed by r'r
  ++sum_count_;
  waiting_ = nullptr;
  return {a, b, count, energies, norms, norms != nullptr ? 2 : 0};
}

template <std::floating_point T>
void DistributedVectors<T>::sum_norms(CgScalars& next) const {
  if (gpus_sum() && !delayed_) {
    ++sum_count_;
    return;
  }
  waiting_ = &next;
  if (delayed_) return;
  synchronize(device_);
  sum_energies({});
}

template <std::floating_point T>
void DistributedVectors<T>::sum_energies(std::span<double> energies) const {
  std::vector<double> numbers(energies.begin(), energies.end());
  if (waiting_ != nullptr)
    numbers.insert(numbers.end(), {*sums_.rz.data(), *sums_.rr.data(), stop_ && stop_() ? 1.0 : 0.0});
  communicator_->sum(numbers);
  ++sum_count_;
  std::copy_n(numbers.begin(), energies.size(), energies.begin());
  if (waiting_ == nullptr) return;
  const std::span<const double> norms = std::span(numbers).last(3);
  give(norms.first(1), waiting_->rz.data(), device_);
  give(norms.subspan(1, 1), waiting_->rr.data(), device_);
  asked_to_stop_ = norms[2] > 0;
  waiting_ = nullptr;
}

template <std::floating_point T>
void DistributedVectors<T>::sum_with_request(std::span<double> numbers) const {
  std::vector<double> all(numbers.begin(), numbers.end());
  all.push_back(stop_ && stop_() ? 1.0 : 0.0);
  communicator_->sum(all);
  ++sum_count_;
  asked_to_stop_ = all.back() > 0;
  std::copy_n(all.begin(), numbers.size(), numbers.begin());
}

template <std::floating_point T>
void DistributedVectors<T>::start(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, Vector<T>& p,
                                  CgScalars& first) const {
  passes().start(r, inverse_diagonal, p, norms_for(first));
  sum_norms(first);
}

template <std::floating_point T>
void DistributedVectors<T>::update(const CgScalars& now, const Vector<T>& q, const InverseDiagonal* inverse_diagonal,
                                   Vector<T>& r, CgScalars& next) const {
  passes().update(now, q, inverse_diagonal, r, norms_for(next));
  sum_norms(next);
}

template <std::floating_point T>
void DistributedVectors<T>::direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                                      const InverseDiagonal* inverse_diagonal, Vector<T>& p, Vector<T>& x) const {
  passes().direction(now, next, r, inverse_diagonal, p, x);
}

template <std::floating_point T>
void DistributedVectors<T>::advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
                                    const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r,
                                    CgScalars& next) const {
  passes().advance(before, now, vectors, inverse_diagonal, x, r, norms_for(next));
  sum_norms(next);
}

template <std::floating_point T>
void DistributedVectors<T>::advance_pipelined(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
                                              Pipelined<T>& ahead, const InverseDiagonal* inverse_diagonal,
                                              Vector<T>& x, Vector<T>& r, CgScalars& next) const {
  if (gpus_sum()) {
    ++sum_count_;
    return all_->advance_pipelined(before, now, vectors, ahead, inverse_diagonal, x, r, next);
  }
  complete_sums(now);
  mine_->advance_pipelined(before, now, vectors, ahead, inverse_diagonal, x, r, sums_);
  synchronize(device_);
  communicator_->begin_sum(
      std::array{*sums_.rz.data(), *sums_.rr.data(), *sums_.uw.data(), stop_ && stop_() ? 1.0 : 0.0});
  under_way_ = true;
}

template <std::floating_point T>
void DistributedVectors<T>::complete_sums(CgScalars& last) const {
  if (gpus_sum()) return all_->complete_sums(last);
  if (!under_way_) return;
  std::array<double, 4> sums{};
  communicator_->end_sum(sums);
  ++sum_count_;
  under_way_ = false;
  asked_to_stop_ = sums[3] > 0;
  give(std::span(sums).first(1), last.rz.data(), device_);
  give(std::span(sums).subspan(1, 1), last.rr.data(), device_);
  give(std::span(sums).subspan(2, 1), last.uw.data(), device_);
}

template <std::floating_point T>
void DistributedVectors<T>::dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const {
  if (gpus_sum()) {
    all_->dot(a, b, result);
    ++sum_count_;
    return;
  }
  mine_->dot(a, b, sums_.rz);
  synchronize(device_);
  const double sum = communicator_->sum(*sums_.rz.data());
  ++sum_count_;
  give(std::span(&sum, 1), result.data(), device_);
}

template class DistributedVectors<double>;
template class DistributedVectors<float>;

}  // namespace femcg::operators

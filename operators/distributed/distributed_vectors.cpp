#include "operators/distributed/distributed_vectors.hpp"

#include <array>
#include <optional>

namespace femcg::operators {

namespace {

/// The same entries of a diagonal that may not be there.
template <std::floating_point T>
struct DiagonalPart {
  DiagonalPart(const Vector<T>* whole, std::int64_t first, std::int64_t count) {
    if (whole != nullptr) part.emplace(const_cast<T*>(whole->data()) + first, count, whole->device());
  }
  const Vector<T>* get() const { return part ? &*part : nullptr; }
  std::optional<Vector<T>> part;
};

/// Numbers of an iteration that nobody asks for: those of a pass over ghosts.
struct Unused {
  Vector<double> numbers{CgScalars::count};
  CgScalars scalars{numbers, 0};
};

/// Calls pass(first, count, counts) on the entries that are owned, and on the ghosts.
template <class Pass>
void on_both(const IndexMap& map, const Pass& pass) {
  pass(std::int64_t{0}, std::int64_t{map.owned}, true);
  if (map.ghosts() > 0) pass(std::int64_t{map.owned}, std::int64_t{map.ghosts()}, false);
}

}  // namespace

template <std::floating_point T>
void DistributedVectors<T>::sum_norms(CgScalars& next) const {
  std::array<double, 3> numbers{next.rz.value(), next.rr.value(), stop_ && stop_() ? 1.0 : 0.0};
  communicator_->sum(numbers);
  *next.rz.data() = numbers[0];
  *next.rr.data() = numbers[1];
  asked_to_stop_ = numbers[2] > 0;
}

template <std::floating_point T>
void DistributedVectors<T>::start(const Vector<T>& r, const Vector<T>* inverse_diagonal, Vector<T>& p,
                                  CgScalars& first_scalars) const {
  Unused unused;
  on_both(*map_, [&](std::int64_t first, std::int64_t count, bool counts) {
    Vector<T> p_part = part_of(p, first, count);
    vector_operations<T>(Device::host)
        .start(part_of(r, first, count), DiagonalPart<T>(inverse_diagonal, first, count).get(), p_part,
               counts ? first_scalars : unused.scalars);
  });
  sum_norms(first_scalars);
}

template <std::floating_point T>
void DistributedVectors<T>::update(const CgScalars& now, const Vector<T>& q, const Vector<T>* inverse_diagonal,
                                   Vector<T>& r, CgScalars& next) const {
  Unused unused;
  on_both(*map_, [&](std::int64_t first, std::int64_t count, bool counts) {
    Vector<T> r_part = part_of(r, first, count);
    vector_operations<T>(Device::host)
        .update(now, part_of(q, first, count), DiagonalPart<T>(inverse_diagonal, first, count).get(), r_part,
                counts ? next : unused.scalars);
  });
  sum_norms(next);
}

template <std::floating_point T>
void DistributedVectors<T>::direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                                      const Vector<T>* inverse_diagonal, Vector<T>& p, Vector<T>& x) const {
  vector_operations<T>(Device::host).direction(now, next, r, inverse_diagonal, p, x);
}

template <std::floating_point T>
void DistributedVectors<T>::advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
                                    const Vector<T>* inverse_diagonal, Vector<T>& x, Vector<T>& r,
                                    CgScalars& next) const {
  Unused unused;
  on_both(*map_, [&](std::int64_t first, std::int64_t count, bool counts) {
    SingleReduction<T> parts{inverse_diagonal != nullptr ? part_of(vectors.u, first, count) : Vector<T>(),
                             part_of(vectors.w, first, count), part_of(vectors.p, first, count),
                             part_of(vectors.s, first, count)};
    Vector<T> x_part = part_of(x, first, count), r_part = part_of(r, first, count);
    vector_operations<T>(Device::host)
        .advance(before, now, parts, DiagonalPart<T>(inverse_diagonal, first, count).get(), x_part, r_part,
                 counts ? next : unused.scalars);
  });
  sum_norms(next);
}

template <std::floating_point T>
void DistributedVectors<T>::dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const {
  vector_operations<T>(Device::host).dot(part_of(a, 0, map_->owned), part_of(b, 0, map_->owned), result);
  *result.data() = communicator_->sum(result.value());
}

template class DistributedVectors<double>;
template class DistributedVectors<float>;

}  // namespace femcg::operators

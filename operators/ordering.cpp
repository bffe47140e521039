#include "operators/ordering.hpp"

#include "operators/backend/permutation.hpp"

namespace femcg::operators {

template <std::floating_point T>
Vector<T> to_ordering(const Operator<T>& a, const Vector<T>& natural) {
  Vector<T> there = copied(natural, a.device());
  if (a.ordering().size() == 0) return there;
  Vector<T> ordered(natural.size(), a.device());
  gather(there, a.ordering(), ordered);
  return ordered;
}

template <std::floating_point T>
Vector<T> from_ordering(const Operator<T>& a, const Vector<T>& ordered) {
  if (a.ordering().size() == 0) return copied(ordered, a.device());
  Vector<T> natural(ordered.size(), a.device());
  scatter(ordered, a.ordering(), natural);
  return natural;
}

template Vector<double> to_ordering(const Operator<double>&, const Vector<double>&);
template Vector<float> to_ordering(const Operator<float>&, const Vector<float>&);
template Vector<double> from_ordering(const Operator<double>&, const Vector<double>&);
template Vector<float> from_ordering(const Operator<float>&, const Vector<float>&);

}  // namespace femcg::operators

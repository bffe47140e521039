#include "solver/tuning/tuning_operator.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "operators/capabilities.hpp"
#include "operators/ordering.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/stopwatch.hpp"

namespace femcg::solver {

using operators::MultiVector;
using operators::Operator;
using operators::Scalar;
using operators::Vector;

namespace {

/// y = A x and, if `energy` is not null, x'Ax, with vectors in the ordering of another operator of the same matrix and
/// device. Returns the seconds of the product, including the wait for it but not the conversions to A's own ordering
/// and back.
template <std::floating_point T>
double timed_product(const Operator<T>& a, const Operator<T>& ordered_as, const Vector<T>& x, Vector<T>& y,
                     Scalar* energy) {
  double seconds = 0;
  const auto multiply = [&](const Vector<T>& from, Vector<T>& to) {
    operators::synchronize(a.device());
    timed(seconds, [&] {
      a.apply(from, to, energy);
      operators::synchronize(a.device());
    });
  };
  if (&a == &ordered_as || (a.ordering().size() == 0 && ordered_as.ordering().size() == 0)) {
    multiply(x, y);
    return seconds;
  }
  const Vector<T> from = operators::to_ordering(a, operators::from_ordering(ordered_as, x));
  Vector<T> to(a.size(), a.device());
  multiply(from, to);
  operators::copy(operators::to_ordering(ordered_as, operators::from_ordering(a, to)), y);
  return seconds;
}

}  // namespace

template <std::floating_point T>
CgCheckpoint<T> iterate_with_trials(const Operator<T>& trials, std::int64_t iterations, const Vector<T>& b,
                                    std::vector<double>& x, CgOptions<T> options) {
  options.loop = CgLoop::launched;
  options.captured = false;
  options.check_every = 1;
  const std::int64_t begun = options.before != nullptr ? options.before->result.iterations : 0;
  options.max_iterations = std::min(options.max_iterations, begun + iterations);
  if (options.method == CgMethod::automatic) options.method = CgMethod::classic;
  CgCheckpoint<T> state;
  options.after = &state;
  conjugate_gradients<T>(trials, b, x, options);
  return state;
}

template <std::floating_point T>
TuningOperator<T>::TuningOperator(Operator<T>& start, Search& search, TuningMeans<T> means)
    : Operator<T>(start.size(), start.device()), start_(start), search_(search), means_(std::move(means)) {
  launched_[&start] = search.start();
}

template <std::floating_point T>
auto TuningOperator<T>::conversion_of(const Setting& setting) const -> Conversion {
  Conversion conversion;
  for (std::size_t i = 0; i < setting.size(); ++i)
    if (search_.options()[i].converts) conversion.push_back(setting[i]);
  return conversion;
}

/// Operator with a setting's conversion; null if it is not possible, which is reported to the search.
template <std::floating_point T>
Operator<T>* TuningOperator<T>::made_for(const Setting& setting) const {
  const Conversion wanted = conversion_of(setting);
  if (wanted == conversion_of(search_.start())) return &start_;
  if (const auto found = made_.find(wanted); found != made_.end()) return found->second.get();
  const Conversion best = conversion_of(search_.best());
  for (auto each = made_.begin(); each != made_.end();) {  // at most three exist at a time
    if (each->first != best) launched_.erase(each->second.get());
    each = each->first == best ? std::next(each) : made_.erase(each);
  }
  double seconds = 0;
  try {
    if (!means_.make) throw std::invalid_argument("the data that the operator was made from have been released");
    std::unique_ptr<Operator<T>>& made = made_[wanted];
    made = timed(seconds, [&] { return means_.make(options_of(setting, search_.options(), means_.given)); });
    launched_[made.get()] = setting;
  } catch (const std::exception& error) {
    made_.erase(wanted);
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    if (!no_memory && !is_refusal(error) && dynamic_cast<const std::length_error*>(&error) == nullptr) throw;
    converted(seconds);
    search_.refuse_next(reason_of(error));
    return nullptr;
  }
  converted(seconds);
  cold_ = made_[wanted].get();
  return made_[wanted].get();
}

template <std::floating_point T>
void TuningOperator<T>::converted(double seconds) const {
  if (means_.agreed) seconds = means_.agreed(seconds);
  conversions_ += seconds;
  search_.converted(seconds);
}

template <std::floating_point T>
Operator<T>* TuningOperator<T>::with(const Setting& setting) const {
  Operator<T>* a = made_for(setting);
  if (a == nullptr || launched_[a] == setting) return a;
  dynamic_cast<operators::WithLaunch&>(*a).launch_as(options_of(setting, search_.options(), means_.given));
  launched_[a] = setting;
  return a;
}

template <std::floating_point T>
void TuningOperator<T>::multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
  Operator<T>* a = nullptr;
  while (a == nullptr) a = with(Setting(search_.next()));  // copied: a refused setting is no longer next()
  double seconds = timed_product(*a, start_, x, y, energy);
  if (search_.over() || std::exchange(cold_, nullptr) == a) return;
  if (means_.agreed) seconds = means_.agreed(seconds);
  if (means_.limits && search_.products().size() + 1 == Search::first_products)
    search_.set_limits(means_.limits(seconds));
  search_.took(means_.clock ? means_.clock(options_of(search_.next(), search_.options(), means_.given)) : seconds);
}

template <std::floating_point T>
void TuningOperator<T>::multiply_multi_vector(const MultiVector<T>&, MultiVector<T>&, double*) const {
  throw std::logic_error("settings are tried with one vector at a time");
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> TuningOperator<T>::finish() {
  search_.end();
  const Operator<T>* best = with(search_.best());
  if (best == &start_) return nullptr;
  return std::move(made_.at(conversion_of(search_.best())));
}

template CgCheckpoint<double> iterate_with_trials(const Operator<double>&, std::int64_t, const Vector<double>&,
                                                  std::vector<double>&, CgOptions<double>);
template CgCheckpoint<float> iterate_with_trials(const Operator<float>&, std::int64_t, const Vector<float>&,
                                                 std::vector<double>&, CgOptions<float>);
template class TuningOperator<double>;
template class TuningOperator<float>;

}  // namespace femcg::solver

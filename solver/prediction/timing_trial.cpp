#include "solver/prediction/timing_trial.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "operators/ordering.hpp"

namespace femcg::solver {

using operators::MultiVector;
using operators::Operator;
using operators::Scalar;
using operators::Vector;

template <std::floating_point T>
double timed_product(const Operator<T>& a, const Operator<T>& ordered_as, const Vector<T>& x, Vector<T>& y,
                     Scalar* energy) {
  const auto timed = [&](const Vector<T>& from, Vector<T>& to) {
    operators::synchronize(a.device());
    const auto begin = std::chrono::steady_clock::now();
    a.apply(from, to, energy);
    operators::synchronize(a.device());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  if (&a == &ordered_as || (a.ordering().size() == 0 && ordered_as.ordering().size() == 0)) return timed(x, y);
  const Vector<T> from = operators::to_ordering(a, operators::from_ordering(ordered_as, x));
  Vector<T> to(a.size(), a.device());
  const double seconds = timed(from, to);
  operators::copy(operators::to_ordering(ordered_as, operators::from_ordering(a, to)), y);
  return seconds;
}

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
TrialOperator<T>::TrialOperator(const Operator<T>& first, const Operator<T>& runner_up)
    : Operator<T>(first.size(), first.device()), first_(first), runner_up_(runner_up) {
  if (first.size() != runner_up.size() || first.device() != runner_up.device())
    throw std::invalid_argument("two operators that are tried against each other must be of one matrix and device");
}

template <std::floating_point T>
void TrialOperator<T>::multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
  const int product = made_++, which = product % 2;
  if (product >= products) {
    first_.apply(x, y, energy);
    return;
  }
  const double seconds = timed_product(which == 0 ? first_ : runner_up_, first_, x, y, energy);
  const bool counts = product >= 2;  // the first of each includes page faults and kernel loading
  if (counts) least_[which] = least_[which] == 0 ? seconds : std::min(least_[which], seconds);
}

template <std::floating_point T>
void TrialOperator<T>::multiply_multi_vector(const MultiVector<T>&, MultiVector<T>&, double*) const {
  throw std::logic_error("operators are tried with one vector at a time");
}

template <std::floating_point T>
TimingTrial<T> try_both(const Operator<T>& first, const std::string& first_name, const Operator<T>& runner_up,
                        const std::string& runner_up_name, const Vector<T>& b, std::vector<double>& x,
                        CgOptions<T> options, const std::function<double(double)>& agreed) {
  const TrialOperator<T> both(first, runner_up);
  TimingTrial<T> trial;
  trial.state = iterate_with_trials<T>(both, TrialOperator<T>::products, b, x, std::move(options));
  const double of_first = agreed ? agreed(both.first_seconds()) : both.first_seconds();
  const double of_runner_up = agreed ? agreed(both.runner_up_seconds()) : both.runner_up_seconds();
  if (of_first > 0 && of_runner_up > 0)
    trial.selection = judge(first_name, of_first, runner_up_name, of_runner_up);
  else
    trial.selection.why = first_name + " is expected to be the fastest, and CG was over before that could be tried";
  return trial;
}

template double timed_product(const Operator<double>&, const Operator<double>&, const Vector<double>&, Vector<double>&,
                              Scalar*);
template double timed_product(const Operator<float>&, const Operator<float>&, const Vector<float>&, Vector<float>&,
                              Scalar*);
template CgCheckpoint<double> iterate_with_trials(const Operator<double>&, std::int64_t, const Vector<double>&,
                                                  std::vector<double>&, CgOptions<double>);
template CgCheckpoint<float> iterate_with_trials(const Operator<float>&, std::int64_t, const Vector<float>&,
                                                 std::vector<double>&, CgOptions<float>);
template class TrialOperator<double>;
template class TrialOperator<float>;
template TimingTrial<double> try_both(const Operator<double>&, const std::string&, const Operator<double>&,
                                      const std::string&, const Vector<double>&, std::vector<double>&,
                                      CgOptions<double>, const std::function<double(double)>&);
template TimingTrial<float> try_both(const Operator<float>&, const std::string&, const Operator<float>&,
                                     const std::string&, const Vector<float>&, std::vector<double>&, CgOptions<float>,
                                     const std::function<double(double)>&);

}  // namespace femcg::solver

#include "solver/prediction/trial.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "operators/ordering.hpp"

namespace femcg::solver {

using operators::Columns;
using operators::Operator;
using operators::Scalar;
using operators::Vector;

template <std::floating_point T>
TrialOperator<T>::TrialOperator(const Operator<T>& first, const Operator<T>& rival)
    : Operator<T>(first.size(), first.device()), first_(first), rival_(rival) {
  if (first.size() != rival.size() || first.device() != rival.device())
    throw std::invalid_argument("two operators that are tried against each other must be of one matrix and device");
}

template <std::floating_point T>
void TrialOperator<T>::multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
  const int product = made_++, which = product < products ? product % 2 : 0;
  if (which == 0) {
    multiply_timed(0, x, y, energy);
    return;
  }
  if (first_.ordering().size() == 0 && rival_.ordering().size() == 0) {
    multiply_timed(1, x, y, energy);
    return;
  }
  const Vector<T> from = operators::to_ordering(rival_, operators::from_ordering(first_, x));
  Vector<T> to(this->size(), this->device());
  multiply_timed(1, from, to, energy);
  operators::copy(operators::to_ordering(first_, operators::from_ordering(rival_, to)), y);
}

template <std::floating_point T>
void TrialOperator<T>::multiply_timed(int which, const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
  const Operator<T>& a = which == 0 ? first_ : rival_;
  if (made_ > products) {
    a.apply(x, y, energy);
    return;
  }
  operators::synchronize(this->device());
  const auto begin = std::chrono::steady_clock::now();
  a.apply(x, y, energy);
  operators::synchronize(this->device());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool counts = made_ > 2;  // the first of each brings pages and kernels
  if (counts) least_[which] = least_[which] == 0 ? seconds : std::min(least_[which], seconds);
}

template <std::floating_point T>
void TrialOperator<T>::multiply_columns(const Columns<T>&, Columns<T>&, double*) const {
  throw std::logic_error("operators are tried with one vector at a time");
}

template <std::floating_point T>
Trial<T> try_both(const Operator<T>& first, const std::string& first_name, const Operator<T>& rival,
                  const std::string& rival_name, const Vector<T>& b, std::vector<double>& x, CgOptions<T> options) {
  const TrialOperator<T> both(first, rival);
  options.loop = CgLoop::launched;
  options.recorded = false;
  options.check_every = 1;
  options.max_iterations = std::min<std::int64_t>(options.max_iterations, TrialOperator<T>::products);
  if (options.method == CgMethod::automatic) options.method = CgMethod::classic;
  Trial<T> trial;
  options.after = &trial.state;
  conjugate_gradients<T>(both, b, x, options);
  if (both.first_seconds() > 0 && both.rival_seconds() > 0)
    trial.verdict = judge(first_name, both.first_seconds(), rival_name, both.rival_seconds());
  else
    trial.verdict.why = first_name + " is expected to be the fastest, and CG was over before that could be tried";
  return trial;
}

template class TrialOperator<double>;
template class TrialOperator<float>;
template Trial<double> try_both(const Operator<double>&, const std::string&, const Operator<double>&,
                                const std::string&, const Vector<double>&, std::vector<double>&, CgOptions<double>);
template Trial<float> try_both(const Operator<float>&, const std::string&, const Operator<float>&, const std::string&,
                               const Vector<float>&, std::vector<double>&, CgOptions<float>);

}  // namespace femcg::solver

#include "solver/benchmark/assembly.hpp"

#include <stdexcept>
#include <utility>

#include "operators/stored/assembled/single_values.hpp"
#include "operators/stored/io/number_range.hpp"

namespace femcg::solver {

using operators::CsrMatrix;
using operators::Needs;

WantedAssembly wanted_by(std::span<const BenchmarkEntry> entries) {
  WantedAssembly wanted;
  for (const BenchmarkEntry& entry : entries) {
    if (!entry.not_applicable.empty()) continue;
    const Needs needs = entry.description().needs_on(entry.device);
    wanted.element_matrices |= needs != Needs::form;
    wanted.matrix |= needs == Needs::matrix;
    wanted.on_host |= needs != Needs::form && entry.device == operators::Device::host;
  }
  return wanted;
}

template <std::floating_point T>
MemoryEstimate Assembly<T>::prepare(WantedAssembly wanted) {
  wanted_ = wanted;
  if (form_ == nullptr || !wanted.element_matrices) return {};
  const operators::Device device = is_on_gpu() ? operators::Device::cuda : operators::Device::host;
  if (wanted.matrix) matrix_seconds_ = least_seconds([] {}, [&] { rows_.emplace(*form_, device); });
  return need_of_assembly<T>(*form_, rows_ ? &*rows_ : nullptr);
}

template <std::floating_point T>
void Assembly<T>::assemble() {
  if (wanted_.matrix && is_on_gpu()) {
    rows_.reset();
    matrix_seconds_ +=
        least_seconds([&] { matrix_.reset(); },
                      [&] { matrix_ = std::make_shared<const CsrMatrix<T>>(operators::assembled_by_gpu<T>(*form_)); });
    return;
  }
  if (form_ != nullptr && wanted_.element_matrices)
    element_seconds_ = least_seconds([] {}, [&] { element_matrices_ = operators::assemble_element_matrices(*form_); });
  if (!wanted_.matrix) return;
  if (form_ == nullptr && std::is_same_v<T, float>)
    if (const std::string why = operators::why_not_single(*source_); !why.empty()) throw std::overflow_error(why);
  const auto count_anew = [&] {
    matrix_.reset();
    if (form_ != nullptr && !rows_) rows_.emplace(*form_);
  };
  matrix_seconds_ += least_seconds(count_anew, [&] {
    matrix_ = form_ != nullptr
                  ? std::make_shared<const CsrMatrix<T>>(operators::assemble(std::move(*rows_), element_matrices_))
                  : operators::in_precision<T>(source_);
    rows_.reset();
  });
}

template <std::floating_point T>
std::unique_ptr<operators::Operator<T>> Assembly<T>::make(const BenchmarkEntry& entry,
                                                          std::int64_t reserved_bytes) const {
  const Needs needs = entry.description().needs_on(entry.device);
  operators::Ingredients<T> from;
  from.device = entry.device;
  from.form = form_;
  if (needs == Needs::element_matrices) from.element_matrices = &element_matrices_;
  if (needs == Needs::matrix) from.matrix = matrix_;
  from.reserved_bytes = reserved_bytes;
  return entry.description().make(from, entry.op.options);
}

template <std::floating_point T>
double Assembly<T>::seconds(const BenchmarkEntry& entry) const {
  const operators::OperatorDescription& of = entry.description();
  return (of.needs_on(entry.device) == Needs::form ? 0 : element_seconds_) +
         (of.needs == Needs::matrix ? matrix_seconds_ : 0);
}

template class Assembly<double>;
template class Assembly<float>;

}  // namespace femcg::solver

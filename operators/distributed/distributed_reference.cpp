#include "operators/distributed/distributed_reference.hpp"

#include "operators/forms/reference.hpp"

namespace femcg::operators {

std::vector<double> DistributedReference::apply(std::span<const double> x) {
  std::vector<double> y(x.size(), 0.0);
  const auto add = [&](const FormPart& part, std::span<const std::int32_t> unknowns) {
    if (part.empty()) return;
    std::vector<double> x_of_part;
    x_of_part.reserve(unknowns.size());
    for (const std::int32_t i : unknowns) x_of_part.push_back(x[i]);
    const std::vector<double> of_part = ReferenceOperator(part.form).apply(x_of_part);
    for (std::size_t i = 0; i < of_part.size(); ++i) y[unknowns[i]] += of_part[i];
  };
  add(share_->interior, share_->interior_unknowns);
  add(share_->interface, share_->interface_unknowns);
  double* shared = y.data() + share_->map.first_shared;
  sum_.pack(shared);
  sum_.start();
  sum_.finish();
  sum_.add(shared);
  return y;
}

}  // namespace femcg::operators

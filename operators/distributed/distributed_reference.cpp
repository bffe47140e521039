#include "operators/distributed/distributed_reference.hpp"

#include "operators/forms/reference.hpp"

namespace femcg::operators {

std::vector<double> DistributedReference::apply(std::span<const double> x) {
  std::vector<double> y(x.size(), 0.0);
  const auto add = [&](const FormPart& part, std::int32_t first) {
    if (part.empty()) return;
    const std::vector<double> of_part =
        ReferenceOperator(part.form).apply(x.subspan(first, static_cast<std::size_t>(part.form.unknowns)));
    for (std::size_t i = 0; i < of_part.size(); ++i) y[first + i] += of_part[i];
  };
  add(share_->interior, 0);
  add(share_->interface, share_->first_interface);
  double* shared = y.data() + share_->map.first_shared;
  sum_.pack(shared);
  sum_.start();
  sum_.finish();
  sum_.add(shared);
  return y;
}

}  // namespace femcg::operators

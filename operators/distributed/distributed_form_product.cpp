#include "operators/distributed/distributed_form_product.hpp"

#include "mesh/pages.hpp"
#include "operators/backend/parallel_rows.hpp"
#include "operators/forms/form_product.hpp"

namespace femcg::operators {

std::vector<double> DistributedFormProduct::residual(std::span<const double> x, std::span<const double> b) {
  const std::vector<double> nothing = mesh::filled<double>(x.size());
  std::vector<double> r = to_map(FormProduct(*form_).residual(from_map(x, *map_), nothing), *map_);
  sum_.add_up(r.data() + map_->first_shared);
  for_each_row(std::ssize(r), [&](std::int64_t i) { r[i] += b[i]; });
  return r;
}

}  // namespace femcg::operators

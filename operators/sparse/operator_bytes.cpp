#include "operators/sparse/operator_bytes.hpp"

#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

namespace {

/// `words` numbers per cell, and what a cell needs to find its unknowns.
template <std::floating_point T>
std::int64_t bytes_of_cells(const BilinearForm& form, std::int64_t words) {
  constexpr std::int64_t lanes = 64 / sizeof(T);  // cells that are stored together
  const std::int64_t cells = (form.cells() + lanes - 1) / lanes * lanes;
  const std::int64_t a_cell = words * static_cast<std::int64_t>(sizeof(T)) +
                              form.dofs_per_cell() * static_cast<std::int64_t>(sizeof(std::uint16_t));
  // Each unknown is listed by its block of cells, those on the interface of a block more than once.
  const std::int64_t an_unknown = 3 * sizeof(std::int32_t) / 2;
  return cells * a_cell + form.unknowns * an_unknown;
}

}  // namespace

template <std::floating_point T>
OperatorBytes bytes_of_compressed_rows(const Extent<T>& of) {
  return {.stored = bytes_of_rows(*of.matrix)};
}

template <std::floating_point T>
OperatorBytes bytes_of_element_matrices(const Extent<T>& of) {
  const std::int64_t n = of.form->dofs_per_cell();
  return {.stored = bytes_of_cells<T>(*of.form, n * (n + 1) / 2)};
}

template <std::floating_point T>
OperatorBytes bytes_of_factors(const Extent<T>& of) {
  const BilinearForm& form = *of.form;
  const std::int64_t d = form.space->mesh().dimension();
  const std::int64_t points = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature).size();
  const std::int64_t entries = d * (d + 1) / 2, most = bytes_of_cells<T>(form, points * entries);
  return {.stored = most + bytes_of_robin(form, sizeof(T)), .slack = most - bytes_of_cells<T>(form, entries)};
}

std::int64_t bytes_of_robin(const BilinearForm& form, std::int64_t value_bytes) {
  std::int64_t points = 0;
  for (const RobinFacet& facet : form.robin) points += static_cast<std::int64_t>(facet.transfer.size());
  return 2 * points * value_bytes;
}

template OperatorBytes bytes_of_compressed_rows(const Extent<double>&);
template OperatorBytes bytes_of_compressed_rows(const Extent<float>&);
template OperatorBytes bytes_of_element_matrices(const Extent<double>&);
template OperatorBytes bytes_of_element_matrices(const Extent<float>&);
template OperatorBytes bytes_of_factors(const Extent<double>&);
template OperatorBytes bytes_of_factors(const Extent<float>&);

}  // namespace femcg::operators

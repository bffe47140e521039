#include "solver/prediction/choice.hpp"

#include <fmt/format.h>

#include "operators/stored/assembled/assembly_on_gpu.hpp"
#include "solver/case/case_keys.hpp"

namespace femcg::solver {

using operators::Device;

namespace {

OperatorDecision take(std::string_view name, std::string_view since) {
  return {{std::string(name), {}, {}}, fmt::format("{}, since {}", name, since)};
}

/// With a preconditioner that leaves few products: the operator shares the matrix, or the tables of cells, that its
/// levels are made of. On the host the levels of several loads at once are matrices.
OperatorDecision for_few_products(const PredictionInput& of, bool at_once, bool is_assembled) {
  const mesh::FunctionSpace& space = *of.form->space;
  const std::string_view name = of.preconditioner->name;
  const bool begins_with_matrix = space.degree() == 1 && !(mesh::is_tensor(space.mesh().shape) && space.mesh().box),
             has_matrix = name == "boomeramg" ||
                          (name == "multigrid" && (begins_with_matrix || (at_once && of.device == Device::host)));
  if (has_matrix && is_assembled)
    return take(operator_of_options, fmt::format("{} needs few products, and its levels share the matrix", name));
  return take("matrix-free", name == "multigrid"
                                 ? "multigrid needs few products, and its levels share the tables of cells"
                                 : fmt::format("{} needs few products", name));
}

OperatorDecision for_several(mesh::CellShape shape, int degree, Device device) {
  const bool on_gpu = device == Device::cuda;
  const bool has_long_rows = shape == mesh::CellShape::hexahedron
                                 ? on_gpu || degree == 4
                                 : shape == mesh::CellShape::tetrahedron && on_gpu && degree == 4;
  if (has_long_rows)
    return take("matrix-free", "the rows of a matrix are too long to be read, even for several loads at once");
  return take(operator_of_options, on_gpu ? "it reads the matrix once for several loads, or caches it for all"
                                          : "it reads the matrix once for several loads");
}

OperatorDecision for_one_on_gpu(const PredictionInput& of, bool is_assembled) {
  const mesh::FunctionSpace& space = *of.form->space;
  const bool is_tensor = mesh::is_tensor(space.mesh().shape), in_plane = space.mesh().dimension() == 2;
  const std::int32_t few = in_plane ? 225'000 : 100'000;     // unknowns of a matrix that a persistent kernel caches
  const int most_degree = in_plane ? 3 : is_tensor ? 0 : 2;  // with such a matrix
  const bool is_cached = of.loop == CgLoop::persistent ||
                         (of.loop == CgLoop::automatic && of.form->unknowns <= few && space.degree() <= most_degree);
  if (is_cached && is_assembled)
    return take(operator_of_options, "a persistent kernel iterates on a matrix of this size");
  if (!is_tensor && space.degree() == 1 && is_assembled)
    return take(in_plane ? "sell" : operator_of_options,
                "on a GPU, assembling and reading a matrix of degree 1 takes less time than element matrices do");
  return take("matrix-free",
              "on a GPU its set-up is the shortest, and its product takes less time than reading a matrix");
}

OperatorDecision for_one_on_host(const PredictionInput& of) {
  constexpr std::int32_t few = 150'000;  // unknowns, whose element matrices remain in caches
  const mesh::FunctionSpace& space = *of.form->space;
  const mesh::CellShape shape = space.mesh().shape;
  const int shortest = mesh::is_tensor(shape) ? (space.mesh().dimension() == 2 ? 1 : 0) : 2;
  if (of.loop == CgLoop::fused) return take("matrix-free", "its products are fused with the vector kernels of CG");
  if (space.degree() <= shortest)
    return take("sell", "a product with short rows of a matrix takes less time than one over cells");
  if (shape == mesh::CellShape::tetrahedron && of.form->unknowns <= few)
    return take("lma-gather", "caches hold the element matrices of so few unknowns");
  return take("matrix-free", "a product over cells takes less time than reading long rows of a matrix");
}

}  // namespace

OperatorDecision decide(const PredictionInput& of, int processes) {
  const mesh::FunctionSpace& space = *of.form->space;
  const bool on_gpu = of.device == Device::cuda;
  // On a GPU several processes would copy matrices that their processors assemble.
  const bool is_assembled = !on_gpu || (processes == 1 && operators::can_assemble_on_gpu(*of.form));
  const MemoryUser with_matrix{operators::find_operator(operator_of_options),
                               nullptr,
                               of.device,
                               of.preconditioner,
                               of.method,
                               of.loop,
                               of.systems};
  const bool at_once = with_matrix.takes_all(of.form->unknowns);
  if (of.preconditioner->iterations > 0) return for_few_products(of, at_once, is_assembled);
  if (at_once && is_assembled) return for_several(space.mesh().shape, space.degree(), of.device);
  return on_gpu ? for_one_on_gpu(of, is_assembled) : for_one_on_host(of);
}

Regret regret_of(std::size_t chosen, const std::vector<Measured>& measured, double iterations) {
  Regret regret{.chosen = chosen};
  const auto seconds = [&](std::size_t i) { return measured[i].seconds(iterations); };
  for (std::size_t i = 0; i < measured.size(); ++i)
    if (seconds(i) < seconds(regret.best)) regret.best = i;
  regret.of_solution = measured[chosen].iteration > 0;
  regret.regret = seconds(chosen) / seconds(regret.best) - 1;
  return regret;
}

}  // namespace femcg::solver

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mesh/locate.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"
#include "solver/coefficients/problem_data.hpp"

namespace femcg::solver {

/// Name and location of each point; no location on processes that leave it to another one.
using LocatedPoints = std::vector<std::pair<std::string, std::optional<mesh::Location>>>;

/// Finds the cells of points, which messages call a `kind` such as "probe". A point near a curved surface moves to its
/// nearest point, with its distance in `warnings` (locate_on_surface). Throws InputError, with their places, for points
/// outside the mesh. Collective, if several processes have parts of the mesh.
LocatedPoints locate_points(const std::vector<Probe>& points, std::string_view kind, const mesh::Mesh& mesh,
                            const operators::SharedDofs& shared = {}, std::vector<std::string>* warnings = nullptr);

}  // namespace femcg::solver

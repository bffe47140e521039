#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The unknowns of a process's cells and their local indices. Each is owned by the lowest-ranked process that has it;
/// those that another process owns, the ghosts, come last (as in DOLFINx's IndexMap).
///
/// In vectors all copies of an unknown have the same value: vector kernels compute ghosts as their owners do, so that
/// they send nothing, and a product adds up the contributions of all processes' cells (InterfaceSum) in its one
/// exchange.
struct IndexMap {
  /// Another process, and the unknowns that both have, in the same order on both.
  struct Neighbour {
    int rank;
    std::vector<std::int32_t> shared;
  };

  std::int32_t size() const { return static_cast<std::int32_t>(unknowns.size()); }
  std::int32_t ghosts() const { return size() - owned; }

  std::int32_t owned = 0;              ///< number of owned unknowns, the first ones
  std::int32_t first_shared = 0;       ///< first local index that other processes have too
  std::vector<std::int32_t> unknowns;  ///< indices in the form of this process
  std::vector<std::int64_t> numbers;   ///< global indices: contiguous for the owned unknowns of each process
  std::vector<int> owners;             ///< ranks, of the ghosts
  std::vector<Neighbour> neighbours;   ///< by ascending rank
};

/// Permutes a vector of the unknowns of a process's form to the order of the map, and back.
std::vector<double> to_map(std::span<const double> x, const IndexMap& map);
std::vector<double> from_map(std::span<const double> ordered, const IndexMap& map);

/// The unknowns of one process, in two parts that let communication and computation overlap. The interface part's
/// product comes first and has all contributions that other processes wait for; the interior part's product runs during
/// the exchange. The interior part's unknowns are the first of the map, the interface part's the last; some belong to
/// both.
struct Subdomain {
  IndexMap map;
  std::vector<std::int32_t> interior_unknowns;   ///< local indices of the interior part's unknowns, in its order
  std::vector<std::int32_t> interface_unknowns;  ///< of the interface part's: first_interface + i
  std::int32_t first_interface = 0;
};

/// Sets the unknowns of both parts, where the first `of_interior` of the map are the interior part's, which has them in
/// the order of IndexMap::unknowns.
void list_unknowns(std::int32_t of_interior, Subdomain& subdomain);

/// Some cells of a form as a form of its own, with its own unknowns.
struct FormPart {
  std::vector<std::int32_t> cells;  ///< indices in the mesh of the whole form, ascending
  std::unique_ptr<mesh::Mesh> mesh;
  std::unique_ptr<mesh::FunctionSpace> space;
  BilinearForm form;

  bool empty() const { return form.unknowns == 0; }
};

/// The form of one process, on its part of a mesh. Interface cells are those with an unknown that another process has
/// too. The interior part numbers its unknowns in the order of the form, to keep the locality.
struct FormSubdomain : Subdomain {
  FormPart interior, interface;

  std::int64_t cells() const { return std::ssize(interior.cells) + std::ssize(interface.cells); }
};

/// The subdomain of a form on a mesh part with these shared dofs. Diffusion and transfer coefficients are evaluated by
/// `form`, which must outlive the subdomain. Collective.
FormSubdomain subdomain_of(const BilinearForm& form, const SharedDofs& shared);

}  // namespace femcg::operators

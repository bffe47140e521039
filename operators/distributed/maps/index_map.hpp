#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The unknowns that a process has a number for: those of its cells. Each is owned by the lowest of the processes that
/// have it; those that another process owns, its ghosts, are numbered last (as in DOLFINx's IndexMap).
///
/// In vectors that go with it all copies of an unknown have the same value: passes over vectors compute the ghosts as
/// their owners do, so that nothing need be sent for them, and a product adds up what the cells of all processes
/// contribute (InterfaceSum), which is the one exchange that it takes.
struct IndexMap {
  /// Another process, and the unknowns that both have, in an order that is the same for both.
  struct Neighbour {
    int rank;
    std::vector<std::int32_t> shared;
  };

  std::int32_t size() const { return static_cast<std::int32_t>(unknowns.size()); }
  std::int32_t ghosts() const { return size() - owned; }

  std::int32_t owned = 0;              ///< of the numbers from 0 on
  std::int32_t first_shared = 0;       ///< from here on other processes have them as well
  std::vector<std::int32_t> unknowns;  ///< their numbers in the form of this process
  std::vector<std::int64_t> numbers;   ///< in the whole system: those of one process after the other that it owns
  std::vector<int> owners;             ///< of the ghosts
  std::vector<Neighbour> neighbours;   ///< by ascending rank
};

/// A vector of the unknowns of a process's form in the order of the map, and back.
std::vector<double> to_map(std::span<const double> x, const IndexMap& map);
std::vector<double> from_map(std::span<const double> ordered, const IndexMap& map);

/// The unknowns of one process, in two parts that overlap communication and computation. The product of the interface
/// part comes first: it has all contributions that other processes wait for. The interior part's product runs during
/// the exchange. The unknowns of the interior part are the first of the map, those of the interface part the last; some
/// belong to both.
struct Subdomain {
  IndexMap map;
  std::vector<std::int32_t> interior_unknowns;   ///< of the interior part, as it numbers them: their numbers in the map
  std::vector<std::int32_t> interface_unknowns;  ///< of the interface part: first_interface + i
  std::int32_t first_interface = 0;
};

/// Fills in the unknowns of both parts, of which the first so many of the map are the interior part's: that has them in
/// the order of IndexMap::unknowns.
void list_unknowns(std::int32_t of_interior, Subdomain& subdomain);

/// Some cells of a form as a form of its own, on unknowns of its own.
struct FormPart {
  std::vector<std::int32_t> cells;  ///< their numbers in that form's mesh, ascending
  std::unique_ptr<mesh::Mesh> mesh;
  std::unique_ptr<mesh::FunctionSpace> space;
  BilinearForm form;

  bool empty() const { return form.unknowns == 0; }
};

/// The form of one process, on its part of a mesh. Interface cells are those with an unknown that another process has,
/// too. The interior part numbers its unknowns as the form does: near cells, near unknowns.
struct FormSubdomain : Subdomain {
  FormPart interior, interface;

  std::int64_t cells() const { return std::ssize(interior.cells) + std::ssize(interface.cells); }
};

/// Collective. The subdomain of a form on a mesh part with these shared dofs. Diffusion and transfer are evaluated by
/// the form, which must outlive the subdomain.
FormSubdomain subdomain_of(const BilinearForm& form, const SharedDofs& shared);

}  // namespace femcg::operators

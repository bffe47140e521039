#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mesh/function_space.hpp"
#include "operators/distributed/shared_dofs.hpp"
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

/// Some cells of a form as a form of its own, on unknowns of its own.
struct FormPart {
  std::vector<std::int32_t> cells;     ///< their numbers in that form's mesh, ascending
  std::vector<std::int32_t> unknowns;  ///< the numbers of its unknowns in the map
  std::unique_ptr<mesh::Mesh> mesh;
  std::unique_ptr<mesh::FunctionSpace> space;
  BilinearForm form;

  bool empty() const { return form.unknowns == 0; }
};

/// The form of one process, on its part of a mesh, for products with others: the unknowns, and the cells in two parts.
/// Interface cells are those with an unknown that another process has, too. What is worked on first comes last: the
/// unknowns of interior cells are the first of the map, those of interface cells the last, and some are of both.
struct FormShare {
  IndexMap map;
  FormPart interior;   ///< has the first unknowns of the map, in the order in which the form has them: near cells, near
                       ///< unknowns
  FormPart interface;  ///< its unknown i is first_interface + i
  std::int32_t first_interface = 0;

  std::int64_t cells() const { return std::ssize(interior.cells) + std::ssize(interface.cells); }
};

/// Of a form on a mesh part, whose dofs are shared like that. Diffusion and transfer are asked from the form, which
/// must outlive the share. Together.
FormShare share_of(const BilinearForm& form, const SharedDofs& shared);

}  // namespace femcg::operators

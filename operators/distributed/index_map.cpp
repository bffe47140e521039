#include "operators/distributed/index_map.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "mesh/partition.hpp"

namespace femcg::operators {

namespace {

/// An unknown and a process that has it.
using Holder = std::pair<std::int32_t, std::int32_t>;

/// Calls work(unknown) for each unknown of a cell.
template <class Work>
void for_unknowns(const BilinearForm& form, std::int32_t cell, const Work& work) {
  for (int a = 0; a < form.dofs_per_cell(); ++a)
    if (const std::int32_t i = form.unknown(cell, a); i >= 0) work(i);
}

/// Who else has the unknowns of this process, by unknown and rank.
std::vector<Holder> other_holders(const BilinearForm& whole, std::span<const std::int32_t> process_of, int rank) {
  std::vector<char> mine(whole.unknowns, 0);
  for (std::int32_t cell = 0; cell < whole.cells(); ++cell)
    if (process_of[cell] == rank) for_unknowns(whole, cell, [&](std::int32_t i) { mine[i] = 1; });
  std::vector<Holder> holders;
  for (std::int32_t cell = 0; cell < whole.cells(); ++cell)
    if (process_of[cell] != rank)
      for_unknowns(whole, cell, [&](std::int32_t i) {
        if (mine[i] != 0) holders.emplace_back(i, process_of[cell]);
      });
  std::ranges::sort(holders);
  holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
  return holders;
}

/// Where an unknown of a process stands in its numbering: first those of interior cells alone, then those of both kinds
/// of cells, then those of interface cells alone; of these, last those that are shared, ghosts behind the owned ones.
enum class Place : std::uint8_t { none, interior, both, interface, shared, ghost };

std::vector<Place> places_of(const BilinearForm& whole, const FormShare& share, std::span<const Holder> others,
                             int rank) {
  std::vector<Place> places(whole.unknowns, Place::none);
  for (const std::int32_t cell : share.interior.cells)
    for_unknowns(whole, cell, [&](std::int32_t i) { places[i] = Place::interior; });
  for (const std::int32_t cell : share.interface.cells)
    for_unknowns(whole, cell, [&](std::int32_t i) {
      if (places[i] == Place::interior) places[i] = Place::both;
      if (places[i] == Place::none) places[i] = Place::interface;
    });
  for (const auto& [i, process] : others)
    places[i] = places[i] == Place::ghost || process < rank ? Place::ghost : Place::shared;
  return places;
}

/// Numbers the unknowns of a process, by place and then as they are numbered in the whole system.
void number(const std::vector<Place>& places, std::span<const Holder> others, FormShare& share) {
  IndexMap& map = share.map;
  const auto add = [&](Place wanted) {
    for (std::int32_t i = 0; i < std::ssize(places); ++i)
      if (places[i] == wanted) map.unknowns.push_back(i);
  };
  add(Place::interior);
  share.first_interface = map.size();
  add(Place::both);
  share.interior.form.unknowns = map.size();
  add(Place::interface);
  map.first_shared = map.size();
  add(Place::shared);
  map.owned = map.size();
  add(Place::ghost);
  share.interface.form.unknowns = map.size() - share.first_interface;
  std::map<std::int32_t, std::int32_t> local;
  for (std::int32_t i = map.first_shared; i < map.size(); ++i) local[map.unknowns[i]] = i;
  map.owners.assign(map.ghosts(), 0);
  std::map<int, std::vector<std::int32_t>> by_rank;
  for (auto other = others.rbegin(); other != others.rend(); ++other)  // the lowest rank comes last, and stays
    if (const std::int32_t i = local[other->first]; i >= map.owned) map.owners[i - map.owned] = other->second;
  for (const auto& [unknown, process] : others) by_rank[process].push_back(local[unknown]);
  for (auto& [process, shared] : by_rank) map.neighbours.push_back({process, std::move(shared)});
}

/// Makes the form of a part whose cells and number of unknowns are known; `local` is the number of each unknown of the
/// process, and `first` that of the part's first.
void make_form(const BilinearForm& whole, std::span<const std::int32_t> local, std::int32_t first, FormPart& part) {
  part.mesh = std::make_unique<mesh::Mesh>(mesh::mesh_of_cells(whole.space->mesh(), part.cells));
  part.space = std::make_unique<mesh::FunctionSpace>(*part.mesh, whole.space->degree());
  BilinearForm& form = part.form;
  form.space = part.space.get();
  form.quadrature = whole.quadrature;
  const auto cells = std::make_shared<const std::vector<std::int32_t>>(part.cells);
  form.diffusion = [&whole, cells](std::int32_t cell, std::span<const double> points, std::span<double> values) {
    whole.diffusion((*cells)[cell], points, values);
  };
  if (whole.constant_diffusion)
    form.constant_diffusion = [&whole, cells](std::int32_t cell) { return whole.constant_diffusion((*cells)[cell]); };
  form.unknown_of_dof.assign(part.space->dof_count(), -1);
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    for (int a = 0; a < form.dofs_per_cell(); ++a)
      if (const std::int32_t i = whole.unknown(part.cells[cell], a); i >= 0)
        form.unknown_of_dof[part.space->dofs(cell)[a]] = local[i] - first;
  for (const RobinFacet& facet : whole.robin)
    if (const auto at = std::ranges::lower_bound(part.cells, facet.cell); at != part.cells.end() && *at == facet.cell)
      form.robin.push_back({static_cast<std::int32_t>(at - part.cells.begin()), facet.facet, facet.transfer});
}

}  // namespace

FormShare share_of(const BilinearForm& whole, std::span<const std::int32_t> process_of, int rank) {
  FormShare share;
  const std::vector<Holder> others = other_holders(whole, process_of, rank);
  std::vector<char> is_shared(whole.unknowns, 0);
  for (const Holder& other : others) is_shared[other.first] = 1;
  for (std::int32_t cell = 0; cell < whole.cells(); ++cell) {
    if (process_of[cell] != rank) continue;
    bool at_interface = false;
    for_unknowns(whole, cell, [&](std::int32_t i) { at_interface = at_interface || is_shared[i] != 0; });
    (at_interface ? share.interface : share.interior).cells.push_back(cell);
  }
  number(places_of(whole, share, others, rank), others, share);
  std::vector<std::int32_t> local(whole.unknowns, -1);
  for (std::int32_t i = 0; i < share.map.size(); ++i) local[share.map.unknowns[i]] = i;
  make_form(whole, local, 0, share.interior);
  make_form(whole, local, share.first_interface, share.interface);
  return share;
}

}  // namespace femcg::operators

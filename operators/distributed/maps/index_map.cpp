#include "operators/distributed/maps/index_map.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "mesh/base/counting.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/parts/partition.hpp"

namespace femcg::operators {

namespace {

/// An unknown and the rank of a process that has it.
using Holder = std::pair<std::int32_t, std::int32_t>;

/// The other processes that have each unknown of this one, sorted by unknown and rank.
std::vector<Holder> other_holders(const BilinearForm& form, const SharedDofs& shared) {
  std::vector<Holder> holders;
  for (const SharedDofs::Neighbour& neighbour : shared.neighbours())
    for (const std::int32_t dof : neighbour.dofs)
      if (const std::int32_t i = form.unknown_of_dof[dof]; i >= 0) holders.emplace_back(i, neighbour.rank);
  std::ranges::sort(holders);
  return holders;
}

/// Class of an unknown in a process's numbering. The order is: unknowns of interior cells alone, of both kinds of
/// cells, of interface cells alone; among the latter shared ones last, and ghosts behind the owned ones.
enum Place : std::uint8_t { none, interior, both, interface, shared, ghost };

/// Places of the unknowns, as bytes, which several threads set to one value.
std::vector<std::uint8_t> places_of(const BilinearForm& form, const FormSubdomain& subdomain,
                                    std::span<const Holder> others, int rank) {
  std::vector<std::uint8_t> places = mesh::filled<std::uint8_t>(form.unknowns, none);
#pragma omp parallel for schedule(static)
  for (const std::int32_t cell : subdomain.interior.cells)
    form.for_unknowns(cell,
                      [&](std::int32_t i) { std::atomic_ref(places[i]).store(interior, std::memory_order_relaxed); });
  for (const std::int32_t cell : subdomain.interface.cells)
    form.for_unknowns(cell, [&](std::int32_t i) {
      if (places[i] == interior) places[i] = both;
      if (places[i] == none) places[i] = interface;
    });
  for (const auto& [i, process] : others) places[i] = places[i] == ghost || process < rank ? ghost : shared;
  return places;
}

/// Numbers the unknowns of a process by place, then in the order of the form.
void number(const std::vector<std::uint8_t>& places, FormSubdomain& subdomain) {
  IndexMap& map = subdomain.map;
  map.unknowns.reserve(places.size());
  mesh::fetch_pages(map.unknowns.data(), places.size() * sizeof(std::int32_t));
  const auto add = [&](Place wanted) {
    const auto found = mesh::collect<std::int32_t>(std::ssize(places), [&](std::int64_t i, auto& some) {
      if (places[i] == wanted) some.push_back(static_cast<std::int32_t>(i));
    });
    map.unknowns.insert(map.unknowns.end(), found.begin(), found.end());
  };
  add(interior);
  subdomain.first_interface = map.size();
  add(both);
  subdomain.interior.form.unknowns = map.size();
  add(interface);
  map.first_shared = map.size();
  add(shared);
  map.owned = map.size();
  add(ghost);
  subdomain.interface.form.unknowns = map.size() - subdomain.first_interface;
}

/// Local index of each unknown of the form.
std::vector<std::int32_t> numbers_of(const IndexMap& map) {
  std::vector<std::int32_t> numbers = mesh::filled<std::int32_t>(map.unknowns.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < map.size(); ++i) numbers[map.unknowns[i]] = i;
  return numbers;
}

/// Sets neighbours, owners of ghosts and global indices of the map. `local`: local index of each unknown of the form.
void meet_others(const BilinearForm& form, const SharedDofs& shared, std::span<const std::int32_t> local,
                 IndexMap& map) {
  std::vector<std::vector<std::int32_t>> lists;  // local indices shared with each neighbour
  for (const SharedDofs::Neighbour& neighbour : shared.neighbours()) {
    std::vector<std::int32_t>& list = lists.emplace_back();
    for (const std::int32_t dof : neighbour.dofs)
      if (const std::int32_t unknown = form.unknown_of_dof[dof]; unknown >= 0) list.push_back(local[unknown]);
    if (!list.empty()) map.neighbours.push_back({neighbour.rank, list});
  }
  map.owners.assign(map.ghosts(), 0);
  for (auto neighbour = map.neighbours.rbegin(); neighbour != map.neighbours.rend(); ++neighbour)
    for (const std::int32_t i : neighbour->shared)  // the lowest rank is set last
      if (i >= map.owned) map.owners[i - map.owned] = neighbour->rank;

  const auto owned = shared.gathered(std::vector{std::int64_t{map.owned}});
  std::int64_t first = 0;
  for (int rank = 0; rank < shared.rank(); ++rank) first += owned[rank].front();
  map.numbers = mesh::filled<std::int64_t>(map.unknowns.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < map.size(); ++i) map.numbers[i] = first + i;
  std::vector<std::vector<std::int64_t>> mine;
  for (const auto& list : lists) {
    std::vector<std::int64_t>& numbers = mine.emplace_back();
    for (const std::int32_t i : list) numbers.push_back(map.numbers[i]);
  }
  const auto theirs = shared.exchanged(mine);
  for (std::size_t k = 0; k < lists.size(); ++k)
    for (std::size_t at = 0; at < lists[k].size(); ++at)
      if (const std::int32_t i = lists[k][at];
          i >= map.owned && map.owners[i - map.owned] == shared.neighbours()[k].rank)
        map.numbers[i] = theirs[k][at];
}

/// Makes the form of a part with known cells, on these unknowns of the map.
void make_form(const BilinearForm& whole, const IndexMap& map, std::span<const std::int32_t> unknowns, FormPart& part) {
  std::vector<std::int32_t> number = mesh::filled<std::int32_t>(whole.unknowns, -1);  // index in the part, or -1
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < unknowns.size(); ++i) number[map.unknowns[unknowns[i]]] = static_cast<std::int32_t>(i);
  part.mesh = std::make_unique<mesh::Mesh>(mesh::mesh_of_cells(whole.space->mesh(), part.cells));
  part.space = std::make_unique<mesh::FunctionSpace>(*part.mesh, *whole.space, part.cells);
  BilinearForm& form = part.form;
  form.space = part.space.get();
  form.quadrature = whole.quadrature;
  const auto cells = std::make_shared<const std::vector<std::int32_t>>(part.cells);
  form.diffusion = whole.diffusion;
  form.diffusion.evaluate = [&whole, cells](std::int32_t cell, std::span<const double> points,
                                            std::span<double> values) {
    whole.diffusion.evaluate((*cells)[cell], points, values);
  };
  if (whole.diffusion.constant)
    form.diffusion.constant = [&whole, cells](std::int32_t cell) { return whole.diffusion.constant((*cells)[cell]); };
  form.unknown_of_dof = mesh::array_of<std::int32_t>(part.space->dof_count(), -1);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    const mesh::CellDofs dofs = part.space->dofs(cell);
    whole.for_nodes(part.cells[cell], [&](int a, std::int32_t i) {
      if (i >= 0) std::atomic_ref(form.unknown_of_dof[dofs[a]]).store(number[i], std::memory_order_relaxed);
    });
  }
  for (const RobinFacet& facet : whole.robin)
    if (const auto at = std::ranges::lower_bound(part.cells, facet.cell); at != part.cells.end() && *at == facet.cell)
      form.robin.push_back({static_cast<std::int32_t>(at - part.cells.begin()), facet.facet, facet.transfer});
}

}  // namespace

std::vector<double> to_map(std::span<const double> x, const IndexMap& map) {
  std::vector<double> ordered = mesh::filled<double>(map.unknowns.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < map.size(); ++i) ordered[i] = x[map.unknowns[i]];
  return ordered;
}

std::vector<double> from_map(std::span<const double> ordered, const IndexMap& map) {
  std::vector<double> x = mesh::filled<double>(map.unknowns.size());
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < map.size(); ++i) x[map.unknowns[i]] = ordered[i];
  return x;
}

void list_unknowns(std::int32_t of_interior, Subdomain& subdomain) {
  const std::vector<std::int32_t> numbers = numbers_of(subdomain.map);
  subdomain.interior_unknowns = mesh::collect<std::int32_t>(std::ssize(numbers), [&](std::int64_t unknown, auto& some) {
    if (numbers[unknown] < of_interior) some.push_back(numbers[unknown]);
  });
  subdomain.interface_unknowns.resize(subdomain.map.size() - subdomain.first_interface);
  std::iota(subdomain.interface_unknowns.begin(), subdomain.interface_unknowns.end(), subdomain.first_interface);
}

FormSubdomain subdomain_of(const BilinearForm& form, const SharedDofs& shared) {
  FormSubdomain subdomain;
  const std::vector<Holder> others = other_holders(form, shared);
  std::vector<char> is_shared = mesh::filled<char>(form.unknowns);
  for (const Holder& other : others) is_shared[other.first] = 1;
  const auto cells = [&](bool wanted) {
    return mesh::collect<std::int32_t>(form.cells(), [&](std::int64_t i, auto& some) {
      const auto cell = static_cast<std::int32_t>(i);
      bool at_interface = false;
      form.for_unknowns(cell, [&](std::int32_t unknown) { at_interface = at_interface || is_shared[unknown] != 0; });
      if (at_interface == wanted) some.push_back(cell);
    });
  };
  subdomain.interface.cells = cells(true);
  subdomain.interior.cells = cells(false);
  number(places_of(form, subdomain, others, shared.rank()), subdomain);
  meet_others(form, shared, numbers_of(subdomain.map), subdomain.map);
  list_unknowns(subdomain.interior.form.unknowns, subdomain);
  make_form(form, subdomain.map, subdomain.interior_unknowns, subdomain.interior);
  make_form(form, subdomain.map, subdomain.interface_unknowns, subdomain.interface);
  return subdomain;
}

}  // namespace femcg::operators

// Patches of cells cover a mesh, and a product over them equals that of the assembled matrix.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "mesh/element/lagrange_basis.hpp"
#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/cellwise/cell_loops/conflict_resolution.hpp"
#include "operators/cellwise/matrix_free/matrix_free_inputs.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "tests/forms.hpp"
#include "tests/gmsh.hpp"
#include "tests/locations.hpp"
#include "tests/threads.hpp"

using namespace femcg;
using namespace femcg::operators;
using femcg::tests::make_form;
using femcg::tests::SmallForm;
using femcg::tests::Threads;
using mesh::CellShape;

namespace {

std::vector<std::int32_t> unknowns_of(const CellPatches& patches, const CellPatch& patch) {
  std::vector<std::int32_t> unknowns;
  for (int place = 0; place < patch.unknown_count; ++place) unknowns.push_back(patches.unknown_of(patch, place));
  return unknowns;
}

/// True if cells of one colour of a patch share no unknown.
bool colours_apart(const CellPatches& patches, const CellPatch& patch) {
  for (int colour = 0, slot = 0; slot < patch.cells; ++colour) {
    std::vector<char> used(patch.unknown_count, 0);
    if (patches.colours[patch.first_slot + slot] != colour) return false;
    for (; slot < patch.cells && patches.colours[patch.first_slot + slot] == colour; ++slot)
      for (int a = 0; a < patches.dofs; ++a) {
        const int place = patches.local_indices[patches.place_index(patch.first_slot + slot, a)];
        if (place < patch.unknown_count && used[place]++) return false;
      }
  }
  return true;
}

void check_slots(const CellPatches& patches, const BilinearForm& form) {
  std::vector<int> visits(form.cells(), 0);
  std::int64_t slot = 0, mistaken = 0;
  for (const CellPatch& patch : patches.patches.span()) {
    REQUIRE(patch.first_slot == slot);
    for (int s = 0; s < patch.slots; ++s, ++slot) {
      const std::int32_t cell = patches.cell_of_slot[slot];
      REQUIRE((s < patch.cells) == (cell >= 0));
      if (cell >= 0) ++visits[cell];
      for (int a = 0; a < patches.places_per_slot(); ++a) {
        const int place = patches.local_indices[patches.place_index(slot, a)];
        const std::int32_t unknown = cell >= 0 && a < patches.dofs ? form.unknown(cell, a) : -1;
        mistaken += place > patch.unknown_count;
        mistaken +=
            (place == patch.unknown_count ? -1 : patches.unknown_at[patches.unknown_of(patch, place)]) != unknown;
      }
    }
    CHECK(colours_apart(patches, patch));
  }
  CHECK(mistaken == 0);
  CHECK(slot == patches.slots());
  CHECK(std::all_of(visits.begin(), visits.end(), [](int count) { return count == 1; }));
}

void check_unknowns(const CellPatches& patches, const PatchOptions& options) {
  std::vector<int> uses(patches.unknown_count, 0);
  for (const CellPatch& patch : patches.patches.span()) {
    CHECK(patch.cells >= 1);
    CHECK(patch.cells <= options.cells);
    CHECK(patch.unknown_count <= options.unknowns);
    CHECK(patch.unknown_count <= patches.most_unknowns);
    if (options.layout == CellLayout::interleaved) CHECK(patch.slots % CellPatches::group == 0);
    for (const std::int32_t i : unknowns_of(patches, patch)) ++uses[i];
  }
  std::vector<char> placed(patches.unknown_count, 0);
  for (const std::int32_t i : patches.unknown_at.span()) placed[i] = 1;
  CHECK(std::count(placed.begin(), placed.end(), 1) == patches.unknown_count);
  std::vector<std::vector<std::uint32_t>> expected(patches.unknown_count);
  std::int64_t contribution = 0, shared_but_private = 0, not_own = 0, next_own = 0;
  for (const CellPatch& patch : patches.patches.span()) {
    const auto list = unknowns_of(patches, patch);
    const auto shared = patches.shared_of(patch);
    for (int place = 0; place < patch.own_count; ++place) not_own += list[place] != next_own++;
    for (int place = patch.own_count; place < patch.unknown_count; ++place) not_own += expected[list[place]].empty();
    REQUIRE(patch.first_contribution == contribution);
    for (int place = 0; place < patch.unknown_count; ++place)
      shared_but_private += (place < patch.private_count) != (uses[list[place]] == 1);
    for (const std::int32_t i : shared) expected[i].push_back(static_cast<std::uint32_t>(contribution++));
  }
  CHECK(shared_but_private == 0);
  CHECK(not_own == 0);
  std::int64_t r = 0;
  for (std::int32_t i = 0; i < patches.unknown_count; ++i) {
    if (uses[i] == 1) continue;
    REQUIRE(patches.interface[r] == i);
    const std::vector<std::uint32_t> found(patches.contributions.data() + patches.interface_offsets[r],
                                           patches.contributions.data() + patches.interface_offsets[r + 1]);
    REQUIRE(found == expected[i]);
    ++r;
  }
  CHECK(r == patches.interface.size());
}

void check_colouring(const CellPatches& patches) {
  std::vector<int> visits(patches.patches.size(), 0);
  for (int colour = 0; colour < patches.colouring.colours(); ++colour) {
    std::vector<char> used(patches.unknown_count, 0);
    bool apart = true;
    for (std::int32_t k = patches.colouring.offsets[colour]; k < patches.colouring.offsets[colour + 1]; ++k) {
      const std::int32_t patch = patches.colouring.parts[k];
      ++visits[patch];
      for (const std::int32_t i : unknowns_of(patches, patches.patches[patch])) apart = apart && !used[i]++;
    }
    CHECK(apart);
  }
  CHECK(std::all_of(visits.begin(), visits.end(), [](int count) { return count == 1; }));
}

/// Checks the predecessors of each patch, derived from the patches at each unknown in the order of colours.
void check_order(const CellPatches& patches) {
  std::vector<std::vector<std::int32_t>> at(patches.unknown_count);
  for (std::int64_t k = 0; k < patches.patches.size(); ++k) {
    const std::int32_t patch = patches.colouring.parts[k];
    std::set<std::int32_t> expected;
    for (const std::int32_t i : unknowns_of(patches, patches.patches[patch])) {
      expected.insert(at[i].begin(), at[i].end());
      at[i].push_back(patch);
    }
    const std::set<std::int32_t> found(patches.earlier.data() + patches.earlier_offsets[k],
                                       patches.earlier.data() + patches.earlier_offsets[k + 1]);
    REQUIRE(found == expected);
  }
}

/// y = A x as the GPU computes it, in the order of patches and colours.
std::vector<double> product(const CellPatches& patches, const ElementMatrices& matrices,
                            const std::vector<double>& natural, ConflictResolution resolution) {
  std::vector<double> x(natural.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = natural[patches.unknown_at[static_cast<std::int64_t>(i)]];
  std::vector<double> y(patches.unknown_count, std::nan("")), contributions(patches.contributions.size(), std::nan(""));
  if (resolution != ConflictResolution::gather)
    for (const std::int32_t i : patches.interface.span()) y[i] = 0;
  for (std::int64_t k = 0; k < patches.patches.size(); ++k) {
    const CellPatch& patch =
        patches.patches[resolution == ConflictResolution::coloured ? patches.colouring.parts[k] : k];
    const auto list = unknowns_of(patches, patch);
    std::vector<double> x_patch(list.size() + 1, 0), y_patch(list.size() + 1, 0);
    for (std::size_t i = 0; i < list.size(); ++i) x_patch[i] = x[list[i]];
    for (std::int64_t slot = patch.first_slot; slot < patch.first_slot + patch.cells; ++slot)
      for (int i = 0; i < patches.dofs; ++i)
        for (int j = 0; j < patches.dofs; ++j) {
          const int low = std::min(i, j), high = std::max(i, j);
          y_patch[patches.local_indices[patches.place_index(slot, i)]] +=
              matrices.cell(patches.cell_of_slot[slot])[high * (high + 1) / 2 + low] *
              x_patch[patches.local_indices[patches.place_index(slot, j)]];
        }
    for (int i = 0; i < patch.private_count; ++i) y[list[i]] = y_patch[i];
    for (int i = patch.private_count; i < patch.unknown_count; ++i)
      if (resolution == ConflictResolution::gather)
        contributions[patch.first_contribution + i - patch.private_count] = y_patch[i];
      else
        y[list[i]] += y_patch[i];
  }
  if (resolution == ConflictResolution::gather)
    for (std::int64_t r = 0; r < patches.interface.size(); ++r) {
      y[patches.interface[r]] = 0;
      for (std::uint32_t k = patches.interface_offsets[r]; k < patches.interface_offsets[r + 1]; ++k)
        y[patches.interface[r]] += contributions[patches.contributions[k]];
    }
  std::vector<double> result(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) result[patches.unknown_at[static_cast<std::int64_t>(i)]] = y[i];
  return result;
}

void check_product(const CellPatches& patches, const BilinearForm& form) {
  const ElementMatrices matrices = assemble_element_matrices(form);
  const CsrMatrix<double> matrix = assemble<double>(form, matrices);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(form.unknowns), expected(form.unknowns, 0), magnitude(form.unknowns, 0);
  std::generate(x.begin(), x.end(), [&] { return uniform(random); });
  for (std::int32_t i = 0; i < form.unknowns; ++i)
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
      expected[i] += matrix.values[k] * x[matrix.columns[k]];
      magnitude[i] += std::abs(matrix.values[k] * x[matrix.columns[k]]);
    }
  const double largest = form.unknowns > 0 ? *std::max_element(magnitude.begin(), magnitude.end()) : 0;
  for (const ConflictResolution resolution :
       {ConflictResolution::atomic, ConflictResolution::coloured, ConflictResolution::gather}) {
    const std::vector<double> y = product(patches, matrices, x, resolution);
    double worst = 0;
    bool finite = true;
    for (std::int32_t i = 0; i < form.unknowns; ++i) {
      finite = finite && std::isfinite(y[i]);
      worst = std::max(worst, std::abs(y[i] - expected[i]));
    }
    CHECK(finite);
    CHECK(worst <= 1e-14 * 50 * largest);
  }
}

CellPatches check_all(const BilinearForm& form, PatchOptions options) {
  options.coloured = true;
  CellPatches patches = make_cell_patches(form, options);
  check_slots(patches, form);
  check_unknowns(patches, options);
  check_colouring(patches);
  check_order(patches);
  check_product(patches, form);
  return patches;
}

constexpr CellLayout layouts[] = {CellLayout::interleaved, CellLayout::cell_major};

}  // namespace

TEST_CASE("patches cover every cell once, number their unknowns and keep colours apart") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (const int degree : {1, 3})
      for (const CellLayout layout : layouts) {
        CAPTURE(mesh::name(shape));
        CAPTURE(degree);
        const SmallForm small = make_form(shape, degree, {7, 6, 4});
        check_all(small.form, {.cells = 20, .layout = layout});
        check_all(small.form, {.cells = 256, .unknowns = 300, .layout = layout});
      }
}

TEST_CASE("one cell, fewer cells than a patch, one cell a patch, and no unknown") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (const CellLayout layout : layouts) {
      check_all(make_form(shape, 2, {1, 1, 1}).form, {.layout = layout});
      check_all(make_form(shape, 2, {3, 2, 1}).form, {.layout = layout});
      const SmallForm small = make_form(shape, 2, {3, 2, 2});
      check_all(small.form, {.cells = 1, .unknowns = small.form.dofs_per_cell(), .layout = layout});
    }
  SmallForm small = make_form(CellShape::quadrilateral, 1, {4, 4, 1});
  std::fill(small.form.unknown_of_dof.begin(), small.form.unknown_of_dof.end(), -1);
  small.form.unknowns = 0;
  check_all(small.form, {});
}

TEST_CASE("rows of cells come in compact patches, in few colours") {
  const SmallForm small = make_form(CellShape::quadrilateral, 1, {64, 64, 1}, {.constrained = false});
  const CellPatches patches = check_all(small.form, {.cells = 64});
  // A square of eight by eight cells has 81 unknowns, 49 of them private; a strip 130, none private.
  for (const CellPatch& patch : patches.patches.span()) {
    CHECK(patch.unknown_count <= 96);
    CHECK(patch.private_count >= 36);
    CHECK(patches.colours[patch.first_slot + patch.cells - 1] <= 4);
  }
  std::int64_t private_unknowns = 0;
  for (const CellPatch& patch : patches.patches.span()) private_unknowns += patch.private_count;
  CHECK(patches.interface.size() == 65 * 65 - private_unknowns);
  CHECK(patches.colouring.colours() <= 7);
}

TEST_CASE("cells that come first do so in whole waves, and colours stay apart in them and among the others") {
  const SmallForm small = make_form(CellShape::tetrahedron, 2, {5, 4, 4});
  std::vector<char> first(static_cast<std::size_t>(small.form.cells()));
  for (std::size_t cell = 0; cell < first.size(); ++cell) first[cell] = cell % 7 < 4;
  const PatchOptions options{.cells = 100, .first = first, .wave = 32};
  const CellPatches patches = make_cell_patches(small.form, options);
  check_unknowns(patches, options);
  for (const CellPatch& patch : patches.patches.span()) {
    const auto comes_first = [&](int slot) { return first[patches.cell_of_slot[patch.first_slot + slot]] != 0; };
    int count = 0;
    for (int slot = 0; slot < patch.cells; ++slot) count += comes_first(slot);
    const int front = count / options.wave * options.wave;
    for (int slot = 0; slot < front; ++slot) CHECK(comes_first(slot));
    for (const auto& [begin, end] : {std::pair{0, front}, std::pair{front, int{patch.cells}}}) {
      const std::span<const std::uint8_t> colours =
          patches.colours.span().subspan(static_cast<std::size_t>(patch.first_slot + begin), end - begin);
      CHECK(std::ranges::is_sorted(colours));
      std::set<std::pair<int, int>> met;  // colour and local index
      for (int slot = begin; slot < end; ++slot)
        for (int a = 0; a < patches.dofs; ++a)
          if (const int place = patches.local_indices[patches.place_index(patch.first_slot + slot, a)];
              place < patch.unknown_count)
            CHECK(met.emplace(patches.colours[patch.first_slot + slot], place).second);
    }
  }
}

TEST_CASE("groups of slots of affine cells come first in each patch, and follow one another as their cells do") {
  const SmallForm small = make_form(CellShape::tetrahedron, 2, {11, 10, 6});
  std::vector<char> affine(static_cast<std::size_t>(small.form.cells()));
  for (std::size_t cell = 0; cell < affine.size(); ++cell) affine[cell] = cell % 4 != 0;
  constexpr int wave = 64, group = CellPatches::group;
  const CellPatches patches = make_cell_patches(small.form, {.cells = 66, .first = affine, .wave = wave});
  const MixedGroups groups = number_groups(patches, affine, wave);
  REQUIRE(groups.numbers.size() * group == patches.slots());
  int affine_behind_others = 0;
  for (const CellPatch& patch : patches.patches.span()) {
    bool front = true;
    for (int first = 0; first < patch.slots; first += wave) {
      const auto is_affine = [&](int slot) {
        const std::int32_t cell = patches.cell_of_slot[patch.first_slot + slot];
        return cell < 0 || affine[cell] != 0;
      };
      bool all = true;
      for (int slot = first; slot < std::min(first + wave, int{patch.slots}); ++slot) all = all && is_affine(slot);
      affine_behind_others += all && !front;
      front = front && all;
      for (int slot = first; slot < std::min(first + wave, int{patch.slots}); ++slot) {
        const std::int32_t number = groups.numbers[(patch.first_slot + slot) / group];
        CHECK((number < 0) == front);
        const Vector<std::int32_t>& cells = number < 0 ? groups.affine_cells : groups.other_cells;
        CHECK(cells[std::int64_t{number < 0 ? -1 - number : number} * group + slot % group] ==
              patches.cell_of_slot[patch.first_slot + slot]);
      }
    }
  }
  CHECK(affine_behind_others > 0);
}

TEST_CASE("a patch with more cells at one unknown than there are colours is divided") {
  // A single unknown, in the middle of every cell.
  SmallForm small = make_form(CellShape::triangle, 3, {20, 20, 1});
  std::fill(small.form.unknown_of_dof.begin(), small.form.unknown_of_dof.end(), -1);
  const int middle = small.space->basis().lattice().node(1, 1);
  for (std::int32_t cell = 0; cell < small.form.cells(); ++cell)
    small.form.unknown_of_dof[small.space->dofs(cell)[middle]] = 0;
  small.form.unknowns = 1;
  const CellPatches patches = make_cell_patches(small.form, {.cells = 2048});
  CHECK(patches.patches.size() == 4);
  check_slots(patches, small.form);
}

TEST_CASE("an unknown that no cell has is in the interface, with nothing to add") {
  SmallForm small = make_form(CellShape::triangle, 1, {3, 3, 1});
  const std::int32_t lonely = small.form.unknowns++;
  const CellPatches patches = make_cell_patches(small.form, {.cells = 4});
  CHECK(patches.interface[patches.interface.size() - 1] == lonely);
  CHECK(patches.interface_offsets[patches.interface.size() - 1] == patches.interface_offsets[patches.interface.size()]);
}

TEST_CASE("an unstructured mesh" * femcg::tests::needs_gmsh()) {
  mesh::GmshOptions options;
  options.file = femcg::tests::source_directory() / "cases/meshes/shaft_keyway.geo";
  SmallForm small;
  small.mesh = std::make_unique<mesh::Mesh>(mesh::read_gmsh(options));
  small.space = std::make_unique<mesh::FunctionSpace>(*small.mesh, 2);
  small.form.space = small.space.get();
  small.form.diffusion.evaluate = [](std::int32_t, std::span<const double>, std::span<double> values) {
    std::fill(values.begin(), values.end(), 1.0);
  };
  small.form.quadrature = 3;
  small.form.unknowns = small.space->dof_count();
  small.form.unknown_of_dof.resize(small.form.unknowns);
  for (std::int32_t i = 0; i < small.form.unknowns; ++i) small.form.unknown_of_dof[i] = i;
  for (const CellLayout layout : layouts) check_all(small.form, {.cells = 50, .layout = layout});
}

TEST_CASE("patches do not depend on the number of threads") {
  const SmallForm small = make_form(CellShape::tetrahedron, 2, {8, 7, 6});
  const auto made_by = [&](int threads) {
    const Threads so_many(threads);
    return make_cell_patches(small.form, {});
  };
  const CellPatches one = made_by(1), three = made_by(3);
  const auto same = [](const auto& a, const auto& b) {
    return std::equal(a.span().begin(), a.span().end(), b.span().begin(), b.span().end());
  };
  CHECK(same(one.cell_of_slot, three.cell_of_slot));
  CHECK(same(one.local_indices, three.local_indices));
  CHECK(same(one.shared, three.shared));
  CHECK(same(one.contributions, three.contributions));
}

TEST_CASE("the largest patch of boxes of degree 3 leaves a multiprocessor room for four blocks, and hardly more") {
  const auto small = make_form(CellShape::hexahedron, 3, {6, 5, 4}, {.robin = false, .varying = false, .distort = 0});
  const PatchOptions options = matrix_free_patches(small.form, CellGeometry::boxes, sizeof(double));
  constexpr std::int64_t of_multiprocessor = 228 * 1024, of_system = 1024, of_kernel = 256;
  const std::int64_t of_block = 2 * (options.unknowns + 1) * std::int64_t{sizeof(double)} + of_system + of_kernel;
  CHECK(4 * of_block <= of_multiprocessor);
  CHECK(50 * 4 * of_block > 49 * of_multiprocessor);
}

TEST_CASE("options out of range are refused") {
  const SmallForm small = make_form(CellShape::triangle, 1, {3, 3, 1});
  CHECK_THROWS_AS(make_cell_patches(small.form, {.cells = 0}), std::invalid_argument);
  CHECK_THROWS_AS(make_cell_patches(small.form, {.cells = 2049}), std::invalid_argument);
  CHECK_THROWS_AS(make_cell_patches(small.form, {.unknowns = 2}), std::invalid_argument);
  CHECK_THROWS_AS(make_cell_patches(small.form, {.unknowns = 65536}), std::invalid_argument);
}

// Any answer of Gmsh's process gives a mesh with valid indices, or is refused with a sentence. The bytes choose the
// numbers of a raw mesh, most of them valid.
// Seeds: tests/meshes/square.msh
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "mesh/gmsh/imported_mesh.hpp"
#include "mesh/element/reference_cell.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

namespace {

/// Output of a SharedWriter with numbers chosen by the fuzzer.
class Raw {
 public:
  explicit Raw(std::span<const std::uint8_t> choices) : choices_(choices) {}

  int choose(int count) {
    if (choices_.empty()) return 0;
    const int choice = choices_.front() % count;
    choices_ = choices_.subspan(1);
    return choice;
  }
  /// In 1 of 64 cases another number, possibly far off.
  std::int64_t bent(std::int64_t right) {
    if (choose(64) != 63) return right;
    constexpr std::int64_t wrong[]{-1, 0, 1, 5, 1 << 20, 2147483647, -2147483648LL, INT64_MAX, INT64_MIN};
    const int choice = choose(18);
    return choice < 9 ? wrong[choice] : right + choice - 13;
  }
  void number(std::int64_t value) {
    value = bent(value);
    words_.push_back(static_cast<std::uint64_t>(value));
  }
  template <class T>
  void array(const std::vector<T>& values) {
    number(static_cast<std::int64_t>(values.size()));
    const std::size_t first = words_.size();
    words_.resize(first + (values.size() * sizeof(T) + 7) / 8);
    if (!values.empty()) std::memcpy(words_.data() + first, values.data(), values.size() * sizeof(T));
  }
  void text(std::string_view text) { array(std::vector<char>(text.begin(), text.end())); }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(words_.data()), words_.size() * 8}; }

 private:
  std::span<const std::uint8_t> choices_;
  std::vector<std::uint64_t> words_;
};

/// Reference nodes of a complete element, in lattice order.
std::vector<double> reference_nodes(mesh::CellShape shape, int order) {
  const mesh::Lattice lattice(shape, order);
  std::vector<double> points;
  for (int a = 0; a < lattice.size(); ++a)
    for (int axis = 0; axis < mesh::dimension(shape); ++axis) {
      const double x = static_cast<double>(lattice.index(a)[axis]) / order;
      points.push_back(mesh::is_tensor(shape) ? 2 * x - 1 : x);
    }
  return points;
}

void put_type(Raw& raw, int type, std::string_view name, int dimension, int order, int nodes, int corners,
              const std::vector<double>& points) {
  raw.number(type);
  raw.text(name);
  for (const int value : {dimension, order, nodes, corners}) raw.number(value);
  raw.array(points);
}

void put_blocks(Raw& raw, int type, int nodes_per_element, int nodes) {
  const int blocks = raw.choose(3);
  raw.number(blocks);
  for (int b = 0; b < blocks; ++b) {
    raw.number(1 + b);
    raw.number(type);
    std::vector<std::uint64_t> tags(static_cast<std::size_t>((1 + raw.choose(4)) * nodes_per_element));
    for (std::uint64_t& tag : tags) tag = static_cast<std::uint64_t>(raw.bent(1 + raw.choose(nodes)));
    raw.array(tags);
  }
}

void put_mesh(Raw& raw) {
  using mesh::CellShape;
  const CellShape shape = mesh::all_cell_shapes[static_cast<std::size_t>(raw.choose(4))];
  const int dimension = mesh::dimension(shape), order = 1 + raw.choose(2), nodes = 4 + raw.choose(30);
  raw.number(0);
  raw.number(2);
  for (int g = 0; g < 2; ++g) {
    raw.number(dimension - g);
    raw.number(7 + g);
    raw.text(g == 0 ? "plate" : "rim");
    raw.array(std::vector<int>{1, raw.choose(4) - 2});
  }
  raw.number(1);
  raw.number(dimension);
  raw.number(1);
  raw.text("wing");
  raw.number(2);
  const std::vector<double> points = reference_nodes(shape, order);
  const int cell_nodes = mesh::lattice_size(shape, order), corners = mesh::lattice_size(shape, 1);
  put_type(raw, 2, "cell", dimension, order, cell_nodes, corners, points);
  const int facet_corners = dimension == 2 ? 2 : mesh::is_tensor(shape) ? 4 : 3;
  put_type(raw, 1, "facet", dimension - 1, 1, facet_corners, facet_corners,
           std::vector<double>(static_cast<std::size_t>(facet_corners * (dimension - 1))));
  std::vector<double> coordinates;
  for (int n = 0; n < 3 * nodes; ++n) coordinates.push_back(raw.choose(dimension == 2 && n % 3 == 2 ? 1 : 5));
  raw.array(coordinates);
  raw.number(dimension);
  put_blocks(raw, 2, cell_nodes, nodes);
  put_blocks(raw, 1, facet_corners, nodes);
  raw.array(std::vector<double>(static_cast<std::size_t>(raw.choose(3))));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Raw raw({data, size});
  put_mesh(raw);
  mesh::GmshOptions options;
  if (raw.choose(4) == 3) options.groups["near"] = {1 + raw.choose(3), {}, {}, {1, 0.5, 2}, {}};
  if (raw.choose(4) == 3) options.groups["wing"] = {1 + raw.choose(3), {}, {}, {}, "wing"};
  if (raw.choose(2) == 1)
    options.groups["left"] = {1 + raw.choose(2), {1}, [](double x, double, double) { return x < 1; }, {}, {}};
  try {
    mesh::SharedReader reader(raw.bytes());
    const mesh::RawMesh back = mesh::read_raw_mesh(reader);
    mesh::Mesh made = mesh::to_mesh(back, options);
    mesh::validate(made);
    for (const std::int32_t node : made.cell_nodes)
      tests::require(node >= 0 && node < made.node_count(), "nodes within the mesh");
    for (const std::int32_t region : made.cell_regions)
      tests::require(region >= 0 && region < static_cast<std::int32_t>(made.region_names.size()), "regions with names");
    for (const mesh::BoundaryGroup& group : made.boundaries)
      for (const mesh::BoundaryFacet& facet : group.facets)
        tests::require(facet.cell >= 0 && facet.cell < made.cell_count(), "facets of cells");
  } catch (const std::runtime_error& error) {
    tests::require_sentence(error.what());
  }
  return 0;
}

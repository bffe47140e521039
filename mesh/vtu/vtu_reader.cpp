#include "mesh/vtu/vtu_reader.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/geometry.hpp"
#include "mesh/vtu/vtu.hpp"

namespace femcg::mesh {

namespace {

constexpr const char* another_kind = "this is not a .vtu file as femcg writes it: appended, zlib-compressed blocks";

std::runtime_error damaged() { return std::runtime_error("the file is damaged"); }

std::string unescaped(std::string_view text) {
  constexpr std::pair<std::string_view, char> entities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
  std::string result;
  while (!text.empty()) {
    const auto entity =
        std::ranges::find_if(entities, [&](const auto& known) { return text.starts_with(known.first); });
    const bool found = entity != std::end(entities);
    result += found ? entity->second : text.front();
    text.remove_prefix(found ? entity->first.size() : 1);
  }
  return result;
}

/// Value of an attribute in <NAME key="value" ...>, if present.
std::optional<std::string> attribute(std::string_view tag, std::string_view key) {
  const std::size_t at = tag.find(fmt::format(" {}=\"", key));
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = at + key.size() + 3, end = tag.find('"', begin);
  if (end == std::string_view::npos) return std::nullopt;
  return unescaped(tag.substr(begin, end - begin));
}

template <class T>
T number(std::string_view tag, std::string_view key) {
  const std::string text = attribute(tag, key).value_or("");
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw damaged();
  return value;
}

/// Contents of the file up to the first byte of its arrays.
std::string read_header(std::istream& stream) {
  constexpr std::string_view mark = "<AppendedData encoding=\"raw\">\n_";
  constexpr std::size_t most = std::size_t{1} << 26;
  std::string header;
  std::vector<char> part(std::size_t{1} << 14);
  while (header.size() < most) {
    stream.read(part.data(), std::ssize(part));
    const std::size_t from = header.size() > mark.size() ? header.size() - mark.size() : 0;
    header.append(part.data(), static_cast<std::size_t>(stream.gcount()));
    if (const std::size_t at = header.find(mark, from); at != std::string::npos)
      return header.substr(0, at + mark.size());
    if (!stream) break;
  }
  throw std::runtime_error(another_kind);
}

/// Degree of cells with this number of points.
int degree_of(CellShape shape, std::int64_t nodes) {
  constexpr int most = 8;
  for (int degree = 1; degree <= most; ++degree)
    if (vtk_lagrange_points(shape, degree).cols() == nodes) return degree;
  throw std::runtime_error(fmt::format("its cells of {} points are not those of this mesh", nodes));
}

std::string point_text(const double* point) {
  return fmt::format("({:.9g}, {:.9g}, {:.9g})", point[0], point[1], point[2]);
}

/// Tolerance for the distance of equal points.
double same_within(const Mesh& mesh) {
  constexpr double relative = 1e-9;
  return relative * extent_of(mesh).largest();
}

/// Throws if the file's nodes of a cell differ from the mesh's; `values`: geometric basis at VTK's nodes.
void require_same_cell(const Mesh& mesh, std::int32_t cell, const Eigen::MatrixXd& values,
                       std::span<const std::int64_t> connectivity, std::span<const double> points, double within) {
  const int d = mesh.dimension();
  CellPoints nodes;
  mesh.write_points(cell, nodes.data());
  for (std::size_t k = 0; k < connectivity.size(); ++k) {
    std::array<double, 3> own{};
    for (int n = 0; n < mesh.nodes_per_cell(); ++n)
      for (int i = 0; i < d; ++i) own[i] += values(k, n) * nodes[n * d + i];
    const double* there = &points[3 * static_cast<std::size_t>(connectivity[k])];
    bool same = true;
    for (int i = 0; i < 3; ++i) same = same && std::abs(own[i] - there[i]) <= within;
    if (!same)
      throw std::runtime_error(fmt::format("it is of another mesh: a node of cell {} is at {}, here at {}", cell,
                                           point_text(there), point_text(own.data())));
  }
}

}  // namespace

VtuFile::VtuFile(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code error;
  size_ = std::filesystem::file_size(file_, error);  // a pipe has none
  std::ifstream stream;
  if (!error) stream.open(file_, std::ios::binary);
  if (!stream || error) throw std::runtime_error("the file cannot be read");
  const std::string header = read_header(stream);
  begin_ = header.size();
  std::string section;
  for (std::size_t begin = header.find('<'); begin != std::string::npos; begin = header.find('<', begin + 1)) {
    const std::size_t end = header.find('>', begin);
    if (end == std::string::npos) throw damaged();
    read_tag(header.substr(begin + 1, end - begin - 1), section);
  }
  if (cells_ <= 0 || points_ <= 0) throw damaged();
}

void VtuFile::read_tag(const std::string& tag, std::string& section) {
  const std::string name = tag.substr(0, tag.find_first_of(" />"));
  if (name == "VTKFile") {
    const char* order = std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian";
    if (attribute(tag, "type") != "UnstructuredGrid" || attribute(tag, "byte_order") != order ||
        attribute(tag, "header_type") != "UInt64" || attribute(tag, "compressor") != "vtkZLibDataCompressor")
      throw std::runtime_error(another_kind);
  } else if (name == "Piece") {
    if (cells_ != 0) throw std::runtime_error(another_kind);
    points_ = number<std::int64_t>(tag, "NumberOfPoints");
    cells_ = number<std::int64_t>(tag, "NumberOfCells");
  } else if (name == "DataArray") {
    arrays_.push_back({section, attribute(tag, "type").value_or(""), attribute(tag, "Name").value_or(""),
                       number<int>(tag, "NumberOfComponents"), number<std::uint64_t>(tag, "offset")});
  } else if (name == "Points" || name == "Cells" || name == "PointData" || name == "CellData") {
    section = name;
  }
}

const VtuFile::Array* VtuFile::find(const std::string& section, const std::string& name) const {
  const auto found =
      std::ranges::find_if(arrays_, [&](const Array& array) { return array.section == section && array.name == name; });
  return found == arrays_.end() ? nullptr : &*found;
}

std::vector<std::string> VtuFile::point_fields() const {
  std::vector<std::string> names;
  for (const Array& array : arrays_)
    if (array.section == "PointData" && array.components == 1) names.push_back(array.name);
  return names;
}

/// Reads an array of `count` entries as CompressedArray wrote it.
template <class T>
std::vector<T> VtuFile::read(const std::string& section, const std::string& name, const std::string& type,
                             int components, std::int64_t count) const {
  const Array* array = find(section, name);
  if (array == nullptr || array->type != type || array->components != components) throw damaged();
  std::ifstream stream(file_, std::ios::binary);
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * sizeof(T);
  const auto load = [&](void* to, std::uint64_t size) {
    if (!stream.read(static_cast<char*>(to), static_cast<std::streamsize>(size))) throw damaged();
  };
  if (array->offset > size_ || begin_ > size_ - array->offset) throw damaged();
  stream.seekg(static_cast<std::streamoff>(begin_ + array->offset));
  std::array<std::uint64_t, 3> header{};
  load(header.data(), sizeof header);
  const std::uint64_t blocks = header[0], block = header[1], rest = header[2];
  constexpr std::uint64_t largest_block = std::uint64_t{1} << 30;
  if (block == 0 || block > largest_block || rest >= block || blocks != (bytes + block - 1) / block ||
      rest != bytes % block)
    throw damaged();
  std::vector<std::uint64_t> sizes(blocks), begins(blocks + 1);
  load(sizes.data(), blocks * sizeof(std::uint64_t));
  for (std::uint64_t b = 0; b < blocks; ++b) {
    if (sizes[b] > size_ - begins[b]) throw damaged();
    begins[b + 1] = begins[b] + sizes[b];
  }
  std::vector<Bytef> compressed = filled<Bytef>(begins[blocks]);
  load(compressed.data(), begins[blocks]);
  std::vector<T> values = filled<T>(static_cast<std::size_t>(count));
  FirstFailure failure;
#pragma omp parallel for schedule(dynamic)
  for (std::uint64_t b = 0; b < blocks; ++b)
    failure.guard(static_cast<std::int64_t>(b), [&] {
      const std::uint64_t size = std::min(block, bytes - b * block);
      uLongf made = size;
      const int status = uncompress(reinterpret_cast<Bytef*>(values.data()) + b * block, &made,
                                    compressed.data() + begins[b], sizes[b]);
      if (status != Z_OK || made != size) throw damaged();
    });
  failure.rethrow();
  return values;
}

/// Number of nodes of each cell; throws unless all cells have this shape.
int VtuFile::nodes_of_cells(CellShape shape) const {
  const auto types = read<std::uint8_t>("Cells", "types", "UInt8", 1, cells_);
  const std::uint8_t type = types.front();
  const bool linear = type == vtk_cell_type(shape, CellKind::linear);
  if ((!linear && type != vtk_cell_type(shape)) || std::ranges::any_of(types, [&](auto of) { return of != type; }))
    throw std::runtime_error("its cells are of another shape than this mesh's");
  const auto offsets = read<std::int64_t>("Cells", "offsets", "Int64", 1, cells_);
  const std::int64_t nodes = offsets.front();
  for (std::int64_t cell = 0; cell < cells_; ++cell)
    if (offsets[cell] != (cell + 1) * nodes) throw damaged();
  if (degree_of(shape, nodes) != 1 && linear) throw damaged();
  return static_cast<int>(nodes);
}

std::vector<std::vector<double>> VtuFile::coefficients(std::span<const std::string> fields, const FunctionSpace& space,
                                                       const PartOfCells& part) const {
  const Mesh& mesh = space.mesh();
  if (cells_ != part.all)
    throw std::runtime_error(fmt::format("it is of another mesh, or of a part: {} cells, here {}", cells_, part.all));
  const std::vector<std::string> there = point_fields();
  for (const std::string& field : fields)
    if (std::ranges::find(there, field) == there.end())
      throw std::runtime_error(fmt::format("it has no field '{}': there {} {}", field, there.size() == 1 ? "is" : "are",
                                           there.empty() ? "none" : fmt::format("'{}'", fmt::join(there, "', '"))));
  const int nodes = nodes_of_cells(mesh.shape), degree = degree_of(mesh.shape, nodes);
  if (points_ > cells_ * nodes) throw damaged();
  const auto connectivity = read<std::int64_t>("Cells", "connectivity", "Int64", 1, cells_ * nodes);
  if (std::ranges::any_of(connectivity, [&](std::int64_t point) { return point < 0 || point >= points_; }))
    throw damaged();
  const auto points_of = [&](std::int64_t cell) {
    if (!part.numbers.empty()) cell = part.numbers[cell];
    return std::span(connectivity.data() + cell * nodes, static_cast<std::size_t>(nodes));
  };
  {
    const auto points = read<double>("Points", "Points", "Float64", 3, 3 * points_);
    const LagrangeBasis geometry(mesh.shape, mesh.order, NodeFamily::equispaced);
    const Eigen::MatrixXd at_vtk_points = geometry.values(vtk_lagrange_points(mesh.shape, degree));
    const double within = same_within(mesh);
    parallel_for(mesh.cell_count(), [&](std::int32_t cell) {
      require_same_cell(mesh, cell, at_vtk_points, points_of(cell), points, within);
    });
  }

  const std::vector<int> order = lattice_nodes_in_vtk_order(Lattice(mesh.shape, degree));
  const LagrangeBasis of_file(mesh.shape, degree, NodeFamily::equispaced);
  const Eigen::MatrixXd at_nodes = of_file.values(space.basis().nodes());
  const std::vector<std::int32_t> first_cell = first_cells(space);
  std::vector<std::vector<double>> results;
  for (const std::string& field : fields) {
    const auto values = read<double>("PointData", field, "Float64", 1, points_);
    std::vector<double>& result = results.emplace_back(filled<double>(static_cast<std::size_t>(space.dof_count())));
    struct Scratch {
      Eigen::VectorXd of_cell, own;
    };
    parallel_for(
        mesh.cell_count(),
        [&] {
          return Scratch{Eigen::VectorXd(nodes), Eigen::VectorXd(space.dofs_per_cell())};
        },
        [&](Scratch& at, std::int32_t cell) {
          const auto of = points_of(cell);
          for (int k = 0; k < nodes; ++k) at.of_cell[order[k]] = values[of[k]];
          if (!at.of_cell.allFinite())
            throw std::runtime_error(fmt::format("'{}' is not finite in cell {}", field, cell));
          at.own.noalias() = at_nodes * at.of_cell;
          const auto dofs = space.dofs(cell);
          for (std::size_t node = 0; node < dofs.size(); ++node)
            if (first_cell[dofs[node]] == cell) result[dofs[node]] = at.own[static_cast<Eigen::Index>(node)];
        });
  }
  return results;
}

}  // namespace femcg::mesh

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <Eigen/Dense>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include "mesh/base/atomic_file.hpp"
#include "mesh/box/box.hpp"
#include "mesh/vtu/vtu.hpp"
#include "tests/locations.hpp"

using namespace femcg::mesh;
namespace fs = std::filesystem;

namespace {

/// An empty directory, removed with its contents.
struct Directory {
  fs::path path = fs::temp_directory_path() / fmt::format("femcg_test_vtu_{}", ::getpid());
  Directory() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Directory() { fs::remove_all(path); }
};

/// Limits the size of files, which acts like a full disk.
struct FileSizeLimit {
  rlimit before;
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit now{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before); }
};

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}));
}

/// Message of the exception that `act` throws; empty if it does not throw.
template <class Act>
std::string message_of(const Act& act) {
  try {
    act();
  } catch (const std::system_error& error) {
    return error.what();
  }
  return "";
}

/// Sum of all monomials of total degree p, or of degree p in each coordinate; the same as in check_vtu.py.
double polynomial(bool tensor, int p, int d, const double* x) {
  double sum = 0;
  for (int a = 0; a <= p; ++a)
    for (int b = 0; b <= p; ++b)
      for (int c = 0; c <= (d == 3 ? p : 0); ++c)
        if (tensor || a + b + c <= p)
          sum += std::pow(x[0], a) * std::pow(x[1], b) * (d == 3 ? std::pow(x[2], c) : 1.0) / (1 + a + 2 * b + 3 * c);
  return sum;
}

Mesh box(CellShape shape, int cells, double distort) {
  return make_box({.shape = shape, .cells = {cells, cells, 2}, .size = {1.0, 2.0, 1.5}, .distort = distort});
}

/// The box with nodes of a higher order, bent by x += 0.15 y^order + 0.2 z^order, which preserves volumes.
Mesh bent_box(CellShape shape, int order) {
  Mesh mesh = box(shape, 2, 0.0);
  const FunctionSpace nodes(mesh, order, NodeFamily::equispaced);
  std::vector<double> points = nodes.dof_points();
  const int d = mesh.dimension();
  for (std::size_t k = 0; k < points.size(); k += d) {
    double* x = &points[k];
    x[0] += 0.15 * std::pow(x[1], order);
    if (d == 3) x[0] += 0.2 * std::pow(x[2], order);
  }
  const Array<std::int32_t> dofs = nodes.list_dofs();
  std::vector<std::int32_t> cell_nodes(dofs.begin(), dofs.end());
  mesh.order = order;
  mesh.coordinates = std::move(points);
  mesh.cell_nodes = std::move(cell_nodes);
  return mesh;
}

/// Writes the polynomial on the mesh at one degree, and its line of the manifest.
void write_case(const fs::path& directory, std::ostream& manifest, const Mesh& mesh, int degree, bool tensor,
                int polynomial_degree) {
  static int number = 0;
  const FunctionSpace space(mesh, degree);
  const std::vector<double> points = space.dof_points();
  std::vector<double> u(space.dof_count());
  for (std::size_t dof = 0; dof < u.size(); ++dof)
    u[dof] = polynomial(tensor, polynomial_degree, mesh.dimension(), &points[dof * mesh.dimension()]);
  std::vector<std::int32_t> regions(mesh.cell_count());
  for (std::size_t cell = 0; cell < regions.size(); ++cell) regions[cell] = static_cast<std::int32_t>(cell % 3);

  const std::string file = fmt::format("{}.vtu", ++number);
  const PointField field{"u", u};
  const CellField region{"region", regions};
  write_vtu(directory / file, space, {&field, 1}, {&region, 1});
  manifest << fmt::format("file {} {} {} {} {} {}\n", file, name(mesh.shape), degree, tensor ? "tensor" : "total",
                          polynomial_degree,
                          mesh.order == 1        ? "straight"
                          : mesh.order <= degree ? "curved"
                                                 : "nodes");
}

void write_order(std::ostream& manifest, CellShape shape, int degree) {
  const Eigen::MatrixXd points = vtk_lagrange_points(shape, degree);
  manifest << fmt::format("order {} {} {:.17g}\n", name(shape), degree, fmt::join(points.reshaped(), " "));
}

}  // namespace

TEST_CASE("VTK reads polynomials of the space's degree back, between the nodes") {
  const Directory directory;
  std::ofstream manifest(directory.path / "manifest");
  for (const CellShape shape : all_cell_shapes) {
    for (int degree = 1; degree <= 6; ++degree) write_order(manifest, shape, degree);
    for (int degree = 1; degree <= max_degree; ++degree) {
      write_case(directory.path, manifest, box(shape, dimension(shape) == 2 ? 3 : 2, 0.2), degree, false, degree);
      if (is_tensor(shape)) write_case(directory.path, manifest, box(shape, 2, 0.0), degree, true, degree);
      // A polynomial of degree q in space has degree q * order on the reference cell.
      for (int order = 2; order <= degree; ++order)
        write_case(directory.path, manifest, bent_box(shape, order), degree, false, degree / order);
    }
    // Below the degree of the geometry, at least the nodes are on the curve; up to degree 2 they are also those of the
    // basis.
    for (int degree = 1; degree <= 2; ++degree)
      write_case(directory.path, manifest, bent_box(shape, 3), degree, false, 4);
  }
  manifest.close();

  const std::string python = FEMCG_VTK_PYTHON;
  REQUIRE_MESSAGE(!python.empty(),
                  "no Python has VTK, which must read our files: install python3-vtk9, configure again");
  const std::string command = fmt::format("'{}' '{}/tests/check_vtu.py' '{}'", python,
                                          femcg::tests::source_directory().string(), directory.path.string());
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("VTK's first nodes, by hand") {
  const Eigen::MatrixXd quadrilateral = vtk_lagrange_points(CellShape::quadrilateral, 2);
  const Eigen::MatrixXd expected{{0, 1, 1, 0, 0.5, 1, 0.5, 0, 0.5}, {0, 0, 1, 1, 0, 0.5, 1, 0.5, 0.5}};
  CHECK(quadrilateral == expected);
  for (const CellShape shape : all_cell_shapes)
    for (int degree = 1; degree <= 8; ++degree) {
      const Eigen::MatrixXd points = vtk_lagrange_points(shape, degree);
      CHECK(points.cols() == lattice_size(shape, degree));
      for (Eigen::Index n = 1; n < points.cols(); ++n)
        CHECK((points.leftCols(n).colwise() - points.col(n)).colwise().norm().minCoeff() > 0.5 / degree);
    }
}

TEST_CASE("a field of another length is refused") {
  const Mesh mesh = box(CellShape::triangle, 2, 0.0);
  const FunctionSpace space(mesh, 2);
  const std::vector<double> u(3);
  const PointField field{"u", u};
  CHECK_THROWS_AS(write_vtu("never.vtu", space, {&field, 1}, {}), std::invalid_argument);
  CHECK_FALSE(fs::exists("never.vtu"));
}

TEST_CASE("a file is written whole or not at all") {
  const Directory directory;
  const fs::path file = directory.path / "file";

  SUBCASE("small and large pieces, in order") {
    std::string expected;
    for (int i = 0; i < 30000; ++i) expected += std::to_string(i);
    const std::string large(200000, 'x');
    write_atomically(file, [&](std::ostream& stream) {
      for (int i = 0; i < 30000; ++i) stream << i;
      stream << large << 'y';
    });
    expected += large + 'y';
    CHECK(content(file) == expected);
    CHECK(entries(directory.path) == 1);
  }
  SUBCASE("an earlier file stays when the writer gives up") {
    write_atomically(file, "earlier");
    CHECK_THROWS_AS(write_atomically(file,
                                     [](std::ostream& stream) {
                                       stream << std::string(1 << 20, 'x');
                                       throw std::runtime_error("enough");
                                     }),
                    std::runtime_error);
    CHECK(content(file) == "earlier");
    CHECK(entries(directory.path) == 1);
    write_atomically(file, "later");
    CHECK(content(file) == "later");
  }
  SUBCASE("no room") {
    write_atomically(file, "earlier");
    const FileSizeLimit limit(100000);
    const std::string message = message_of([&] {
      write_atomically(file, [](std::ostream& stream) {
        for (int i = 0; i < 1000; ++i) stream << std::string(1000, 'x') << i;
      });
    });
    CHECK(message == fmt::format("cannot write {}: File too large", file.string()));
    CHECK(content(file) == "earlier");
    CHECK(entries(directory.path) == 1);
  }
  SUBCASE("no room for the last bytes") {
    const FileSizeLimit limit(0);
    CHECK(message_of([&] { write_atomically(file, "x"); }) ==
          fmt::format("cannot write {}: File too large", file.string()));
    CHECK(entries(directory.path) == 0);
  }
  SUBCASE("a missing directory") {
    const fs::path lost = directory.path / "missing" / "file";
    const std::string message = message_of([&] { write_atomically(lost, "x"); });
    CHECK(message == fmt::format("cannot write {}: No such file or directory", lost.string()));
  }
  SUBCASE("a directory in its place") {
    const std::string message = message_of([&] { write_atomically(directory.path, "x"); });
    CHECK(message == fmt::format("cannot write {}: Is a directory", directory.path.string()));
  }
  SUBCASE("a device is not replaced") {
    CHECK(message_of([] { write_atomically("/dev/null", "x"); }).starts_with("cannot write /dev/null: "));
    CHECK(fs::is_character_file("/dev/null"));
  }
  SUBCASE("a link is followed") {
    write_atomically(file, "earlier");
    fs::create_symlink("file", directory.path / "link");
    write_atomically(directory.path / "link", "later");
    CHECK(fs::is_symlink(directory.path / "link"));
    CHECK(content(file) == "later");
  }
}

// Tensors for diffusion, through the program: cases with formulas, fluxes, several processes, wrong input.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/program.hpp"

using namespace femcg::tests;

namespace {

/// result.json of a run.
nlohmann::json result_of(const std::string& case_file, const std::string& arguments, const std::string& before = {}) {
  const Result made = shell(before + "$femcg run " + case_file + " --quiet --threads 2 --set solver.device=cpu " +
                            "--output made " + arguments + " && cat made/result.json");
  REQUIRE_MESSAGE(made.status == 0, made.err);
  return nlohmann::json::parse(made.out);
}

/// The double cosine series of cases/laminate.yaml at (x, y, z): each mode A(z) cos(ax) cos(by) has kappa_zz A'' =
/// kappa_xx (a^2 + b^2) A, kappa_zz A' = 40 A below, and the mode of the chip's flux above.
double board(double x, double y, double z) {
  constexpr double length = 0.08, width = 0.06, height = 0.0016, along = 18, across = 0.35, transfer = 40, flux = 5000;
  constexpr int modes = 800;
  const auto mode = [](int m, double size, double from, double to) {
    const double a = m * M_PI / size;
    return m == 0 ? (to - from) / size : 2 / (m * M_PI) * (std::sin(a * to) - std::sin(a * from));
  };
  double sum = 0;
  for (int m = 0; m < modes; ++m)
    for (int n = 0; n < modes; ++n) {
      const double a = m * M_PI / length, b = n * M_PI / width,
                   of_flux = flux * mode(m, length, 0.03, 0.05) * mode(n, width, 0.02, 0.04);
      if (m + n == 0) {
        sum += of_flux * (1 / transfer + z / across);
        continue;
      }
      const double g = std::sqrt(along * (a * a + b * b) / across), r = transfer / (across * g);
      // (cosh gz + r sinh gz) / (g (sinh gh + r cosh gh)), without overflow.
      const double shape = (std::exp(g * (z - height)) * (1 + r) + std::exp(-g * (z + height)) * (1 - r)) /
                           (across * g * ((1 + r) - std::exp(-2 * g * height) * (1 - r)));
      sum += of_flux * shape * std::cos(a * x) * std::cos(b * y);
    }
  return sum;
}

}  // namespace

TEST_CASE("a printed circuit board is as warm as its cosine series, with every preconditioner") {
  const std::string board_case = "'" + (source_directory() / "cases/laminate.yaml").string() + "'";
  for (const std::string preconditioner : {"jacobi", "multigrid", "tensor"}) {
    CAPTURE(preconditioner);
    const auto result = result_of(board_case, "--set solver.preconditioner=" + preconditioner);
    const auto& probes = result["quantities"]["probes"];
    CHECK(probes["chip"].get<double>() == doctest::Approx(board(0.04, 0.03, 0.0016)).epsilon(2e-5));
    CHECK(probes["below"].get<double>() == doctest::Approx(board(0.04, 0.03, 0)).epsilon(2e-5));
    CHECK(probes["corner"].get<double>() == doctest::Approx(board(0, 0, 0)).epsilon(2e-5));
    CHECK(std::abs(result["quantities"]["balance"]["relative_error"].get<double>()) < 1e-9);
    const int iterations = result["solve"]["iterations"].get<int>();
    if (preconditioner == "multigrid") CHECK(iterations <= 8);
    if (preconditioner == "tensor") CHECK(iterations == 1);
  }
}

TEST_CASE("a strip cut at 30 degrees from a laminate: heat along it raises u across it") {
  // kappa = R diag(7, 0.7, 0.7) R': with the flux (1000, 0, 0) everywhere, grad u = kappa^-1 (1000, 0, 0).
  const double c = std::sqrt(0.75), s = 0.5, along = 1000 * (c * c / 7 + s * s / 0.7),
               across = 1000 * c * s * (1 / 7.0 - 1 / 0.7);
  for (const std::string cell : {"triangle", "quadrilateral", "tetrahedron", "hexahedron"})
    for (const std::string op : {"csr", "lma-gather", "matrix-free"}) {
      CAPTURE(cell);
      CAPTURE(op);
      const bool flat = cell == "triangle" || cell == "quadrilateral";
      const std::string strip =
          "mesh: {box: {cells: [8, 4" + std::string(flat ? "" : ", 2") + "], size: [0.1, 0.02" +
          (flat ? "" : ", 0.01") + "], cell: " + cell +
          ", distort: 0.1}}\ndegree: 1\nequation:\n  diffusion: {xx: 7, yy: 0.7, " +
          (flat ? "axes: [[0.8660254037844386, 0.5]]}" : "zz: 0.7, axes: [[0.8660254037844386, 0.5, 0], [0, 0, 1]]}") +
          "\nboundary:\n  left: {value: " + std::to_string(across) + "*y}\n  right: {flux: 1000}\n" +
          "solver: {tolerance: 1e-13}\noutput: {probes: {end: [0.1, 0.01" + (flat ? "" : ", 0.003") + "]}}\n";
      const auto quantities =
          result_of("case.yaml", "--set solver.operator=" + op, file("case.yaml", strip))["quantities"];
      CHECK(quantities["probes"]["end"].get<double>() == doctest::Approx(0.1 * along + 0.01 * across).epsilon(1e-6));
      const double area = flat ? 0.02 : 0.02 * 0.01;
      CHECK(quantities["flux"]["left"].get<double>() == doctest::Approx(-1000 * area).epsilon(1e-6));
      for (const std::string side : {"top", "bottom"})
        CHECK(std::abs(quantities["flux"][side].get<double>()) < 1e-5 * 1000 * area);
    }
}

TEST_CASE("fields of the flux are -kappa grad u, at nodes and recovered") {
  const std::string strip =
      "mesh: {box: {cells: [4, 4], distort: 0.1}}\ndegree: 2\nequation: {diffusion: {xx: 2, xy: 1, yy: 3}}\n"
      "boundary: {all: {value: x + 2*y}}\nsolver: {tolerance: 1e-13}\noutput: {fields: [u, flux, recovered_flux]}\n";
  // grad u = (1, 2): kappa grad u = (4, 7).
  for (const std::string field : {"flux", "recovered_flux"})
    CHECK(shell(file("case.yaml", strip) + "$femcg run case.yaml --quiet --set solver.device=cpu --output made && '" +
                FEMCG_VTK_PYTHON + "' '" + (source_directory() / "tests/check_fields.py").string() +
                "' values made/solution.vtu " + field + " '0*x - 4' '0*x - 7' '0*x'")
              .status == 0);
}

TEST_CASE("regions of a tensor and of a number: as a tensor with the number on its diagonal") {
  const std::string mesh =
      "mesh: {box: {cells: [6, 5, 4], cell: hexahedron}}\ndegree: 2\nboundary: {left: {value: 0}, top: {flux: x}, "
      "right: {transfer: 2, ambient: 1}}\nsolver: {preconditioner: multigrid, tolerance: 1e-12}\n"
      "output: {probes: {p: [0.7, 0.4, 0.6]}}\n";
  const auto probe = [&](const std::string& diffusion, const std::string& arguments = {}) {
    return result_of(
               "case.yaml", arguments,
               file("case.yaml", mesh + "equation: {diffusion: " + diffusion + "}\n"))["quantities"]["probes"]["p"]
        .get<double>();
  };
  CHECK(probe("3 + x") == doctest::Approx(probe("{xx: 3 + x, yy: 3 + x, zz: 3 + x}")).epsilon(1e-9));
  CHECK(probe("{box: {xx: 3, yy: 1, zz: 2, xy: 0.5}}") == doctest::Approx(probe("{xx: 3, yy: 1, zz: 2, xy: 0.5}")));
  // The axes turned by 90 degrees about z.
  CHECK(probe("{xx: 3, yy: 1, zz: 2, xz: 0.5}") ==
        doctest::Approx(probe("{xx: 1, yy: 3, zz: 2, yz: 0.5, axes: [[0, -1, 0], [1, 0, 0]]}")).epsilon(1e-9));
  for (const std::string op : {"csr", "sell", "lma-gather", "matrix-free"})
    CHECK(probe("{xx: 3, yy: 1, zz: 2, xy: 0.5, yz: 0.3*x}", "--set solver.operator=" + op) ==
          doctest::Approx(probe("{xx: 3, yy: 1, zz: 2, xy: 0.5, yz: 0.3*x}")).epsilon(1e-9));
}

TEST_CASE("multigrid needs few iterations however much better one axis conducts, with the axes of a box or others") {
  const auto iterations = [](const std::string& cell, const std::string& diffusion) {
    const std::string text = "mesh: {box: {cells: [12, 12, 12], cell: " + cell +
                             "}}\ndegree: 2\nequation: {source: 1, " + "diffusion: " + diffusion +
                             "}\nboundary: {all: {value: 0}}\n" +
                             "solver: {preconditioner: multigrid, tolerance: 1e-8}\n";
    return result_of("case.yaml", "", file("case.yaml", text))["solve"]["iterations"].get<int>();
  };
  for (const std::string cell : {"hexahedron", "tetrahedron"}) {
    CAPTURE(cell);
    CHECK(iterations(cell, "{xx: 10, yy: 1, zz: 1}") <= 20);
    CHECK(iterations(cell, "{xx: 1, yy: 100, zz: 1}") <= 20);
    CHECK(iterations(cell, "{xx: 10, yy: 1, zz: 1, axes: [[1, 1, 0], [0, 0, 1]]}") <= 20);
  }
}

TEST_CASE("wrong tensors are refused with file, line and what would be right") {
  const auto problem = [](const std::string& diffusion, const std::string& cells = "[4, 4, 4], cell: hexahedron") {
    const Result made = shell(file("case.yaml", "mesh: {box: {cells: " + cells + "}}\nboundary: {left: {value: 0}}\n" +
                                                    "equation:\n  diffusion: " + diffusion + "\n") +
                              "$femcg run case.yaml --set solver.device=cpu");
    CHECK(made.status == 2);
    return made.err;
  };
  const std::string flat = "[4, 4]";
  CHECK(contains(problem("{xx: 1, zz: 2}"), "case.yaml:4:3: equation.diffusion has no yy; a tensor has xx, yy and zz"));
  CHECK(contains(problem("{xx: 1, yy: 2}"), "case.yaml:4:3: equation.diffusion has no zz"));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: 1}", flat),
                 "case.yaml:4:33: equation.diffusion.zz: a tensor in the plane has the entries xx, yy, xy"));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: 1, xy: 2}"),
                 "case.yaml:4:3: equation.diffusion must be positive definite, but its least eigenvalue is -1"));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: x - 0.5}"), "its least eigenvalue is -0."));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: x - 0.5}"), " at the point (0."));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: 1, kx: 2}"), "unknown key 'equation.diffusion.kx'"));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: 1/(x - x)}"), "is not finite"));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: [1]}"),
                 "equation.diffusion.zz must be a number or an expression in x, y, z, not a list"));
  CHECK(contains(problem("{box: {xx: 1, yy: 1}}"), "equation.diffusion.box has no zz"));
  CHECK(contains(problem("{box: {}}"), "equation.diffusion.box"));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: 1, axes: [[1, 0, 0], [2, 0, 0]]}"),
                 "equation.diffusion.axes must be directions that are not zero or parallel"));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: 1, axes: [[1, 1]]}"),
                 "equation.diffusion.axes must be two directions in space, such as [[1, 1, 0], [0, 0, 1]]"));
  CHECK(contains(problem("{xx: 1, yy: 1, axes: [[1, 1, 0], [0, 0, 1]]}", flat),
                 "equation.diffusion.axes must be one direction in the plane, such as [[1, 1]]"));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: 1, axes: 30}"), "equation.diffusion.axes must be a list of directions"));
  CHECK(contains(problem("{xx: 1, yy: 1, zz: 1, axes: [[1, 0, 0, 0], [0, 1, 0]]}"),
                 "equation.diffusion.axes[0] must be a direction of 2 or 3 numbers"));
  CHECK(contains(problem("[1, 2, 3]"),
                 "equation.diffusion must be a number, an expression in x, y, z, a tensor such as {xx: 5, yy: 5, zz: "
                 "0.5}, or a map of them by region, not a list"));
}

// solution.vtu written by a thread of its own from before there is a solution: the same file as afterwards, or none.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "mesh/base/atomic_file.hpp"
#include "mesh/box/box.hpp"
#include "solver/fields/background_file.hpp"
#include "solver/fields/solution_pieces.hpp"
#include "tests/problems.hpp"
#include "tests/threads.hpp"

namespace fs = std::filesystem;
using namespace femcg;
using namespace femcg::tests;
using solver::OutputField;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("femcg_test_file_ahead_{}", ::getpid());
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

/// A case with two loads, and a solution of each that means nothing.
struct TwoLoads {
  explicit TwoLoads(const std::vector<OutputField>& fields) {
    made = make_case(2, "1", "1");
    made.problem.boundary = {value_on("left", "0")};
    const solver::LoadData load{"one", made.problem.source, made.problem.boundary};
    made.problem.loads = {load, load};
    made.problem.loads[1].name = "other";
    made.output.fields = fields;
    problem = std::make_unique<solver::Problem>(made.problem, space);
    std::mt19937 random(7);
    for (std::vector<double>& solution : solutions) {
      solution.resize(static_cast<std::size_t>(space.dof_count()));
      for (double& u : solution) u = std::uniform_real_distribution<double>(-1, 1)(random);
    }
  }
  /// The file that is written afterwards.
  std::string expected(std::size_t count) const {
    solver::SolutionFile file(made.output, made.solution, *problem);
    file.prepare(std::span(solutions).first(count));
    std::stringstream stream;
    file.write(stream, count);
    return stream.str();
  }

  mesh::Mesh mesh = mesh::make_box({mesh::CellShape::hexahedron, {5, 4, 3}, {1, 1, 1}, 0.1});
  mesh::FunctionSpace space{mesh, 2};
  solver::Case made;
  std::unique_ptr<solver::Problem> problem;
  std::vector<std::vector<double>> solutions{2};
};

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a file that was begun before there was a solution is the one that is written afterwards") {
  const Threads threads(4);
  for (const std::vector<OutputField>& fields :
       {std::vector{OutputField::u}, {OutputField::u, OutputField::flux}, {OutputField::recovered_gradient}})
    for (const std::size_t count : {1, 2}) {  // where the user wanted an end, one
      INFO("fields from " << static_cast<int>(fields.front()) << ", solutions " << count);
      const TwoLoads of(fields);
      const Folder folder;
      {
        mesh::FileGroup files(folder.path);
        solver::SolutionFile file(of.made.output, of.made.solution, *of.problem);
        solver::BackgroundFile ahead(files, file);
        ahead.begin(2);
        file.prepare(std::span(of.solutions).first(count));
        ahead.finish(count);
        files.add("result.json", "{}");
        files.put_in_place();
      }
      CHECK(content(folder.path / "solution.vtu") == of.expected(count));
    }
}

TEST_CASE("so is a piece of a process, at the solution's degree or another, with an exact solution") {
  const Threads threads(4);
  for (const std::optional<int> degree : {std::optional<int>(), std::optional(1)})
    for (const std::size_t count : {1, 2}) {
      TwoLoads of({OutputField::u});
      of.made.output.degree = degree;
      of.made.problem.exact = solver::Field{solver::Expression("x+y*z", "test"), {}, {}};
      const auto solutions = std::span<const std::vector<double>>(of.solutions).first(count);
      const std::string expected =
          solver::SolutionPiece(of.made.output, of.made.solution, *of.problem, 3).text(solutions);
      CHECK(expected.size() > 1000);
      solver::SolutionPiece piece(of.made.output, of.made.solution, *of.problem, 3);
      piece.begin(2);
      CHECK(piece.text(solutions) == expected);
      solver::SolutionPiece(of.made.output, of.made.solution, *of.problem, 3).begin(2);  // and nobody waits
    }
}

TEST_CASE("what prevents the file is said when it is to be finished") {
  const Threads threads(4);
  const TwoLoads of({OutputField::u});
  const fs::path nowhere = fs::temp_directory_path() / fmt::format("femcg_test_file_ahead_{}_nowhere", ::getpid());
  mesh::FileGroup files(nowhere);
  solver::SolutionFile file(of.made.output, of.made.solution, *of.problem);
  solver::BackgroundFile ahead(files, file);
  ahead.begin(2);
  file.prepare(of.solutions);
  CHECK_THROWS_AS(ahead.finish(2), std::system_error);
  {
    solver::SolutionFile unprepared(of.made.output, of.made.solution, *of.problem);
    solver::BackgroundFile again(files, unprepared);
    again.begin(2);  // and nobody is told where nobody asks
  }
  CHECK_FALSE(fs::exists(nowhere));
}

TEST_CASE("a file that no solution comes for is gone, and nobody waits for it") {
  const Threads threads(4);
  const TwoLoads of({OutputField::u, OutputField::gradient});
  const Folder folder;
  {
    mesh::FileGroup files(folder.path);
    solver::SolutionFile file(of.made.output, of.made.solution, *of.problem);
    solver::BackgroundFile ahead(files, file);
    ahead.begin(2);
  }
  CHECK(fs::is_empty(folder.path));
}

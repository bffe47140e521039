// Options that do not fit a problem or a device: run, check and compare refuse them with the same message and place,
// and an operator's memory estimate refuses the same as making it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>
#include <utility>
#include <vector>

#include "mesh/element/quadrature.hpp"
#include "operators/vendor/cusparse.hpp"
#include "operators/vendor/eigen.hpp"
#include "operators/vendor/index.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;
using mesh::CellShape;

namespace {

/// Shell lines that write case.yaml, with its operator at 6:13 and solver.loop at 8:9.
std::string case_file(const std::string& op, const std::string& device, const std::string& loop = "auto") {
  return fmt::format(
      "cat > case.yaml <<'END'\nmesh: {{box: {{cells: [6, 5]}}}}\nequation: {{source: 1}}\n"
      "boundary: {{all: {{value: 0}}}}\ndegree: 1\nsolver:\n  operator: {}\n  device: {}\n  loop: {}\nEND\n",
      op, device, loop);
}

/// Message with which an operator's options are refused on the device of the tests, by its estimate and by making it;
/// empty if both accept them.
std::string refusal(std::string_view name, const Options& options, const tests::SmallForm& small) {
  const OperatorDescription& row = *find_operator(name);
  const MatrixRows<double> rows(small.form);
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  Ingredients<double> from;
  from.device = tests::device();
  from.form = &small.form;
  from.element_matrices = &matrices;
  from.matrix = std::make_shared<CsrMatrix<double>>(assemble<double>(small.form, matrices));
  const auto sentence_of = [](auto work) -> std::string {
    try {
      work();
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  const std::string of_bytes = sentence_of([&] {
    row.estimate<double>({tests::device(), &small.form, &rows.offsets()}, options);
  });
  CHECK(sentence_of([&] { row.make<double>(from, options); }) == of_bytes);
  return of_bytes;
}

}  // namespace

TEST_CASE("options that the CPU does not have are refused at their place, by run and by check") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"{name: sell, C: 32, sigma: 48}", "option 'sigma' of operator 'sell' must be 1, all, or a multiple of C = 32"},
      {"{name: sell, index: 16}", "option 'index' of operator 'sell' is for the GPU; on the CPU columns have 32 bits"},
      {"{name: pjds, index: 32}", "option 'index' of operator 'pjds' is for the GPU; on the CPU columns have 32 bits"},
      {"{name: csr, coop: 8}", "option 'coop' of operator 'csr' is for the GPU; on the CPU it has values only"},
      {"{name: csr, rule: 2012}", "option 'rule' of operator 'csr' is for the GPU"},
      {"{name: ellr-t, block_size: 128}", "option 'block_size' of operator 'ellr-t' is for the GPU"},
      {"{name: lma-coloured, dedup: on}", "option 'dedup' of operator 'lma-coloured' is for the GPU"},
      {"{name: lma-gather, patch: 64}", "option 'patch' of operator 'lma-gather' is for the GPU"},
      {"{name: matrix-free, patch: 64}", "option 'patch' of operator 'matrix-free' is for the GPU"},
      {"{name: matrix-free, geometry: vertices}", "option 'geometry' of matrix-free is vertices, which only a GPU"},
  };
  for (const auto& [op, sentence] : wrong)
    for (const char* command : {"run", "check"})
      tests::check_refused(std::string(command) + " case.yaml", "case.yaml:6:13: " + sentence, case_file(op, "cpu"));
}

TEST_CASE("check refuses what does not fit a GPU, which need not be there") {
  struct Wrong {
    std::string op, set, sentence;
  };
  const std::string vertices = "{name: matrix-free, geometry: vertices}", once = "{name: lma-atomic, dedup: on}",
                    varying = " --set equation.diffusion=1+x";
  const std::vector<Wrong> wrong{
      {"{name: csr, coop: 8, rule: 2026}", "", "operator 'csr' takes coop, repeat and block_size with rule: 2012 only"},
      {"{name: csr, coop: 8, index: 16}", "", "operator 'csr' has 16-bit columns only where rows are streamed"},
      {"{name: csr, columns: shared, index: 16}", "", "operator 'csr' takes 'index' only where each row has its own"},
      {"{name: csr, columns: shared, coop: 2}", "", "operator 'csr' takes 'coop' only where each row has its own"},
      {"{name: csr, columns: shared, rule: 2012}", "", "operator 'csr' has shared columns with rule: 2026 only"},
      {vertices, " --set quadrature=4", "option 'geometry' of matrix-free is vertices, which is for as many Gauss"},
      {vertices, varying, "option 'geometry' of matrix-free is vertices, but the diffusion varies inside cells"},
      {"{name: matrix-free, patch: 160}", " --set degree=4", "option 'patch' of matrix-free is at most 128 for"},
      {once, varying, "option 'dedup' of lma can be on only where the diffusion is constant in every cell"},
      {"eigen", "", "operator 'eigen' has no CUDA version; use device: cpu"},
  };
  for (const Wrong& each : wrong)
    tests::check_refused("check case.yaml" + each.set, "case.yaml:6:13: " + each.sentence, case_file(each.op, "cuda"));
  // An expression with one value per cell.
  for (const std::string& op : {vertices, once})
    CHECK(tests::shell(case_file(op, "cuda") + "$femcg check case.yaml --set equation.diffusion=2+0*x").status == 0);
  // Even without a GPU, the error is that of the case, not of the machine.
  tests::check_refused("run case.yaml", "case.yaml:6:13: operator 'eigen' has no CUDA", case_file("eigen", "cuda"));
}

TEST_CASE("a persistent kernel that is not to be had is refused at its place, by run and by check") {
  for (const char* op : {"{name: csr, coop: 8}", "ellpack"})
    tests::check_refused("check case.yaml", "has no persistent kernel; use solver.loop: launched",
                         case_file(op, "cuda", "resident"));
  tests::check_refused("check case.yaml", "case.yaml:8:9: operator 'ellpack', with these options",
                       case_file("ellpack", "cuda", "resident"));
  CHECK(tests::shell(case_file("csr", "cuda", "resident") + "$femcg check case.yaml").status == 0);
}

TEST_CASE("passes inside the product are refused where the operator makes none" * tests::needs_host()) {
  for (const char* command : {"run case.yaml", "check case.yaml"})
    tests::check_refused(command, "operator 'csr' makes no passes of CG inside its product; use solver.loop: launched",
                         case_file("csr", "cpu", "merged"));
  const tests::Result result = tests::shell(case_file("matrix-free", "cpu", "merged") + "$femcg run case.yaml");
  CHECK(result.status == 0);
  CHECK(tests::contains(result.out, "classic inside the product"));
}

TEST_CASE("without a GPU, device: auto is the CPU, which has no persistent kernel and no cuSPARSE" *
          tests::needs_no_gpu()) {
  for (const char* command : {"run case.yaml", "check case.yaml"})
    tests::check_refused(command, "case.yaml:8:9: solver.loop: persistent is for GPUs, and this would run on the CPU",
                         case_file("csr", "auto", "resident"));
  tests::check_refused("check case.yaml", "case.yaml:6:13: operator 'cusparse-csr' has no CPU version",
                       case_file("cusparse-csr", "auto"));
}

TEST_CASE("a comparison of which nothing fits is status 2; beside others it is a row that failed") {
  const std::string before = case_file("csr", "cpu");
  const tests::Result none =
      tests::shell(before +
                   "$femcg compare case.yaml --iterations 3 --repetitions 2 --output made "
                   "--operators '[{name: csr, coop: 8}, {name: sell, C: 32, sigma: 48}]'; "
                   "status=$?; grep -c '\"status\": *\"failed\"' made/compare.json; exit $status");
  CHECK(none.status == 2);
  CHECK(none.err ==
        "--operators: option 'coop' of operator 'csr' is for the GPU; on the CPU it has values only\n"
        "--operators: option 'sigma' of operator 'sell' must be 1, all, or a multiple of C = 32, not 48\n");
  CHECK(none.out.ends_with("\n2\n"));
  const tests::Result swept = tests::shell(
      before +
      "$femcg compare case.yaml --iterations 3 --repetitions 2 --quiet --operators '[{name: csr, coop: 8}]' "
      "--set 'compare.sweep={degree: [1, 2]}'");
  CHECK(swept.status == 2);
  CHECK(tests::lines(swept.err) == 1);
  const tests::Result one = tests::shell(
      before + "$femcg compare case.yaml --iterations 3 --repetitions 2 --operators '[{name: csr, coop: 8}, sell]'");
  CHECK(one.status == 0);
  CHECK(tests::contains(one.out, "failed: option 'coop' of operator 'csr' is for the GPU"));
  const tests::Result large = tests::shell(
      "printf '%%%%MatrixMarket matrix coordinate real general\\n1 1 1\\n1 1 1e60\\n' > large.mtx\n"
      "$femcg matrix large.mtx --precision single --operators csr --iterations 3 --repetitions 2");
  CHECK(large.status == 2);
  CHECK(large.err == "--operators: the matrix has an entry 1e+60, which is too large for single precision\n");
}

TEST_CASE("an option that is given its default is the default") {
  const auto small = tests::make_form(CellShape::quadrilateral, 2, {4, 3, 1});
  for (const OperatorDescription& row : catalogue()) {
    if (!tests::runs_here(row)) continue;
    CAPTURE(row.name);
    Options all;
    for (const OptionDescription& option : row.options) {
      CAPTURE(option.name);
      const Options one{{std::string(option.name), std::string(option.default_value)}};
      CHECK(refusal(row.name, one, small).empty());
      all.insert(one.begin(), one.end());
    }
    CHECK(refusal(row.name, all, small).empty());
  }
}

TEST_CASE("an estimate of memory refuses what making would, in the same words") {
  const bool on_gpu = tests::device() == Device::cuda;
  const auto small = tests::make_form(CellShape::quadrilateral, 4, {4, 3, 1});
  CHECK(!refusal("sell", {{"C", "32"}, {"sigma", "48"}}, small).empty());
  CHECK(!refusal("matrix-free", {{"patch", "160"}}, small).empty());
  CHECK(!refusal("matrix-free", {{"geometry", "vertices"}}, small).empty());
  CHECK(refusal("matrix-free", {{"geometry", "stored"}}, small).empty());
  CHECK(!refusal("lma-atomic", {{"dedup", "on"}}, small).empty());
  CHECK(refusal("lma-atomic", {{"dedup", "off"}}, small).empty());
  CHECK(refusal("csr", {{"rule", "2012"}, {"coop", "8"}}, small).empty() == on_gpu);
  CHECK(refusal("ellr-t", {{"block_size", "64"}}, small).empty() == on_gpu);
}

TEST_CASE("vertices that do not tell all are refused by the estimate") {
  const auto refused = [](const tests::FormOptions& options) -> std::string {
    const auto small = tests::make_form(CellShape::hexahedron, 2, {2, 2, 2}, options);
    try {
      find_operator("matrix-free")->estimate<double>({Device::cuda, &small.form, nullptr}, {{"geometry", "vertices"}});
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  CHECK(refused({.varying = false}).empty());
  CHECK(tests::contains(refused({}), "but the diffusion varies inside cells; use geometry: stored"));
  CHECK(tests::contains(refused({.varying = false, .curved = true}), "but the cells are curved; use geometry: stored"));
  CHECK(tests::contains(refused({.varying = false, .quadrature = 5}), "use geometry: stored, or quadrature: 3"));
}

TEST_CASE("padding is refused from the lengths of rows alone, and the libraries' indices get 64 bits") {
  CsrMatrix<double> matrix;
  matrix.rows = 20000;
  matrix.row_offsets = Vector<std::int64_t>(matrix.rows + 1);  // one long row and many short ones
  for (std::int32_t row = 0; row <= matrix.rows; ++row) matrix.row_offsets[row] = row == 0 ? 0 : 20000 + 2 * (row - 1);
  const auto bytes = [&](std::string_view name, Device device, const Options& options = {}) {
    return find_operator(name)->estimate<double>({device, nullptr, &matrix}, options);
  };
  for (const char* name : {"ellpack", "ellpack-r"})
    CHECK_THROWS_WITH_AS(bytes(name, Device::host), doctest::Contains("would pad every row"), std::invalid_argument);
  CHECK_THROWS_AS(bytes("ellr-t", Device::host, {{"T", "1"}}), std::invalid_argument);
  CHECK_THROWS_AS(bytes("hyb", Device::host, {{"width", "20000"}}), std::invalid_argument);
  CHECK_NOTHROW(bytes("sell", Device::host));

  const Extent<double> on_host{Device::host, nullptr, &matrix}, on_gpu{Device::cuda, nullptr, &matrix};
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t nonzeros : {most, most + 1}) {
    matrix.row_offsets[matrix.rows] = nonzeros;
    const std::int64_t index = nonzeros > most ? 8 : 4, stored = nonzeros * (8 + index) + (matrix.rows + 1) * index;
    CHECK(find_operator("eigen")->estimate(on_host, {}).stored() == stored);
    CHECK(find_operator("cusparse-csr")->estimate(on_gpu, {}).stored() == stored);
    CHECK(index_bits(nonzeros, "eigen", "auto") == 8 * index);
    CHECK(index_bits(nonzeros, "eigen", "64") == 64);
  }
  CHECK(find_operator("cusparse-sell")->estimate(on_gpu, {}).stored() >=
        2 * (most - 60000) * 16);  // a slice has at least two rows
  const Options narrow{{"index", "32"}};
  CHECK_THROWS_WITH_AS(find_operator("eigen")->estimate(on_host, narrow),
                       doctest::Contains("which indices of 32 bits cannot count"), std::invalid_argument);
  CHECK_THROWS_AS(find_operator("cusparse-csr")->estimate(on_gpu, narrow), std::invalid_argument);
  CHECK_THROWS_AS(find_operator("cusparse-sell")->estimate(on_gpu, narrow), std::invalid_argument);
}

TEST_CASE_TEMPLATE("geometry: stored of matrix-free keeps the factors of all points on the CPU too" *
                       tests::needs_host(),
                   T, double, float) {
  for (const CellShape shape : mesh::all_cell_shapes) {
    CAPTURE(mesh::name(shape));
    const int cells = 8;
    const auto small = tests::make_form(shape, 2, {cells, cells, cells}, {.varying = false, .distort = 0});
    Ingredients<T> from;
    from.form = &small.form;
    const OperatorDescription& row = *find_operator("matrix-free");
    const Options stored_option{{"geometry", "stored"}};
    const auto stored = row.make<T>(from, stored_option), affine = row.make<T>(from, {});
    const std::int64_t d = mesh::dimension(shape), points = mesh::cell_quadrature(shape, small.form.quadrature).size();
    const std::int64_t spared =
        (points - 1) * small.form.cells() * d * (d + 1) / 2 * static_cast<std::int64_t>(sizeof(T));
    CHECK(stored->footprint().stored_bytes - affine->footprint().stored_bytes >= spared);
    CHECK(row.estimate<T>({Device::host, &small.form, nullptr}, {}).slack -
              row.estimate<T>({Device::host, &small.form, nullptr}, stored_option).slack >=
          spared);
    Vector<T> x(stored->size());
    for (std::int64_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(static_cast<double>(i)));
    const Vector<T> y = tests::apply_without_energy(*stored, x), expected = tests::apply_without_energy(*affine, x);
    double difference = 0;
    for (std::int64_t i = 0; i < x.size(); ++i)
      difference = std::max(difference, std::abs(static_cast<double>(y[i] - expected[i])));
    CHECK(difference < 200 * static_cast<double>(std::numeric_limits<T>::epsilon()));
  }
}

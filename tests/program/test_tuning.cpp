// Tuning within CG, its cache, and `solver.tune` as seen by its user.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "mesh/base/vector_register.hpp"
#include "operators/catalogue.hpp"
#include "solver/tuning/cached_tuning.hpp"
#include "solver/tuning/tunable.hpp"
#include "solver/tuning/tuning_operator.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::solver;
namespace tests = femcg::tests;
using operators::Device;
using operators::Operator;
using operators::Options;
using operators::Vector;
using tests::contains;
using tests::shell;

namespace {

/// A system of a few thousand unknowns, with operators made by name and options.
template <class T>
struct SmallSystem {
  SmallSystem() : small(tests::make_form(mesh::CellShape::quadrilateral, 3, {16, 16, 1})) {
    matrices = operators::assemble_element_matrices(small.form);
    from = tests::ingredients<T>(small.form, matrices);
    from.device = tests::device();
    Vector<T> load(small.form.unknowns);
    for (std::int64_t i = 0; i < load.size(); ++i)
      load[i] = static_cast<T>(1.0 + 0.5 * std::sin(static_cast<double>(i)));
    b = operators::copied(load, tests::device());
  }
  std::unique_ptr<Operator<T>> make(const std::string& name, const Options& options) const {
    return operators::find_operator(name)->make<T>(from, options);
  }
  tests::SmallForm small;
  operators::ElementMatrices matrices;
  operators::Ingredients<T> from;
  Vector<T> b;
};

/// A CG whose first products try all settings; by an artificial clock, the setting `fastest` takes the least time.
template <class T>
struct TunedSolve {
  TunedSolve(const SmallSystem<T>& system, const std::string& name, const Options& given, const Options& fastest,
             const CgOptions<T>& options)
      : start(system.make(name, given)), search(open_options(name, *start, given)) {
    TuningMeans<T> means;
    means.given = given;
    means.make = [&, name](const Options& with) { return system.make(name, with); };
    means.clock = [&](const Options& with) {
      double seconds = 1e-3;
      for (const auto& [option, value] : fastest)
        seconds += 1e-4 * std::abs(std::log2(std::stod(with.at(option))) - std::log2(std::stod(value)));
      return seconds;
    };
    TuningOperator<T> tuning(*start, search, std::move(means));
    CgOptions<T> of_trials = options;
    of_trials.enough = [&] { return search.over(); };
    state = iterate_with_trials<T>(tuning, 200, system.b, x, of_trials);
    found = tuning.finish();
    CgOptions<T> rest = options;
    rest.before = &state;
    result = conjugate_gradients(found ? *found : *start, system.b, x, rest);
    taken = options_of(search.best(), search.options(), given);
  }
  std::unique_ptr<Operator<T>> start, found;
  Search search;
  CgCheckpoint<T> state;
  std::vector<double> x;
  CgResult result;
  Options taken;
};

/// Checks the options whose products, and solves, must be bitwise the same (TunedOption::same_bits).
template <class T>
void check_same_bits(const std::string& name, const Options& given, const Options& fastest) {
  const SmallSystem<T> system;
  CgOptions<T> options;
  options.tolerance = sizeof(T) == 8 ? 1e-10 : 1e-3;
  options.method = CgMethod::classic;
  const TunedSolve<T> tuned(system, name, given, fastest, options);
  CHECK(tuned.search.tried().size() >= 3);
  for (const TunedOption& option : tuned.search.options()) CHECK(option.same_bits);
  CHECK(tuned.state.result.iterations > 8);
  for (const auto& [option, value] : fastest) CHECK(tuned.taken.at(option) == value);
  CHECK(tuned.result.reason == StopReason::converged);
  std::vector<double> x;
  const CgResult untuned = conjugate_gradients(*system.make(name, tuned.taken), system.b, x, options);
  CHECK(tuned.x == x);
  CHECK(tuned.result.iterations == untuned.iterations);
  CHECK(tuned.result.true_relative_residual == untuned.true_relative_residual);
  REQUIRE(tuned.result.history.size() == untuned.history.size());
  for (std::size_t i = 0; i < untuned.history.size(); ++i)
    CHECK(tuned.result.history[i].relative_residual == untuned.history[i].relative_residual);
}

/// Case of the program for the test cases below.
const std::string square =
    " $cases/minimal.yaml --device cpu --no-progress --set equation.source=1 --set mesh.box.cells=[40,40] --output "
    "made ";
const std::string own_cache = "export XDG_CACHE_HOME=$PWD/cache\n";

nlohmann::json result_of(const std::string& arguments, const std::string& before = own_cache) {
  const tests::Result run =
      shell(before + "$femcg run" + square + arguments + " > /dev/null; s=$?; cat made/result.json; exit $s");
  INFO(run.err);
  REQUIRE(run.status == 0);
  return nlohmann::json::parse(run.out);
}

/// Sets XDG_CACHE_HOME temporarily.
class CacheFolder {
 public:
  explicit CacheFolder(const std::string& folder) : before_(std::getenv("XDG_CACHE_HOME")) {
    ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  }
  ~CacheFolder() { before_.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before_.c_str(), 1); }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

 private:
  struct Text : std::string {
    explicit Text(const char* text) : std::string(text != nullptr ? text : "") {}
  } before_;
};

/// A folder that is removed afterwards.
struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / ("femcg_test_tuning_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("CG that goes on from where it was left is one CG, on the processor to the bit" * tests::needs_host()) {
  const SmallSystem<double> system;
  const auto csr = system.make("csr", {});
  const auto jacobi = make_preconditioner<double>("jacobi", *csr);
  CgOptions<double> options;
  options.tolerance = 1e-10;
  options.preconditioner = jacobi.get();
  std::vector<double> at_once;
  const CgResult whole = conjugate_gradients(*csr, system.b, at_once, options);
  REQUIRE(whole.reason == StopReason::converged);
  for (const std::int64_t first : {1, 2, 7, 30}) {
    CAPTURE(first);
    std::vector<double> x;
    const CgCheckpoint<double> one = iterate_with_trials<double>(*csr, first, system.b, x, options);
    CHECK(one.result.iterations == first);
    CgOptions<double> rest = options;
    rest.before = &one;
    const CgCheckpoint<double> two = iterate_with_trials<double>(*csr, 3, system.b, x, rest);
    rest.before = &two;
    const CgResult all = conjugate_gradients(*csr, system.b, x, rest);
    CHECK(all.iterations == whole.iterations);
    CHECK(x == at_once);
  }
}

TEST_CASE("a loop that is left with x incomplete is completed by one that makes no iteration, or that restarts") {
  const SmallSystem<double> system;
  const auto csr = system.make("csr", {});
  CgOptions<double> options;
  options.max_iterations = 12;
  options.method = CgMethod::classic;
  const Vector<double> b = operators::copied(system.b, Device::host);
  options.true_residual = [&](const std::vector<double>& of) {
    const operators::CsrMatrix<double>& matrix = *system.from.matrix;
    std::vector<double> r(b.data(), b.data() + b.size());
    for (std::int32_t i = 0; i < matrix.rows; ++i)
      for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
        r[static_cast<std::size_t>(i)] -= matrix.values[k] * of[static_cast<std::size_t>(matrix.columns[k])];
    return r;
  };
  std::vector<double> expected, x;
  const CgResult whole = conjugate_gradients(*csr, system.b, expected, options);
  const CgCheckpoint<double> left = iterate_with_trials<double>(*csr, 12, system.b, x, options);
  options.before = &left;
  const CgResult completed = conjugate_gradients(*csr, system.b, x, options);
  CHECK(completed.iterations == 12);
  CHECK(completed.reason == StopReason::max_iterations);
  CHECK(whole.true_relative_residual > 0);
  CHECK(completed.true_relative_residual == doctest::Approx(whole.true_relative_residual).epsilon(1e-10));
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == doctest::Approx(expected[i]).epsilon(1e-12));
  // A method that restarts recomputes the residual from the whole x.
  options.max_iterations = 12;
  options.method = CgMethod::single_reduction;
  options.loop = CgLoop::launched;
  std::vector<double> y(x.size(), 0.0);
  const CgResult restarted = conjugate_gradients(*csr, system.b, y, options);
  CHECK(restarted.true_relative_residual == doctest::Approx(whole.true_relative_residual).epsilon(1e-10));
}

TEST_CASE("slices of another height give the same to the bit: a tuned CG is that of the options it takes" *
          tests::needs_host()) {
  check_same_bits<double>("sell", {{"sigma", "1"}}, {{"C", "64"}});
  // The default of eight rows per slice fills no register of sixteen numbers.
  if (mesh::register_bytes / sizeof(float) <= 8) check_same_bits<float>("sell", {{"sigma", "1"}}, {{"C", "16"}});
}

TEST_CASE("a tuned CG has the solution of the options that it takes, for every operator with something to tune") {
  const SmallSystem<double> system;
  CgOptions<double> options;
  options.tolerance = 1e-10;
  options.method = CgMethod::classic;
  struct Tuned {
    const char* name;
    Options given, fastest;
    bool host;
  };
  const std::vector<Tuned> all{
      {"sell", {}, {{"C", "32"}, {"sigma", "128"}}, true},
      {"ellr-t", {}, {{"T", "4"}}, true},
      {"csr", {{"rule", "2012"}}, {{"coop", "16"}, {"repeat", "4"}, {"block_size", "256"}}, false},
      {"csr", {{"coop", "2"}}, {{"repeat", "4"}}, false},
      {"ellr-t", {{"T", "2"}}, {{"block_size", "512"}}, false},
      {"lma-gather", {}, {{"patch", "64"}}, false},
      {"matrix-free", {}, {{"patch", "64"}}, false}};
  for (const auto& [name, given, fastest, host] : all) {
    if (!host && tests::device() == Device::host) continue;
    CAPTURE(name);
    const TunedSolve<double> tuned(system, name, given, fastest, options);
    for (const auto& [option, value] : fastest)
      if (option != "patch") CHECK(tuned.taken.at(option) == value);
    for (const auto& [option, value] : given) CHECK(tuned.taken.at(option) == value);
    CHECK(tuned.search.tried().size() > 2);
    CHECK(tuned.result.reason == StopReason::converged);
    std::vector<double> x;
    const auto untuned = system.make(name, tuned.taken);
    const CgResult expected = conjugate_gradients(*untuned, system.b, x, options);
    CHECK(std::abs(tuned.result.iterations - expected.iterations) <= 2);
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - tuned.x[i]));
    CHECK(largest < 1e-8);
    // The operator that CG continued with equals one made with these options from the start.
    const Operator<double>& taken = tuned.found ? *tuned.found : *tuned.start;
    CHECK(taken.chosen() == untuned->chosen());
    const Vector<double> from = operators::copied(system.b, taken.device());
    Vector<double> y(taken.size(), taken.device()), z(taken.size(), taken.device());
    taken.apply(from, y);
    untuned->apply(from, z);
    const Vector<double> here = operators::copied(y, Device::host), there = operators::copied(z, Device::host);
    for (std::int64_t i = 0; i < here.size(); ++i) CHECK(here[i] == there[i]);
  }
}

TEST_CASE("what is given is not open, and nothing is where an operator has nothing to tune") {
  const SmallSystem<double> system;
  const auto open = [&](const std::string& name, const Options& given) {
    std::vector<std::string> names;
    for (const TunedOption& option : open_options(name, *system.make(name, given), given)) {
      names.push_back(option.name);
      CHECK(option.start < option.values.size());
      CHECK(std::ranges::find(option.values, option.values[option.start]) != option.values.end());
      for (const std::string& value : option.values)
        CHECK_NOTHROW(check_options(*operators::find_operator(name), {{option.name, value}}));
    }
    return names;
  };
  CHECK(open("sell", {}) == std::vector<std::string>{"C", "sigma"});
  CHECK(open("sell", {{"C", "16"}}) == std::vector<std::string>{"sigma"});
  CHECK(open("sell", {{"C", "16"}, {"sigma", "512"}}).empty());
  CHECK(open("csr", {}).empty());
  CHECK(open("ellpack", {}).empty());
  if (tests::device() == Device::cuda) {
    CHECK(open("csr", {{"rule", "2012"}}) == std::vector<std::string>{"coop", "repeat", "block_size"});
    CHECK(open("csr", {{"coop", "8"}}) == std::vector<std::string>{"repeat", "block_size"});
    CHECK(open("ellr-t", {}) == std::vector<std::string>{"block_size", "T"});
  }
  for (const TunableOption& option : tunable_options()) {
    const operators::OperatorDescription* row = operators::find_operator(option.op);
    REQUIRE(row != nullptr);
    CHECK(std::ranges::find(row->options, option.name, &operators::OptionDescription::name) != row->options.end());
  }
}

TEST_CASE("what is kept is found again for the same device, operator, degree, cells, precision and given options") {
  const Folder folder;
  const CacheFolder cache(folder.path.string());
  const TuningKey key{"a processor", 2, "sell", 3, mesh::CellShape::triangle, Precision::single, {{"C", "16"}}};
  CHECK_FALSE(cached_tuning(key).kept);
  CHECK(cached_tuning(key).warning.empty());
  CHECK(cache_tuning({key, {{"sigma", "512"}}, 1e-3, 2e-3, 1000}).empty());
  TuningKey other = key;
  other.op = "ellr-t";
  other.given = {};
  CHECK(cache_tuning({other, {}, 3e-3, 3e-3, 10}).empty());
  CHECK(cache_tuning({key, {{"sigma", "128"}}, 0.5e-3, 2e-3, 1000}).empty());  // replaces the first
  CHECK(all_cached_tuning().all.size() == 2);
  const FoundTuning found = cached_tuning(key);
  REQUIRE(found.kept);
  CHECK(found.kept->options == Options{{"sigma", "128"}});
  CHECK(found.kept->unknowns == 1000);
  REQUIRE(cached_tuning(other).kept);
  CHECK(cached_tuning(other).kept->options.empty());
  const auto changed = [&](auto change) {
    TuningKey another = key;
    change(another);
    return cached_tuning(another);
  };
  for (const FoundTuning& none :
       {changed([](TuningKey& k) { k.degree = 2; }), changed([](TuningKey& k) { k.given = {}; }),
        changed([](TuningKey& k) { k.cell = mesh::CellShape::hexahedron; }),
        changed([](TuningKey& k) { k.precision = Precision::double_; })}) {
    CHECK_FALSE(none.kept);
    CHECK(none.warning.empty());
  }
  for (const FoundTuning& elsewhere :
       {changed([](TuningKey& k) { k.device = "another"; }), changed([](TuningKey& k) { k.threads = 8; })}) {
    CHECK_FALSE(elsewhere.kept);
    CHECK(contains(elsewhere.warning, "is ignored: it was measured on another device, a processor with 2 threads"));
  }
}

TEST_CASE("a damaged file is as good as none, and the next find takes its place") {
  const Folder folder;
  const CacheFolder cache(folder.path.string());
  const TuningKey key{"a processor", 2, "sell", 3, mesh::CellShape::triangle, Precision::single, {}};
  CHECK(cache_tuning({key, {{"sigma", "512"}}, 1e-3, 2e-3, 1000}).empty());
  const std::string good = tests::contents(tuning_file());
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string text = good;
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), instead);
  };
  for (const std::string& damaged :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"schema\": 2}"), good.substr(0, 100),
        with("\"512\"", "\"511.5\""), with("\"512\"", "512"), with("\"sigma\"", "\"values\""),
        with("\"sell\"", "\"sold\""), with("\"triangle\"", "\"circle\""), with("\"single\"", "\"half\"")}) {
    CAPTURE(damaged);
    std::ofstream(tuning_file()) << damaged;
    const FoundTuning found = cached_tuning(key);
    CHECK_FALSE(found.kept);
    CHECK(contains(found.warning, "the stored tuning is ignored: "));
    CHECK(contains(found.warning, "is damaged"));
  }
  CHECK(cache_tuning({key, {{"sigma", "512"}}, 1e-3, 2e-3, 1000}).empty());
  CHECK(cached_tuning(key).kept);
  CHECK(tests::contents(tuning_file()) == good);
}

TEST_CASE("a run that tunes says so, keeps what it found, and the next begins with it") {
  const tests::Result both = shell(own_cache + "$femcg run" + square +
                                   "--operator sell --set solver.tune=on > first || exit 1\n"
                                   "cat made/result.json >&2; echo , >&2\n"
                                   "$femcg run" +
                                   square +
                                   "--operator sell --set output.directory=made > second || exit 2\n"
                                   "cat made/result.json >&2; echo , >&2\n"
                                   "$femcg run" +
                                   square +
                                   "--operator sell --set solver.tune=off > third || exit 3\n"
                                   "cat made/result.json >&2\n"
                                   "cat first second; $femcg info --tuning");
  REQUIRE(both.status == 0);
  const auto records = nlohmann::json::parse("[" + both.err + "]");
  const auto& tuning = records[0]["tuning"];
  CHECK(tuning["requested"] == "on");
  CHECK(tuning["tried"].size() > 2);
  CHECK(tuning["tried"][0]["seconds"] > 0);
  CHECK(tuning["products"].size() == tuning["fraction"].size());
  CHECK(tuning["products"].size() > 2);
  CHECK(tuning["fraction"].back() == doctest::Approx(1));
  for (const auto& which : tuning["products"]) CHECK(which < tuning["tried"].size());
  CHECK(records[0]["solve"]["reason"] == "converged");
  CHECK(contains(both.out, "\n  tuning      "));
  CHECK(contains(both.out, "\n              tried: C "));
  // The second run uses the result of the first, and tries nothing.
  const auto& kept = records[1]["tuning"];
  CHECK(kept["requested"] == "auto");
  CHECK(kept["kept"] == tuning["taken"]);
  CHECK(kept["taken"] == tuning["taken"]);
  CHECK(kept["tried"].empty());
  for (const auto& [option, value] : kept["taken"].items()) CHECK(records[1]["operator"]["chosen"][option] == value);
  CHECK(records[1]["operator"]["options"].empty());
  CHECK_FALSE(records[2].contains("tuning"));
  CHECK(contains(both.out, "tuning kept in "));
  CHECK(contains(both.out, "  sell, double precision, degree "));
}

TEST_CASE("a run with what was kept is to the bit that of a run that names these options") {
  const std::string kept = own_cache + R"(mkdir -p cache/femcg
$femcg run)" + square + R"(--operator sell --set solver.tune=on > /dev/null
sed -i 's/"options": {[^}]*}/"options": {"C": "16", "sigma": "128"}/' cache/femcg/tuning.json
python3 - <<'end'
import json
kept = json.load(open("cache/femcg/tuning.json"))
for entry in kept["tuning"]: entry["options"] = {"C": "16", "sigma": "128"}
json.dump(kept, open("cache/femcg/tuning.json", "w"))
end
)";
  const tests::Result runs =
      shell(kept + "$femcg run" + square +
            "--operator sell > one && cp made/residuals.csv one.csv\n"
            "$femcg run" +
            square +
            "--set 'solver.operator={name: sell, C: 16, sigma: 128}' --set solver.tune=off > two\n"
            "cut -d, -f1,2 one.csv > a; cut -d, -f1,2 made/residuals.csv > b; cmp a b && grep -c . a; "
            "grep 'C 16, sigma 128, as an earlier run found' one");
  CHECK(runs.status == 0);
  CHECK(contains(runs.out, "as an earlier run found"));
  CHECK(runs.err.empty());
}

TEST_CASE("options that the case states are not changed, and what cannot be tuned is told where it was asked for") {
  const auto given = result_of("--set 'solver.operator={name: sell, C: 16}' --set solver.tune=on");
  CHECK(given["operator"]["options"] == nlohmann::json{{"C", 16}});
  for (const auto& setting : given["tuning"]["tried"]) CHECK_FALSE(setting["options"].contains("C"));
  CHECK(given["operator"]["chosen"]["C"] == 16);
  const auto all = result_of("--set 'solver.operator={name: sell, C: 16, sigma: 512}' --set solver.tune=on");
  CHECK(contains(all["tuning"]["why"].get<std::string>(), "no option was tried"));
  CHECK_FALSE(result_of("--operator sell --set solver.tune=off").contains("tuning"));
  CHECK_FALSE(result_of("--operator csr").contains("tuning"));
}

TEST_CASE("tuning solves several loads, restarts with a preconditioner that is not diagonal, and in single precision") {
  for (const std::string more :
       {"--set 'loads={one: {source: 1}, two: {source: 2}}' --set solver.cg=classic",
        "--set 'loads={one: {source: 1}, two: {source: 2}}'", "--set solver.preconditioner=chebyshev",
        "--set solver.cg=single-reduction", "--set solver.precision=single --set solver.tolerance=1e-5",
        "--set solver.max_iterations=10", "--operator auto"}) {
    CAPTURE(more);
    const tests::Result run =
        shell(own_cache + "$femcg run" + square + "--set solver.operator=ellr-t --set solver.tune=on " + more +
              " > /dev/null; s=$?; cat made/result.json; exit $s");
    const bool limited = contains(more, "max_iterations");
    CHECK(run.status == (limited ? 1 : 0));
    const auto result = nlohmann::json::parse(run.out);
    CHECK(result["solve"]["reason"] == (limited ? "max_iterations" : "converged"));
    if (limited) CHECK(result["solve"]["iterations"] == 10);
    const double of_recurrence = result["solve"]["relative_residual"];
    if (limited) CHECK(result["solve"]["true_relative_residual"].get<double>() == doctest::Approx(of_recurrence));
    if (contains(more, "operator auto") || contains(more, "loads")) continue;
    CHECK(result["tuning"]["requested"] == "on");
  }
}

TEST_CASE("a cache folder that is damaged, read-only or not there is one sentence, and the run goes on") {
  const std::string run = "$femcg run" + square + "--operator sell --set solver.tune=on";
  for (const auto& [before, sentence] :
       {std::pair{"export XDG_CACHE_HOME=relative HOME=\n", "results of tuning are not stored: there is no home"},
        std::pair{"export XDG_CACHE_HOME=/dev/null\n", "results of tuning are not stored: '/dev/null"},
        std::pair{"export XDG_CACHE_HOME=$PWD/cache; mkdir -p cache/femcg; echo '{' > cache/femcg/tuning.json\n",
                  "the stored tuning is ignored: "}}) {
    CAPTURE(before);
    const tests::Result result = shell(before + run);
    CHECK(result.status == 0);
    const std::size_t at = result.out.find(sentence);
    REQUIRE(at != std::string::npos);
    CHECK(result.out.find(sentence, at + 1) == std::string::npos);
    CHECK(contains(result.out, "converged"));
  }
  CHECK(contains(shell(own_cache + "$femcg info --tuning").out, "no tuning is stored"));
}

TEST_CASE("values of solver.tune that are none are refused in one sentence") {
  for (const std::string wrong : {"true", "yes", "always", "1", "[on]"}) {
    CAPTURE(wrong);
    tests::check_refused("run $cases/minimal.yaml --set solver.tune=" + wrong, "solver.tune must be ");
  }
  for (const std::string right : {"on", "off", "auto"})
    CHECK(contains(tests::program_run("check $cases/minimal.yaml --device cpu --set solver.tune=" + right).out,
                   "  tune: " + right + "\n"));
}

// The program's threads: how many it starts, and how they wait for each other.

#include <doctest/doctest.h>

#include "tests/program.hpp"

using femcg::tests::check_refused;
using femcg::tests::contains;
using femcg::tests::Result;
using femcg::tests::shell;

TEST_CASE("a number of threads that no machine starts is refused in one sentence") {
  for (const std::string number : {"99999999999", "100000000", "0", "-1", "two"}) {
    CAPTURE(number);
    check_refused("run $cases/minimal.yaml --threads '" + number + "'", "--threads must be a whole number from 1 to");
    const Result result = shell("export OMP_NUM_THREADS=" + number + "; $femcg run $cases/minimal.yaml");
    CHECK(result.status == 2);
    CHECK(contains(result.err, "OMP_NUM_THREADS must be a whole number from 1 to"));  // libgomp's own line may be above
  }
  check_refused("run $cases/minimal.yaml --threads 4096000", "--threads must be a whole number from 1 to");
  // No memory for their stacks, where that can be arranged.
  const Result many = shell(femcg::tests::little_memory +
                            "[ $(ulimit -v) = unlimited ] || $femcg run $cases/minimal.yaml --threads 1000");
  CHECK((many.status == 2 || (many.err + many.out).empty()));
  CHECK((many.err.empty() || contains(many.err, "--threads asks for 1000 threads, of which the system starts ")));
  CHECK(shell("OMP_NUM_THREADS=99999999999 $femcg run $cases/minimal.yaml --threads 1").status == 0);
  CHECK(shell("OMP_NUM_THREADS=' 2 , 1' $femcg run $cases/minimal.yaml").status == 0);
}

TEST_CASE("threads that wait spin for a moment only, where the user has not chosen otherwise") {
  // What libgomp has read, each time that the program begins.
  const std::string show = "unset OMP_WAIT_POLICY GOMP_SPINCOUNT; export OMP_NUM_THREADS=2 OMP_DISPLAY_ENV=verbose\n";
  const auto last_spin = [](const Result& result) {
    CHECK(result.status == 0);
    const std::size_t last = result.err.rfind("GOMP_SPINCOUNT = '");
    return last == std::string::npos ? "" : result.err.substr(last, result.err.find('\n', last) - last);
  };
  CHECK(last_spin(shell(show + "$femcg run $cases/minimal.yaml --output 'a b' && cat 'a b/result.json'")) ==
        "GOMP_SPINCOUNT = '1000'");
  CHECK(last_spin(shell(show + "GOMP_SPINCOUNT=77 $femcg run $cases/minimal.yaml")) == "GOMP_SPINCOUNT = '77'");
  CHECK(last_spin(shell(show + "OMP_WAIT_POLICY=passive $femcg run $cases/minimal.yaml")) == "GOMP_SPINCOUNT = '0'");
  CHECK(last_spin(shell(show + "OMP_WAIT_POLICY=active $femcg run $cases/minimal.yaml")) ==
        "GOMP_SPINCOUNT = '200000'");
}

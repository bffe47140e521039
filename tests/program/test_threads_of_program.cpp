// Number and waiting of the program's threads.

#include <doctest/doctest.h>

#include <thread>

#include "tests/program.hpp"

using femcg::tests::check_refused;
using femcg::tests::contains;
using femcg::tests::Result;
using femcg::tests::shell;

TEST_CASE("what is no number of threads is refused, and one beyond the cores is cut to them") {
  for (const std::string number : {"99999999999999999999", "0", "-1", "two"}) {
    CAPTURE(number);
    check_refused("run $cases/minimal.yaml --threads '" + number + "'", "--threads must be a whole number from 1, not");
    const Result result = shell("export OMP_NUM_THREADS=" + number + "; $femcg run $cases/minimal.yaml");
    CHECK(result.status == 2);
    CHECK(contains(result.err, "OMP_NUM_THREADS must be a whole number from 1"));  // possibly after libgomp's own line
  }
  const std::string threads = "; grep -o '\"threads\": [0-9]*' */result.json";
  for (const std::string start : {"--threads 1000000000000", "--threads 1000"}) {
    const Result result = shell("taskset -c 0 $femcg run $cases/minimal.yaml --quiet --output made " + start + threads);
    CHECK(result.out == "\"threads\": 1\n");
    CHECK(contains(result.err, "note: --threads asks for 1000"));
  }
  const Result variable =
      shell("OMP_NUM_THREADS=1000 taskset -c 0 $femcg run $cases/minimal.yaml --quiet --output made" + threads);
  CHECK(variable.out == "\"threads\": 1\n");
  CHECK(contains(variable.err,
                 "note: OMP_NUM_THREADS asks for 1000 threads; this process has one core, and takes as many"));
  CHECK(shell("OMP_NUM_THREADS=99999999999 $femcg run $cases/minimal.yaml --threads 1").status == 0);
  CHECK(shell("OMP_NUM_THREADS=' 2 , 1' $femcg run $cases/minimal.yaml").status == 0);
}

TEST_CASE("a process that mpirun binds to one core of several says so" *
          doctest::skip(std::thread::hardware_concurrency() < 2)) {
  const std::string run = "taskset -c 0 $femcg run $cases/minimal.yaml --quiet";
  const std::string said = "mpirun binds this process to one of";
  CHECK(contains(shell("OMPI_COMM_WORLD_LOCAL_SIZE=1 " + run).err, said));
  CHECK_FALSE(contains(shell("OMPI_COMM_WORLD_LOCAL_SIZE=100000 " + run).err, said));
  CHECK_FALSE(contains(shell(run).err, said));
}

TEST_CASE("threads that wait spin for a moment only, where the user has not chosen otherwise") {
  // Settings read by libgomp at each start of the program.
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

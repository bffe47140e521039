// Processor time left by other programs, and its mention in a record.

#include "solver/benchmark/processor_time.hpp"

#include <doctest/doctest.h>

#include "tests/program.hpp"

using namespace femcg;
using solver::ProcessorTime;
using solver::was_refused;
using tests::contains;
using tests::Result;
using tests::shell;

namespace {

// Confines the shell to one processor with three busy programs. They end by themselves after a time limit.
const std::string taken =
    "one=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//'); taskset -cp $one $$ > taken\n"
    "for i in 1 2 3; do timeout 100 sh -c 'while :; do :; done' & others=\"$others $!\"; done\n"
    "trap 'kill $others' EXIT\nunset OMP_WAIT_POLICY\n";

}  // namespace

TEST_CASE("threads are refused where they ran for less than half of the time that they were ready") {
  // Two threads in ten seconds; judged by the time in the queue if the system counts it:
  CHECK_FALSE(was_refused({10, 20, 0.1, 100}, 2));
  CHECK_FALSE(was_refused({10, 10.1, 9.9, 5000}, 2));
  CHECK(was_refused({10, 6, 14, 5000}, 2));
  CHECK_FALSE(was_refused({10, 3, 0.5, 5000}, 2));  // they slept
  // by preemptions if it does not:
  CHECK(was_refused({10, 6, 0, 1000}, 2));
  CHECK_FALSE(was_refused({10, 6, 0, 20}, 2));           // they slept
  CHECK_FALSE(was_refused({10, 12, 0, 1000}, 2));        // they received more than half
  CHECK_FALSE(was_refused({0.01, 0.001, 0.02, 10}, 2));  // too short to tell
}

TEST_CASE("a thread that computes receives processor time") {
  const ProcessorTime before = solver::processor_time();
  volatile double sum = 0;
  while (solver::processor_time().ran - before.ran < 0.05) sum = sum + 1;
  const ProcessorTime during = solver::processor_time() - before;
  CHECK(during.ran < 2);
  CHECK(during.wall >= 0.9 * during.ran);  // this program has one computing thread
}

TEST_CASE("a run and a comparison say that other programs took the processor") {
  const std::string problem =
      " $cases/minimal.yaml --device cpu --threads 1 --set equation.source=1 --set mesh.box.cells=[300,300]";
  const Result run = shell(taken + "$femcg run" + problem + " --operator csr && cat results/*/result.json");
  INFO(run.err);
  CHECK(run.status == 0);
  CHECK(contains(run.out, "other programs took the processor: the threads received less than half"));
  CHECK(contains(run.out.substr(run.out.find("\"remarks\"")), "other programs took the processor"));
  const Result compare =
      shell(taken + "$femcg compare" + problem +
            " --operators csr,sell --iterations 100 --repetitions 3 2>&1 && cat results/*/compare.json");
  INFO(compare.err);
  CHECK(compare.status == 0);
  CHECK(contains(compare.out, "note: other programs took the processor"));
  CHECK(contains(compare.out, "less than half of the processor time asked for: "));
}

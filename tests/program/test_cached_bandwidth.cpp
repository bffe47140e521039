// Copy bandwidths cached across runs.

#include <doctest/doctest.h>

#include "tests/program.hpp"

using femcg::tests::contains;
using femcg::tests::Result;
using femcg::tests::shell;

namespace {

const std::string begin = "export XDG_CACHE_HOME=$PWD/cache OMP_NUM_THREADS=1; kept=cache/femcg/copy_bandwidth.json\n";
const std::string run = "$femcg run $cases/minimal.yaml --device cpu --quiet --output made\n";
const std::string show = "grep -o '\"copy_bandwidth\": [0-9.e+]*' made/result.json\n";

}  // namespace

TEST_CASE("a run takes the copy bandwidth that was measured before") {
  // 1234567 bytes per second, which no machine measures.
  const Result result = shell(begin + "$femcg info --measure > info && sed -i 's/: [0-9.e+]*/: 1234567.0/' $kept\n" +
                              run + show + "$femcg info | grep copies; OMP_NUM_THREADS=2 $femcg info | grep copies\n" +
                              "$femcg info --measure > info; grep -c 1234567 $kept; ls cache/femcg");
  CHECK(contains(result.out, "\"copy_bandwidth\": 1234567.0\n"));
  CHECK(contains(result.out, "0.0 GB/s, read plus written, as measured before\n"));
  CHECK(contains(result.out, "not measured yet: femcg info --measure, or the first run\n"));  // with two threads
  CHECK(contains(result.out, "\n0\ncopy_bandwidth.json\n"));                                  // measured anew
}

TEST_CASE("a cache that is damaged or cannot be written changes nothing") {
  for (const std::string damage :
       {"mkdir -p $kept", "mkdir cache; touch cache/femcg", "mkdir -p cache/femcg; echo '{\"a' > $kept",
        "mkdir -p cache/femcg; echo '[1]' > $kept",
        "export XDG_CACHE_HOME=relative HOME=", "$femcg info --measure > info; sed -i 's/: [0-9.e+]*/: -1e3/' $kept",
        "$femcg info --measure > info; sed -i 's/: [0-9.e+]*/: \"fast\"/' $kept", "export XDG_CACHE_HOME=/dev/null"}) {
    CAPTURE(damage);
    const Result result = shell(begin + damage + "\n" + run + show + "ls; ls relative");
    CAPTURE(result.err);
    CHECK(contains(result.out, "\"copy_bandwidth\": "));
    CHECK_FALSE(contains(result.out, "\"copy_bandwidth\": -"));
    CHECK_FALSE(contains(result.out, "\"copy_bandwidth\": 0.0"));
    CHECK(contains(result.err, "ls: cannot access 'relative'"));
    CHECK(femcg::tests::lines(result.err) == 1);
  }
}

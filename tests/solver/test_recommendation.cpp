#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "solver/report/recommendation.hpp"

using namespace femcg;
using nlohmann::ordered_json;
using solver::Candidate;

namespace {

Candidate candidate(const char* label, double iteration, double set_up, double bytes = 0, double spread = 0) {
  return {label, iteration, iteration - spread, iteration + spread, set_up, bytes, 0};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

ordered_json record(const char* name, double rate, double conversion) {
  return {
      {"case", "box.yaml"},
      {"problem", {{"unknowns", 1000}}},
      {"sweep", ordered_json::object()},
      {"operator", {{"name", name}, {"options", ordered_json::object()}, {"precision", "double"}, {"device", "cpu"}}},
      {"seconds", {{"assembly", 1.0}, {"conversion", conversion}}},
      {"apply", {{"median_seconds", 0.5 / rate}}},
      {"solve", {{"iterations_per_second", rate}}},
      {"comparison", {{"status", "timed"}, {"right_hand_sides", 1}, {"expected_iterations", 100}}}};
}

}  // namespace

TEST_CASE("what is set up sooner is for one solution, what iterates faster for many") {
  // 100 iterations: 1 + 2 s and 4 + 1 s; 300 iterations that save 10 ms each pay for the additional 3 s of set-up.
  const std::string text =
      solver::recommendation({candidate("slow", 20e-3, 1, 2e9), candidate("fast", 10e-3, 4, 1e9)}, 100, false);
  CHECK(
      text ==
      "To solve once, use slow: set-up and the 100 iterations that are expected take 3.00 s, 1.00 s of them to set it "
      "up; with fast 5.00 s (67% more). To solve often, use fast: an iteration takes 10 ms, with slow 20 ms (100% "
      "more), "
      "since its product moves 1 GB and not 2 GB. Its set-up takes 3.00 s more than that of slow, which 300 iterations "
      "pay for.");
}

TEST_CASE("a time to solution has set-up and iterations, and says from how many solves on another takes less") {
  // Seconds for k solves of 100 iterations: 1 + 2 k, 4 + 1 k and 2 + 3 k.
  const auto times = solver::times_to_solution(
      {candidate("slow", 20e-3, 1), candidate("fast", 10e-3, 4), candidate("never", 30e-3, 2)}, 100);
  REQUIRE(times.size() == 3);
  CHECK(times[0].seconds == doctest::Approx(3));
  CHECK(times[0].solves == 4);  // for 3 solves both take 7 s
  CHECK(times[0].winner == "fast");
  CHECK(times[1].seconds == doctest::Approx(5));
  CHECK(times[1].solves == 1);
  CHECK(times[1].winner == "slow");
  CHECK(times[2].seconds == doctest::Approx(5));
  CHECK(times[2].solves == 1);
  CHECK(times[2].winner == "slow");
  const auto best = solver::times_to_solution({candidate("a", 1e-3, 1), candidate("b", 2e-3, 1)}, 10);
  CHECK(best[0].solves == 0);
  CHECK(best[0].winner.empty());
}

TEST_CASE("what is within 3% or within the spread is a tie") {
  const auto often = [](double other, double spread) {
    return solver::recommendation({candidate("a", 10e-3, 0, 0, spread), candidate("b", other, 0, 0, spread)}, 0, false);
  };
  CHECK(often(10.29e-3, 0) == "To solve often, a and b tie: 10 ms to 10.3 ms for an iteration.");
  CHECK(contains(often(10.31e-3, 0), "use a: an iteration takes 10 ms, with b 10.3 ms (3% more)"));
  CHECK(contains(often(11e-3, 0.6e-3), "a and b tie"));
  CHECK(contains(often(11e-3, 0.4e-3), "use a"));
}

TEST_CASE("one operator is nothing to choose from, and products need no set-up to be compared") {
  CHECK(solver::recommendation({candidate("a", 1, 1)}, 10, false).empty());
  CHECK(solver::recommendation({candidate("a", 1e-3, 1), candidate("b", 2e-3, 1)}, 10, true) ==
        "For many products, use a: a product takes 1 ms, with b 2 ms (100% more).");
}

TEST_CASE("records get one recommendation for each problem, at the fastest") {
  ordered_json records = ordered_json::array({record("csr", 100, 0), record("sell", 200, 5), record("csr", 100, 0)});
  records[2]["problem"]["unknowns"] = 2000;  // no other record of this problem
  records.push_back(record("jad", 400, 0));
  records[3]["comparison"]["status"] = "disagrees";
  solver::add_recommendations(records);
  CHECK_FALSE(records[0]["comparison"].contains("recommendation"));
  CHECK_FALSE(records[2]["comparison"].contains("recommendation"));
  CHECK_FALSE(records[3]["comparison"].contains("recommendation"));
  const std::string text = records[1]["comparison"]["recommendation"];
  CHECK(contains(text, "To solve once, use csr: set-up and the 100 iterations that are expected take 2.00 s"));
  CHECK(contains(text, "To solve often, use sell: an iteration takes 5 ms, with csr 10 ms (100% more)"));
  solver::add_times_to_solution(records);
  CHECK(records[0]["comparison"]["time_to_solution"] ==
        ordered_json{{"seconds", 2.0}, {"solves", 11}, {"winner", "sell"}});  // for 10 solves both take 11 s
  CHECK(records[1]["comparison"]["time_to_solution"]["seconds"] == 6.5);
  CHECK_FALSE(records[2]["comparison"].contains("time_to_solution"));
  CHECK_FALSE(records[3]["comparison"].contains("time_to_solution"));
}

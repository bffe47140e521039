// Wall times of a run's steps, which add up to the total.
#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "solver/messages/step_times.hpp"
#include "tests/program.hpp"

using namespace femcg::tests;
using femcg::solver::StepTimes;
using namespace std::chrono_literals;

namespace {

double seconds_of(const StepTimes& times, const std::string& name) {
  for (const auto& step : times.list())
    if (step.name == name) return step.seconds;
  return -1;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("every moment belongs to one step") {
  const auto begin = StepTimes::Clock::now();
  StepTimes times("first", begin - 1s);
  times.begin("loop", "cuda");
  std::this_thread::sleep_for(20ms);
  {
    const StepTimes::Within within(times, "check", "cpu");
    std::this_thread::sleep_for(30ms);
    {
      const StepTimes::Within deeper(times, "deeper", "cpu");
      std::this_thread::sleep_for(10ms);
    }
  }
  std::this_thread::sleep_for(10ms);
  times.divert("of the loop", "cuda", 0.005);
  const double least = seconds_since(begin) + 1, all = total(times.list()), most = seconds_since(begin) + 1;
  CHECK(all >= least);
  CHECK(all <= most);
  CHECK(seconds_of(times, "first") >= 1);
  CHECK(seconds_of(times, "check") >= 0.03);
  CHECK(seconds_of(times, "deeper") >= 0.01);
  CHECK(seconds_of(times, "loop") >= 0.025);  // both parts, minus the time moved to another step
  CHECK(seconds_of(times, "of the loop") == doctest::Approx(0.005));
  const auto list = times.list();
  REQUIRE(list.size() == 5);
  CHECK(list[1].name == "loop");
  CHECK(list[1].device == "cuda");
  CHECK(list[2].name == "check");
}

TEST_CASE("a step that begins again goes on, and devices have steps of their own") {
  StepTimes times("a", StepTimes::Clock::now());
  times.begin("b");
  times.begin("a");
  times.begin("b", "cuda");
  CHECK(times.list().size() == 3);
}

TEST_CASE("a process knows how old it is") {
  const auto begin = femcg::solver::start_of_process();
  CHECK(begin <= StepTimes::Clock::now());
  CHECK(seconds_since(begin) < 600);
}

TEST_CASE("the steps of a run add up to its wall time, in the summary and in result.json") {
  const auto begin = std::chrono::steady_clock::now();
  const Result result = shell(
      "$femcg run $cases/minimal.yaml --set equation.source=1 --set mesh.box.cells='[120,120]' --output made && "
      "echo == && cat made/result.json");
  const double outside = seconds_since(begin);
  REQUIRE(result.status == 0);
  const std::size_t border = result.out.find("\n==\n");
  REQUIRE(border != std::string::npos);
  const auto seconds = nlohmann::json::parse(result.out.substr(border + 4))["seconds"];
  double sum = 0;
  for (const auto& step : seconds["steps"]) {
    CHECK(step["seconds"].get<double>() >= 0);
    CHECK((step["device"] == "cpu" || step["device"] == "cuda"));
    sum += step["seconds"].get<double>();
  }
  const double all = seconds["total"].get<double>();
  CHECK(sum == doctest::Approx(all).epsilon(1e-9));
  CHECK(all <= outside + 0.02);  // the system gives the start time of a process to a hundredth of a second
  for (const char* key : {"mesh", "space", "assembly", "conversion", "transfer", "solve"}) {
    INFO(key);
    CHECK(seconds[key].get<double>() <= all);
  }
  const std::string summary = result.out.substr(0, border);
  for (const char* text : {"  time        starting ", " in all ", "100.0%"}) {
    INFO(text, summary);
    CHECK(contains(summary, text));
  }
}

#include <doctest/doctest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/backend/threads/thread_team.hpp"
#include "tests/threads.hpp"

namespace {

using namespace femcg::operators;
using femcg::tests::Threads;

/// Number of executions of each share.
std::vector<int> counted_shares() {
  std::vector<std::atomic<int>> done(64);
  std::atomic<int> shares = 0;
  for_shares([&](int share, int of) {
    ++done[share];
    shares = of;
  });
  return {done.begin(), done.begin() + shares};
}

TEST_CASE("each share is done once, whatever the number of threads") {
  for (const int threads : {1, 2, 3, 7, 2, 16, 1}) {
    const Threads set(threads);
    for (int job = 0; job < 2000; ++job) REQUIRE(counted_shares() == std::vector<int>(threads, 1));
  }
}

TEST_CASE("what one job has written the next one reads, share by share") {
  const Threads set(5);
  std::vector<std::int64_t> numbers(5, 0);
  constexpr int jobs = 20000;
  for (int job = 0; job < jobs; ++job)
    for_shares([&](int share, int shares) {
      // Increments the own value and reads the neighbour's, alternating: a share that ran early or late would miss one.
      if (job % 2 == 0)
        numbers[share] += 1;
      else if (numbers[(share + 1) % shares] != job / 2 + 1)
        throw std::logic_error("a share was late");
    });
  CHECK(numbers == std::vector<std::int64_t>(5, jobs / 2));
}

TEST_CASE("threads that have gone to sleep are woken") {
  const Threads set(3);
  for (int job = 0; job < 5; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::vector<std::thread::id> threads(3);
    const auto sleepy = [&](int share, int) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      threads[share] = std::this_thread::get_id();
    };
    bool others = false;
    for (int attempt = 0; attempt < 20 && !others; ++attempt) {
      for_shares(sleepy);
      others = std::ranges::count(threads, std::this_thread::get_id()) < 3;
    }
    CHECK(others);
  }
}

TEST_CASE("inside a share, a parallel region or another thread's job there is one share") {
  const Threads set(3);
  const auto shares_inside = [] {
    std::atomic<int> shares = 0;
    for_shares([&](int, int of) { shares = of; });
    return shares.load();
  };
  std::atomic<int> nested = 0;
  for_shares([&](int, int) { nested += shares_inside(); });
  CHECK(nested == 3);
  std::atomic<int> in_region = 0;
#pragma omp parallel
  in_region += shares_inside();
  CHECK(in_region == 3);
  int beside = 0;
  for_shares([&](int share, int) {
    if (share == 0) std::thread([&] { beside = shares_inside(); }).join();
  });
  CHECK(beside == 1);
}

TEST_CASE("the first share's exception arrives, and the next job is done") {
  const Threads set(4);
  for (int job = 0; job < 100; ++job) {
    CHECK_THROWS_WITH_AS(for_shares([](int share, int) {
                           if (share > 0) throw std::runtime_error("share " + std::to_string(share));
                         }),
                         "share 1", std::runtime_error);
    CHECK(counted_shares() == std::vector<int>(4, 1));
  }
}

TEST_CASE("a child process, which has none of the threads, has its own") {
  const Threads set(4);
  CHECK(counted_shares() == std::vector<int>(4, 1));
  const pid_t child = fork();
  if (child == 0) {
    const bool same = counted_shares() == std::vector<int>(4, 1);
    omp_set_num_threads(3);  // with a team of its own
    _exit(same && counted_shares() == std::vector<int>(3, 1) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("sums over blocks of rows do not depend on the number of threads") {
  const auto sum = [](int threads, std::int64_t rows) {
    const Threads set(threads);
    return sum_over_row_blocks(rows, EqualRows{}, [](std::int64_t first, std::int64_t last) {
      double part = 0;
      for (std::int64_t i = first; i < last; ++i) part += 1.0 / static_cast<double>(i + 1);
      return part;
    });
  };
  for (const std::int64_t rows : {0, 1, 511, 512, 513, 100000, 1000}) {
    const double one = sum(1, rows);
    for (const int threads : {2, 3, 8}) CHECK(sum(threads, rows) == one);
    double expected = 0;
    for (std::int64_t i = 0; i < rows; ++i) expected += 1.0 / static_cast<double>(i + 1);
    CHECK(one == doctest::Approx(expected).epsilon(1e-12));
  }
}

}  // namespace

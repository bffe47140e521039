// The search of run-time tuning, with made-up times of products.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "solver/tuning/search.hpp"

using namespace femcg::solver;

namespace {

using Seconds = std::function<double(const Setting&)>;

/// Option with `values` values, named by their indices.
TunedOption option(const std::string& name, std::size_t values, std::size_t start, bool converts = false) {
  TunedOption made{.name = name, .start = start, .converts = converts};
  for (std::size_t i = 0; i < values; ++i) made.values.push_back(std::to_string(i));
  return made;
}

/// Reports times of products until the search is over.
void search_on(Search& search, const Seconds& seconds) {
  for (int product = 0; !search.over(); ++product) {
    REQUIRE(product < 200);
    search.took(seconds(search.next()));
  }
}

/// Adds the noise of a busy machine: never faster, slower by about `noise`, and three times as slow in 3% of the
/// products.
Seconds with_noise(Seconds exact, double noise, unsigned seed) {
  return [exact = std::move(exact), noise, random = std::mt19937(seed)](const Setting& setting) mutable {
    std::exponential_distribution<double> slower(1 / noise);
    const bool far = std::uniform_real_distribution<double>()(random) < 0.03;
    return exact(setting) * (1 + slower(random)) * (far ? 3 : 1);
  };
}

double distance(std::size_t a, double b) { return std::abs(static_cast<double>(a) - b); }

/// Minimum at (4, 1, 3); the options interact weakly.
double valley(const Setting& at) {
  return 1e-3 * (1 + 0.2 * distance(at[0], 4) + 0.15 * distance(at[1], 1) + 0.1 * distance(at[2], 3) +
                 0.05 * distance(at[0] + at[1], 5));
}
std::vector<TunedOption> three_options() { return {option("a", 6, 1), option("b", 6, 3), option("c", 7, 2)}; }

}  // namespace

TEST_CASE("without noise the search comes to the fastest setting, one step at a time") {
  Search search(three_options());
  CHECK(search.next() == Setting{1, 3, 2});
  search_on(search, valley);
  CHECK(search.best() == Setting{4, 1, 3});
  CHECK(search.complete());
  CHECK(search.products().size() <= 64 + 2 * 6);
  const std::vector<double> fractions = search.fractions();
  REQUIRE(fractions.size() == search.products().size());
  CHECK(fractions.front() == doctest::Approx(valley({4, 1, 3}) / valley({1, 3, 2})));
  CHECK(fractions.back() == doctest::Approx(1));
  CHECK(std::ranges::is_sorted(fractions));
  // Every setting but the first differs by one step from a setting tried earlier.
  for (std::size_t i = 1; i < search.tried().size(); ++i) {
    const auto steps_to = [&](const Tried& other) {
      double steps = 0;
      for (std::size_t k = 0; k < 3; ++k)
        steps += distance(search.tried()[i].setting[k], static_cast<double>(other.setting[k]));
      return steps;
    };
    CHECK(std::any_of(search.tried().begin(), search.tried().begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const Tried& other) { return steps_to(other) == 1; }));
  }
}

TEST_CASE("where the start is the fastest it stays, for few products") {
  Search search({option("a", 6, 4), option("b", 6, 1), option("c", 7, 3)});
  search_on(search, valley);
  CHECK(search.best() == Setting{4, 1, 3});
  CHECK(search.products().size() <= 2 + 6 * 2);
}

TEST_CASE("with noise it comes near the fastest setting, and never keeps one that is slower than the start") {
  for (const double noise : {0.005, 0.03, 0.1}) {
    CAPTURE(noise);
    double sum = 0;
    constexpr int searches = 300;
    for (unsigned seed = 0; seed < searches; ++seed) {
      Search search(three_options());
      search_on(search, with_noise(valley, noise, seed));
      CHECK(valley(search.best()) <= valley(search.start()));
      sum += valley({4, 1, 3}) / valley(search.best());
    }
    CHECK(sum / searches > (noise < 0.01 ? 0.97 : noise < 0.05 ? 0.93 : 0.75));
  }
}

TEST_CASE("settings that are alike, or slower by little, do not take the start's place, however often one looks") {
  int changed = 0, slower = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    // Values above the start take 3% more, values below take the same time.
    const auto flat = [](const Setting& at) { return at[0] > 3 ? 1.03e-3 : 1e-3; };
    Search search({option("a", 7, 3)});
    search_on(search, with_noise(flat, 0.05, seed));
    changed += search.best() != search.start();
    slower += flat(search.best()) > 1e-3;
  }
  CHECK(slower == 0);
  CHECK(changed < 10);
}

TEST_CASE("a device that is slow at first makes no other setting look faster") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    int product = 0;
    const auto warming_up = [&](const Setting& at) {
      return (at[0] == 2 ? 1e-3 : 1.05e-3) * (++product < 8 ? 1.5 : 1);
    };
    Search search({option("a", 5, 2)});
    search_on(search, with_noise(warming_up, 0.005, seed));
    CHECK(search.best() == Setting{2});
  }
}

TEST_CASE(
    "on an H200's times of compressed rows 95% of the optimum are known by the fifth product, 98% by the eighth") {
  // Time of a product in microseconds by groups of threads, for degrees 1 to 4 in double and single precision with four
  // million unknowns (cases/h200/papers_figure_4.json, 5 and 6). The effects of the options are assumed independent.
  struct Times {
    double coop[6], repeat[4], block_size[6];  // 1 to 32; 1, 4, 16, 32; 64, 128, 192, 256, 384, 512
    std::size_t rule;                          // index of the rule's threads per row
  };
  const std::vector<Times> all{
      {{640, 199, 210, 293, 456, 814}, {309, 224, 210, 230}, {241, 224, 218, 216, 214, 215}, 2},
      {{158, 133, 169, 264, 432, 769}, {271, 185, 165, 182}, {200, 185, 182, 180, 180, 181}, 2},
      {{1521, 712, 369, 422, 514, 842}, {470, 374, 380, 432}, {414, 375, 370, 365, 366, 366}, 2},
      {{561, 440, 263, 358, 466, 790}, {369, 279, 262, 287}, {300, 278, 274, 271, 270, 271}, 2},
      {{2722, 854, 551, 559, 614, 863}, {754, 583, 556, 559}, {623, 582, 579, 568, 572, 583}, 3},
      {{853, 485, 406, 425, 543, 821}, {666, 462, 413, 410}, {504, 462, 462, 450, 453, 454}, 3},
      {{4492, 1517, 1032, 860, 755, 1014}, {1002, 870, 872, 892}, {801, 868, 760, 868, 878, 877}, 3},
      {{1499, 956, 748, 649, 643, 936}, {855, 678, 653, 658}, {628, 678, 577, 663, 663, 661}, 3}};
  double by_fifth = 0, by_eighth = 0, at_end = 0;
  int searches = 0;
  for (const Times& times : all)
    for (unsigned seed = 0; seed < 20; ++seed, ++searches) {
      const auto seconds = [&](const Setting& at) {
        return 1e-6 * times.coop[at[0]] * times.repeat[at[1]] * times.block_size[at[2]] / times.repeat[2] /
               times.block_size[1];
      };
      double optimum = 1;
      for (std::size_t c = 0; c < 6; ++c)
        for (std::size_t r = 0; r < 4; ++r)
          for (std::size_t b = 0; b < 6; ++b) optimum = std::min(optimum, seconds({c, r, b}));
      TunedOption repeat = option("repeat", 4, 3), coop = option("coop", 6, times.rule);
      repeat.up_first = coop.up_first = false;  // as in solver/tuning/tunable.cpp
      Search search({coop, repeat, option("block_size", 6, 1)});
      search_on(search, with_noise(seconds, 0.005, seed));
      REQUIRE(search.products().size() >= 9);
      // Optimum over the exact time of the setting with the least measured time so far.
      const auto known_by = [&](std::size_t products) {
        std::vector<std::size_t> made(search.tried().size(), 0);
        double least = 1, exact = 1;
        for (std::size_t i = 0; i < products; ++i) {
          const std::size_t which = search.products()[i];
          const double took = search.tried()[which].seconds[made[which]++];
          if (took < least) exact = seconds(search.tried()[which].setting);
          least = std::min(least, took);
        }
        return optimum / exact;
      };
      constexpr std::size_t before = 1;  // product that loads a GPU's kernels, before CG's first
      by_fifth += known_by(before + 5);
      by_eighth += known_by(before + 8);
      at_end += optimum / seconds(search.best());
      CHECK(seconds(search.best()) <= seconds(search.start()));
    }
  CHECK(by_fifth / searches >= 0.95);
  CHECK(by_eighth / searches >= 0.98);
  CHECK(at_end / searches >= 0.98);
}

TEST_CASE("a search ends where it has cost what it may") {
  const SearchLimits little{.lost = 1.5e-3};
  Search search(three_options());
  search.set_limits(little);
  search_on(search, [](const Setting& at) { return at == Setting{1, 3, 2} ? 1e-3 : 3e-3; });
  CHECK(search.best() == search.start());
  CHECK_FALSE(search.complete());
  CHECK(search.lost() == doctest::Approx(2e-3));  // lost by the product that exceeded the limit
  CHECK(search.tried().size() == 2);
  // Time lost while waiting for products counts too.
  Search waited(three_options());
  waited.set_limits({.lost = 1.7e-3, .of_waiting = 0.2e-3});
  search_on(waited, [](const Setting&) { return 1e-3; });
  CHECK(waited.products().size() == 4);
  // No setting is tried where a single product may exceed the limit.
  Search none(three_options());
  none.set_limits({.lost = 0.9e-3});
  search_on(none, [](const Setting&) { return 1e-3; });
  CHECK(none.tried().size() == 1);
}

TEST_CASE("a conversion is made where what it may gain over the products that are left is more than it costs") {
  const auto tried_with = [](double products_left, double conversion) {
    Search search({option("launch", 3, 1), option("conversion", 3, 1, true)});
    search.set_limits({.lost = 1, .conversion = conversion, .products_left = products_left});
    for (; !search.over(); search.took(1e-3))
      if (search.next()[1] != 1 && search.tried().back().seconds.empty()) search.converted(conversion);
    return search.tried().size();
  };
  CHECK(tried_with(1000, 0.05) == 5);  // a tenth of 1000 ms is more than 50 ms
  CHECK(tried_with(400, 0.05) == 3);   // a tenth of 400 ms is less than 50 ms
  CHECK(tried_with(1e6, 0.6) == 4);    // a second one would exceed the limit
  CHECK(tried_with(0, 0.05) == 5);     // regardless of the gain
}

TEST_CASE("what cannot be had is left, and a search without options is over") {
  Search search({option("a", 5, 2)});
  for (; !search.over();) {
    if (search.next()[0] > 2)
      search.refuse_next("too large");
    else
      search.took(search.next()[0] == 1 ? 0.8e-3 : 1e-3);
  }
  CHECK(search.best() == Setting{1});
  CHECK(search.tried()[1].refused == "too large");
  CHECK(search.tried()[1].seconds.empty());
  CHECK(Search({}).over());
}

TEST_CASE("a search that CG ends keeps the start") {
  Search search({option("a", 5, 2)});
  for (int product = 0; product < 7; ++product) search.took(search.next()[0] == 2 ? 1e-3 : 0.5e-3);
  CHECK_FALSE(search.over());
  search.end();
  CHECK(search.over());
  CHECK(search.best() == search.start());
}

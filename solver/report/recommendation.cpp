#include "solver/report/recommendation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "solver/messages/units.hpp"

namespace femcg::solver {

namespace {

using nlohmann::ordered_json;

constexpr double tie = 0.03;

/// A candidate with the time that it is ranked by.
struct Ranked {
  const Candidate* of;
  double seconds, spread;  ///< spread: half of the range of the repetitions
};

std::vector<Ranked> ranked(const std::vector<Candidate>& candidates, double iterations, bool with_set_up) {
  std::vector<Ranked> all;
  for (const Candidate& each : candidates)
    all.push_back({&each, (with_set_up ? each.set_up : 0) + iterations * each.median,
                   iterations * (each.maximum - each.minimum) / 2});
  std::ranges::stable_sort(all, {}, &Ranked::seconds);
  return all;
}

/// Candidates ranked by the time to one solution, or by product if iterations are not known.
std::vector<Ranked> ranked_to_the_end(const std::vector<Candidate>& candidates, double iterations, bool of_products) {
  const bool solved = iterations > 0 && !of_products;
  return ranked(candidates, solved ? iterations : 1, solved);
}

/// Number of leading candidates that are indistinguishable from the best.
std::size_t tied(const std::vector<Ranked>& all) {
  const auto differs = [&](const Ranked& other) {
    const Ranked& best = all.front();
    return other.seconds - best.seconds > std::max(tie * best.seconds, best.spread + other.spread);
  };
  return static_cast<std::size_t>(std::ranges::find_if(all, differs) - all.begin());
}

/// True if a candidate ties with the best.
bool is_tied(const Candidate& one, const std::vector<Ranked>& all) {
  return std::ranges::any_of(std::span(all).first(tied(all)), [&](const Ranked& each) { return each.of == &one; });
}

std::string names(const std::vector<Ranked>& all, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + all[i].of->label;
  return text;
}

std::string more(const Ranked& than, const Ranked& other) {
  return fmt::format("{} {} ({:.0f}% more)", other.of->label, duration(other.seconds),
                     100 * (other.seconds / than.seconds - 1));
}

std::string bytes(double number) { return scaled(number, "B"); }

/// Reason why one product is faster than another.
std::string why(const Candidate& best, const Candidate& next) {
  constexpr double clearly = 0.97;
  if (best.moved_bytes <= 0 || next.moved_bytes <= 0) return "";
  if (best.moved_bytes < clearly * next.moved_bytes)
    return fmt::format(", since its product moves {} and not {}", bytes(best.moved_bytes), bytes(next.moved_bytes));
  if (best.bandwidth_fraction > 0 && next.bandwidth_fraction < clearly * best.bandwidth_fraction)
    return fmt::format(", since its product comes to {:.0f}% of the speed of a copy and not {:.0f}%",
                       100 * best.bandwidth_fraction, 100 * next.bandwidth_fraction);
  return "";
}

std::string to_solve_once(const std::vector<Ranked>& all, double iterations) {
  const std::size_t alike = tied(all);
  const std::string what = fmt::format("set-up and the {:.0f} iterations that are expected", iterations);
  if (alike > 1)
    return fmt::format("To solve once, {} tie: {} to {} with {}.", names(all, alike), duration(all.front().seconds),
                       duration(all[alike - 1].seconds), what);
  return fmt::format("To solve once, use {}: {} take {}, {} of them to set it up; with {}.", all[0].of->label, what,
                     duration(all[0].seconds), duration(all[0].of->set_up), more(all[0], all[1]));
}

std::string to_solve_often(const std::vector<Ranked>& all, const Candidate* once, bool of_products) {
  const std::size_t alike = tied(all);
  const std::string purpose = of_products ? "For many products" : "To solve often";
  const std::string of_one = of_products ? "a product" : "an iteration";
  if (alike > 1)
    return fmt::format("{}, {} tie: {} to {} for {}.", purpose, names(all, alike), duration(all.front().seconds),
                       duration(all[alike - 1].seconds), of_one);
  const Candidate& best = *all[0].of;
  std::string text = fmt::format("{}, use {}: {} takes {}, with {}{}.", purpose, best.label, of_one,
                                 duration(all[0].seconds), more(all[0], all[1]), why(best, *all[1].of));
  if (once != nullptr && once != &best && best.set_up > once->set_up)
    text += fmt::format(" Its set-up takes {} more than that of {}, which {:.0f} iterations pay for.",
                        duration(best.set_up - once->set_up), once->label,
                        (best.set_up - once->set_up) / (once->median - best.median));
  return text;
}

double number(const ordered_json& record, const char* pointer) {
  const ordered_json::json_pointer at(pointer);
  return record.contains(at) && record.at(at).is_number() ? record.at(at).get<double>() : 0;
}

std::string text(const ordered_json& record, const char* pointer) {
  const ordered_json::json_pointer at(pointer);
  return record.contains(at) ? to_line(record.at(at)) : "";
}

std::string with_options(const std::string& name, const std::map<std::string, std::string>& options) {
  return options.empty() ? name : fmt::format("{} ({})", name, listed(options));
}

/// Key of a record's group, within which operators are compared.
std::string group_of(const ordered_json& record) {
  std::string group;
  for (const char* pointer : {"/case", "/set", "/problem", "/operator/precision", "/operator/device", "/machine/device",
                              "/machine/threads", "/comparison/right_hand_sides"})
    group += text(record, pointer) + "\n";
  for (const auto& [key, value] : record.at("sweep").items())
    if (!record.contains(ordered_json::json_pointer("/operator/options/" + key))) group += key + to_line(value) + "\n";
  return group;
}

Candidate candidate_of(const ordered_json& record, bool of_products) {
  Candidate candidate;
  std::map<std::string, std::string> options;
  if (record["operator"].contains("options"))
    for (const auto& [key, value] : record["operator"]["options"].items())
      options[key] = value.is_string() ? value.get<std::string>() : to_line(value);
  candidate.label = with_options(record["operator"].value("name", "?"), options);
  const double sides = std::max(1.0, number(record, "/comparison/right_hand_sides"));
  const auto seconds = [&](const char* rate) { return number(record, rate) > 0 ? sides / number(record, rate) : 0; };
  if (of_products) {
    candidate.median = number(record, "/apply/median_seconds");
    candidate.minimum = number(record, "/apply/minimum_seconds");
    candidate.maximum = number(record, "/apply/maximum_seconds");
  } else {
    candidate.median = seconds("/solve/iterations_per_second");
    candidate.minimum = seconds("/comparison/iterations_per_second_maximum");
    candidate.maximum = seconds("/comparison/iterations_per_second_minimum");
  }
  candidate.set_up = number(record, "/seconds/assembly") + number(record, "/seconds/conversion");
  candidate.moved_bytes = number(record, "/operator/moved_bytes");
  candidate.bandwidth_fraction = number(record, "/apply/bandwidth_fraction");
  return candidate;
}

/// Operators of a group of records.
struct Group {
  explicit Group(const std::vector<ordered_json*>& group)
      : of_products(std::ranges::none_of(
            group, [](const ordered_json* record) { return number(*record, "/solve/iterations_per_second") > 0; })) {
    for (ordered_json* record : group) {
      Candidate candidate = candidate_of(*record, of_products);
      if (candidate.median <= 0) continue;
      candidates.push_back(std::move(candidate));
      records.push_back(record);
      iterations = std::max({iterations, number(*record, "/comparison/expected_iterations"),
                             number(*record, "/comparison/auto/iterations")});
    }
  }

  bool of_products;
  std::vector<Candidate> candidates;
  std::vector<ordered_json*> records;  ///< of each candidate
  double iterations = 0;
};

/// Groups of comparable records.
std::vector<Group> groups_of(ordered_json& records) {
  std::map<std::string, std::vector<ordered_json*>> groups;
  for (ordered_json& record : records)
    if (text(record, "/comparison/status") == "\"timed\"") groups[group_of(record)].push_back(&record);
  std::vector<Group> all;
  for (const auto& [key, group] : groups) all.emplace_back(group);
  return all;
}

}  // namespace

std::string recommendation(const std::vector<Candidate>& candidates, double iterations, bool of_products) {
  if (candidates.size() < 2) return "";
  std::string text;
  const Candidate* once = nullptr;
  if (iterations > 0 && !of_products) {
    const std::vector<Ranked> all = ranked(candidates, iterations, true);
    once = all.front().of;
    text = to_solve_once(all, iterations) + " ";
  }
  return text + to_solve_often(ranked(candidates, 1, false), once, of_products);
}

std::vector<TimeToSolution> times_to_solution(const std::vector<Candidate>& candidates, double iterations) {
  std::vector<TimeToSolution> times;
  for (const Candidate& one : candidates) {
    TimeToSolution time{one.label, one.set_up + iterations * one.median, 0, ""};
    const auto seconds = [&](const Candidate& of, double solves) {
      return of.set_up + solves * iterations * of.median;
    };
    for (const Candidate& other : candidates) {
      // Least number of solves, from 1 on, for which the other operator is faster.
      double solves = 1;
      if (seconds(other, 1) >= time.seconds) {
        if (other.median >= one.median) continue;
        solves = std::floor((other.set_up - one.set_up) / (iterations * (one.median - other.median))) + 1;
      }
      const auto count = static_cast<std::int64_t>(solves);
      const auto* before = time.solves > 0 ? &*std::ranges::find(candidates, time.winner, &Candidate::label) : nullptr;
      if (before == nullptr || count < time.solves ||
          (count == time.solves && seconds(other, solves) < seconds(*before, solves))) {
        time.solves = count;
        time.winner = other.label;
      }
    }
    times.push_back(std::move(time));
  }
  return times;
}

namespace {

/// Timed rows, and the expected number of CG iterations.
struct Contest {
  explicit Contest(const std::vector<const BenchmarkResult*>& timed)
      : of_products(std::ranges::all_of(timed, [](const BenchmarkResult* row) { return row->iteration.empty(); })) {
    for (const BenchmarkResult* row : timed) {
      if (row->iteration.empty() && !of_products) continue;
      const Record& r = row->record;
      const Samples& samples = row->ranked();
      const double sides = of_products ? 1 : row->right_hand_sides;
      rows.push_back(row);
      candidates.push_back({with_options(r.op.name, r.op.options), sides * samples.median(), sides * samples.minimum(),
                            sides * samples.maximum(), r.seconds.assembly + r.seconds.conversion,
                            static_cast<double>(r.footprint.moved_bytes), r.bandwidth_fraction()});
      iterations = std::max(iterations, row->expected_iterations.value_or(0));
    }
  }

  std::vector<Ranked> to_the_end() const { return ranked_to_the_end(candidates, iterations, of_products); }

  bool of_products;
  std::vector<Candidate> candidates;
  std::vector<const BenchmarkResult*> rows;  ///< of each candidate
  double iterations = 0;
};

}  // namespace

bool ties_with_best(const BenchmarkResult& row, const std::vector<const BenchmarkResult*>& timed) {
  const Contest contest(timed);
  const auto place = std::ranges::find(contest.rows, &row) - contest.rows.begin();
  if (place == std::ssize(contest.rows)) return false;
  return is_tied(contest.candidates[static_cast<std::size_t>(place)], contest.to_the_end());
}

std::string recommendation(const std::vector<const BenchmarkResult*>& timed) {
  const Contest contest(timed);
  return recommendation(contest.candidates, contest.iterations, contest.of_products);
}

std::string times_to_solution(const std::vector<const BenchmarkResult*>& timed) {
  const Contest contest(timed);
  if (contest.of_products || contest.iterations == 0 || contest.candidates.size() < 2) return "";
  std::vector<TimeToSolution> times = times_to_solution(contest.candidates, contest.iterations);
  std::ranges::stable_sort(times, {}, &TimeToSolution::seconds);
  std::string text = "Time to solution:";
  for (const TimeToSolution& time : times) {
    text += fmt::format("{} {} {}", &time == &times.front() ? "" : ",", time.label, duration(time.seconds));
    if (time.solves > 1) text += fmt::format(" (from {} solves on {} takes less)", time.solves, time.winner);
  }
  return text + ".";
}

void add_recommendations(ordered_json& records) {
  for (Group& group : groups_of(records)) {
    const std::string sentences = recommendation(group.candidates, group.iterations, group.of_products);
    if (sentences.empty()) continue;
    const auto fastest = std::ranges::min_element(group.candidates, {}, &Candidate::median) - group.candidates.begin();
    (*group.records[static_cast<std::size_t>(fastest)])["comparison"]["recommendation"] = sentences;
  }
}

void add_times_to_solution(ordered_json& records) {
  for (Group& group : groups_of(records)) {
    for (std::size_t i = 0; i < group.records.size(); ++i)
      if (ordered_json& of = (*group.records[i])["comparison"]; of.contains("auto"))
        of["auto"]["ties"] =
            is_tied(group.candidates[i], ranked_to_the_end(group.candidates, group.iterations, group.of_products));
    if (group.of_products || group.iterations == 0 || group.candidates.size() < 2) continue;
    const std::vector<TimeToSolution> times = times_to_solution(group.candidates, group.iterations);
    for (std::size_t i = 0; i < times.size(); ++i) {
      ordered_json& of = (*group.records[i])["comparison"]["time_to_solution"];
      of = {{"seconds", times[i].seconds}};
      if (times[i].solves == 0) continue;
      of["solves"] = times[i].solves;
      of["winner"] = times[i].winner;
    }
  }
}

}  // namespace femcg::solver

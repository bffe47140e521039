#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "solver/messages/sentence.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/messages/units.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

namespace {

std::string explanation(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::max_iterations:
      return "NOT converged: max_iterations reached";
    case StopReason::indefinite:
      return "NOT converged: the operator is not positive definite";
    case StopReason::not_finite:
      return "NOT converged: a number overflowed or was not finite";
    case StopReason::stagnated:
      return "NOT converged: rounding keeps the residual above the tolerance";
    case StopReason::interrupted:
      return "interrupted";
  }
  return "";
}

/// Width of a table column in characters.
constexpr std::size_t width = 16;
constexpr std::size_t label_width = 11;

/// Label of the solution at the beginning of a line.
std::string label_of(const SolutionLabel& solution) { return on_one_line(solution.name, label_width); }

void line(std::string& text, std::string_view label, const std::string& content) {
  text += fmt::format("  {:<{}} {}\n", label, label_width, content);
}

void describe_problem(std::string& text, const Record& r) {
  const ProblemSize& p = r.problem;
  line(text, "mesh",
       fmt::format("{} {}{}, {}", grouped(p.cells), plural(p.shape),
                   p.geometric_order > 1 ? fmt::format(" of order {}", p.geometric_order) : "",
                   p.axisymmetric ? "of a body of revolution" : fmt::format("{}D", p.dimension)));
  line(text, "space", fmt::format("degree {}, {} dofs, {} unknowns", p.degree, grouped(p.dofs), grouped(p.unknowns)));
  line(text, "quadrature",
       is_tensor(p.shape) ? fmt::format("{} Gauss points a direction", p.quadrature)
                          : fmt::format("exact to degree {}", 2 * (p.quadrature - 1)));
  std::string options;
  for (const auto& [option, value] : r.op.options) options += fmt::format(" {}={}", option, value);
  line(text, "operator",
       fmt::format("{}{}, {} precision, on {}, {} thread{}", r.op.name, options, name(r.precision), name(r.device),
                   r.machine.threads, r.machine.threads == 1 ? "" : "s"));
  if (r.automatic_op) line(text, "", "auto: " + r.why);
  if (!r.why_device.empty()) line(text, "", "device auto: " + r.why_device);
  std::map<std::string, std::string> chosen = r.chosen;
  std::erase_if(chosen, [&](const auto& option) { return r.op.options.contains(option.first); });
  if (!chosen.empty()) line(text, "", "chosen: " + listed(chosen));
  if (!r.tuning) return;
  line(text, "tuning", r.tuning->why);
  for (bool first = true; const std::string& settings : tried_settings(*r.tuning)) {
    line(text, "", (first ? "tried: " : "       ") + settings);
    first = false;
  }
}

/// Adds a line per level of the preconditioner, finest first.
void describe_levels(std::string& text, const Record& r) {
  for (const LevelSummary& level : r.hierarchy) {
    std::string more;
    if (level.largest_eigenvalue > 0) more += fmt::format(", largest eigenvalue {:.3g}", level.largest_eigenvalue);
    if (level.blocks > 0) more += fmt::format(", {} blocks of bad cells inverted", grouped(level.blocks));
    line(text, &level == r.hierarchy.data() ? "levels" : "",
         fmt::format("{}: {} unknowns, {}, {}{}", level.kind, grouped(level.unknowns),
                     level.operator_name.empty() ? r.op.name : level.operator_name,
                     scaled(static_cast<double>(level.bytes), "B"), more));
  }
}

void describe_cost(std::string& text, const Record& r) {
  line(text, "memory",
       fmt::format("operator {}, peak of the program {}", scaled(static_cast<double>(r.footprint.stored_bytes), "B"),
                   scaled(static_cast<double>(r.peak_memory_bytes), "B")));
  if (!r.apply.empty())
    line(text, "product",
         fmt::format("{} (median), moves {} at {}{}", duration(r.apply.median()),
                     scaled(static_cast<double>(r.footprint.moved_bytes), "B"), scaled(r.minimum_bandwidth(), "B/s"),
                     r.machine.copy_bandwidth > 0 && r.footprint.link_bytes == 0
                         ? fmt::format(", {:.0f}% of the copy bandwidth", 100 * r.bandwidth_fraction())
                         : ""));
  if (!r.apply.empty() && r.footprint.link_bytes > 0) line(text, "", streaming(r));
  line(text, "CG",
       fmt::format("{} in {} iterations{}, {}{}, preconditioner {}", explanation(r.solve.reason), r.solve.iterations,
                   r.loads.size() < 2 ? "" : fmt::format(" for {} loads", r.loads.size()), name(r.solve.method),
                   r.solve.loop == CgLoop::persistent ? " in one persistent kernel"
                   : r.solve.loop == CgLoop::fused    ? " inside the product"
                                                      : "",
                   r.preconditioner.name));
  if (!r.preconditioner_chosen.empty())
    line(text, "",
         fmt::format("{}: {}, made in {}", r.preconditioner.name, listed(r.preconditioner_chosen),
                     duration(r.seconds.preconditioner)));
  if (!r.why_preconditioner.empty()) line(text, "", "preconditioner auto: " + r.why_preconditioner);
  describe_levels(text, r);
  line(text, "",
       fmt::format("relative residual {:.2e}, true {:.2e}{}", r.solve.relative_residual, r.solve.true_relative_residual,
                   std::isfinite(r.solve.energy_error)
                       ? fmt::format(", error {:.1e} of the solution in energy", r.solve.energy_error)
                       : ""));
  line(text, "",
       fmt::format("{} in the loop: {:.1f} iterations/s, {}", duration(r.solve.seconds), r.iterations_per_second(),
                   scaled(r.unknowns_per_second(), "unknowns/s")));
}

/// Adds the wall time of each step on a line; negligible steps share one.
void describe_times(std::string& text, const Record& r) {
  constexpr double notable = 0.005;
  const double all = total(r.steps);
  if (!(all > 0)) return;
  const auto row = [&](std::string_view label, const std::string& step, double seconds, const std::string& device) {
    line(text, label,
         fmt::format("{:<40} {:>9.3f} s {:>6.1f}%{}", on_one_line(step, 40), seconds, 100 * seconds / all,
                     device.empty() ? "" : "  on " + device));
  };
  double rest = 0;
  std::string_view label = "time";
  for (const StepSeconds& step : r.steps) {
    if (step.seconds < notable * all) {
      rest += step.seconds;
      continue;
    }
    row(std::exchange(label, ""), step.name, step.seconds, step.device);
  }
  if (rest > 0) row(label, "other steps", rest, "");
  row("", "in all", all, "");
}

/// Direction of kappa du/dn through a boundary.
std::string_view in_or_out(double flux) { return flux > 0 ? "in" : flux < 0 ? "out" : ""; }

/// Number as text; "-" for NaN, such as the mean of a group without facets.
std::string or_none(double value) { return std::isnan(value) ? "-" : fmt::format("{:.6g}", value); }

std::string balance_text(const Balance& balance) {
  return fmt::format("in {:.6g} + sources {:.6g} - out {:.6g} - sinks {:.6g}, relative imbalance {:.1e}", balance.in,
                     balance.sources, balance.out, balance.sinks, balance.relative_error());
}

/// Number of digits that resolves the variation of u, whose offset may be much larger; at least `least`.
int digits_of(const Quantities& q, int least) {
  constexpr int most = 17, beyond = 9;
  const double range = q.maximum - q.minimum, size = std::max(std::abs(q.minimum), std::abs(q.maximum));
  if (!(range > 0) || !std::isfinite(size)) return least;
  return std::clamp(static_cast<int>(std::ceil(std::log10(size / range))) + least + 5 - beyond, least, most);
}

/// u, or a mean of it; "-" if a group has no facets.
std::string value_text(double value, const Quantities& q, int least = 9) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}g}", value, digits_of(q, least));
}

/// Adds a line per region and boundary group.
void describe_parts(std::string& text, const Record& r) {
  const Quantities& q = *r.quantities;
  const bool plane = r.problem.dimension == 2 && !r.problem.axisymmetric;
  const auto columns = [](const std::string& what, const auto&... values) {
    std::string cells = fmt::format("{:<{}}", on_one_line(what, width - 3), width);
    ((cells += fmt::format(" {:>12}", values)), ...);
    return cells;
  };
  const auto mean = [&](double value) { return value_text(value, q, 6); };
  line(text, "region", columns("", plane ? "area" : "volume", "mean"));
  for (const auto& [name, region] : q.regions) line(text, "", columns(name, or_none(region.volume), mean(region.mean)));
  if (!q.groups.empty())
    line(text, "group",
         columns("", plane ? "length" : "area", "mean", "minimum", "maximum") + fmt::format(" {:>15}", "flux"));
  for (const auto& [name, group] : q.groups)
    line(text, "",
         columns(name, or_none(group.area), mean(group.mean), mean(group.minimum), mean(group.maximum)) +
             fmt::format(" {:>15}{}{}", fmt::format("{:.9g}", std::abs(group.flux)), group.flux == 0 ? "" : " ",
                         in_or_out(group.flux)));
  line(text, "balance", balance_text(q.balance));
}

/// Ratio of an error to the norm of the exact solution.
std::string relative(double error, double norm) { return norm > 0 ? fmt::format(" ({:.2e} of it)", error / norm) : ""; }

void describe_solution(std::string& text, const Record& r) {
  if (!r.quantities) return;
  const Quantities& q = *r.quantities;
  line(text, label_of(r.solution),
       fmt::format("from {} to {}{}{}, integral {:.9g}", value_text(q.minimum, q), value_text(q.maximum, q),
                   r.solution.unit.empty() ? "" : " ", on_one_line(r.solution.unit, width), q.integral));
  describe_parts(text, r);
  for (const auto& [probe, value] : q.probes)
    line(text, "probe", fmt::format("{:<16} {}{}", probe, std::signbit(value) ? "" : " ", value_text(value, q)));
  if (r.errors)
    line(text, "error",
         fmt::format("L2 {:.3e}{}, H1 {:.3e}{}", r.errors->l2, relative(r.errors->l2, r.errors->norm_l2), r.errors->h1,
                     relative(r.errors->h1, r.errors->norm_h1)));
}

/// Adds a line of a table: a label, a description, and a value for each of some loads.
template <class Cell>
void row(std::string& text, std::string_view label, const std::string& what, std::span<const LoadRecord> loads,
         const Cell& cell) {
  std::string cells;
  for (const LoadRecord& load : loads) cells += fmt::format(" {:>{}}", cell(load), width);
  line(text, label, fmt::format("{:<16}{}", what, cells));
}

/// Adds tables with a column per load, as many columns side by side as fit the terminal.
void describe_loads(std::string& text, const Record& r) {
  constexpr std::size_t of_labels = 2 + label_width + 1 + width;
  const std::size_t beside = (terminal_width() - of_labels) / (width + 1);
  const auto value = [](const auto& of) {
    return [of](const LoadRecord& load) {
      return load.quantities ? value_text(of(*load.quantities), *load.quantities) : std::string("-");
    };
  };
  const bool numbered = std::ranges::any_of(r.loads, [](const LoadRecord& load) { return load.name.size() > width; });
  const auto title = [&](const LoadRecord& load) {
    return numbered ? std::to_string(&load - r.loads.data() + 1) : on_one_line(load.name, width);
  };
  for (std::size_t i = 0; numbered && i < r.loads.size(); ++i)
    line(text, "load", fmt::format("{:<3} {}", i + 1, on_one_line(r.loads[i].name, 100)));
  for (std::size_t first = 0; first < r.loads.size(); first += beside) {
    const auto loads = std::span(r.loads).subspan(first, std::min(beside, r.loads.size() - first));
    row(text, "load", "", loads, title);
    row(text, "CG", "iterations", loads, [](const LoadRecord& load) { return std::to_string(load.solve.iterations); });
    row(text, "", "true residual", loads, [](const LoadRecord& load) {
      return load.begun ? fmt::format("{:.2e}", load.solve.true_relative_residual) : "-";
    });
    if (std::ranges::any_of(loads, [](const LoadRecord& load) { return load.solve.reason != StopReason::converged; }))
      row(text, "", "reason", loads, [](const LoadRecord& load) { return std::string(name(load.solve.reason)); });
    row(text, label_of(r.solution), "minimum", loads, value([](const Quantities& q) { return q.minimum; }));
    row(text, "", "maximum", loads, value([](const Quantities& q) { return q.maximum; }));
    row(text, "", "integral", loads, value([](const Quantities& q) { return q.integral; }));
    const auto& known = loads.front().quantities;
    if (!known) continue;
    for (const auto& [group, ignored] : known->flux)
      row(text, "flux", on_one_line(group, width), loads, [&name = group](const LoadRecord& load) {
        if (!load.quantities) return std::string("-");
        const double flux = load.quantities->flux.at(name);
        return fmt::format("{:.6g}{}{}", std::abs(flux), flux == 0 ? "" : " ", in_or_out(flux));
      });
    for (const auto& [group, ignored] : known->groups)
      row(text, "mean", on_one_line(group, width), loads,
          value([&name = group](const Quantities& q) { return q.groups.at(name).mean; }));
    row(text, "balance", "", loads, [](const LoadRecord& load) {
      return load.quantities ? fmt::format("{:.1e}", load.quantities->balance.relative_error()) : std::string("-");
    });
    for (std::size_t probe = 0; probe < known->probes.size(); ++probe)
      row(text, "probe", on_one_line(known->probes[probe].first, width), loads,
          value([probe](const Quantities& q) { return q.probes[probe].second; }));
  }
}

/// Adds the matrix between the terminals, with its row sums, which are the fluxes to all else.
void describe_terminals(std::string& text, const Record& r) {
  if (r.terminals.empty()) return;
  std::string titles = fmt::format("{:<16}", "");
  for (const LoadRecord& load : r.loads) titles += fmt::format(" {:>{}}", on_one_line(load.name, width), width);
  line(text, "terminals", titles + fmt::format(" {:>{}}", "sum", width));
  for (std::size_t i = 0; i < r.terminals.size(); ++i) {
    const std::vector<double>& row = r.terminals[i];
    std::string cells = fmt::format("{:<16}", on_one_line(r.loads[i].name, width));
    for (const double each : row) cells += fmt::format(" {:>{}.9g}", each, width);
    line(text, "", cells + fmt::format(" {:>{}.3g}", std::accumulate(row.begin(), row.end(), 0.0), width));
  }
}

}  // namespace

std::string streaming(const Record& r) {
  const std::string of_link = r.machine.link_bandwidth > 0 ? fmt::format(", {:.0f}% of what its link has",
                                                                         100 * r.link_rate() / r.machine.link_bandwidth)
                                                           : "";
  return fmt::format("{} of {} come from the host each time, {}{}",
                     scaled(static_cast<double>(r.footprint.link_bytes), "B"),
                     scaled(static_cast<double>(r.footprint.stored_bytes), "B"), scaled(r.link_rate(), "B/s"), of_link);
}

std::string_view plural(mesh::CellShape shape) {
  constexpr std::array<std::string_view, 4> names{"quadrilaterals", "triangles", "hexahedra", "tetrahedra"};
  return names[static_cast<int>(shape)];
}

std::string summary(const Record& record) {
  std::string text;
  describe_problem(text, record);
  describe_cost(text, record);
  describe_solution(text, record);
  describe_loads(text, record);
  describe_terminals(text, record);
  describe_times(text, record);
  for (const std::string& warning : record.warnings) line(text, "note", warning);
  return text;
}

std::string to_text(const FileBytes& files) {
  if (files.written == 0) return "";
  return fmt::format(", {} for pictures, of about {} that were expected",
                     scaled(static_cast<double>(files.written), "B"), scaled(static_cast<double>(files.expected), "B"));
}

}  // namespace femcg::solver

#include "solver/records/study_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "solver/records/study_changes.hpp"

namespace femcg::solver {

namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> of_cells{"mesh.refine", "mesh.size", "mesh.box.cells", "mesh.box.dofs"};

bool changes_cells(const std::string& key) { return std::ranges::find(of_cells, key) != of_cells.end(); }

/// A column of the file: its title, and its text for a point, and for one of its loads if it has several.
struct Column {
  std::string title;
  std::function<std::string(std::size_t point, const LoadRecord* load)> text;
};

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.12g}", value) : ""; }

const std::optional<Quantities>& quantities_of(const StudyPoint& point, const LoadRecord* load) {
  static const std::optional<Quantities> none;
  if (load != nullptr) return load->quantities;
  return point.record ? point.record->quantities : none;
}

/// Names of groups or probes that any point has, in their order.
template <class Names>
std::vector<std::string> names_of(const StudyRecord& study, const Names& of) {
  std::vector<std::string> all;
  const auto add = [&](const std::optional<Quantities>& quantities) {
    if (!quantities) return;
    for (const auto& entry : of(*quantities))
      if (std::ranges::find(all, entry.first) == all.end()) all.push_back(entry.first);
  };
  for (const StudyPoint& point : study.points) {
    if (!point.record) continue;
    add(point.record->quantities);
    for (const LoadRecord& load : point.record->loads) add(load.quantities);
  }
  return all;
}

void add_sizes(const StudyRecord& study, std::vector<Column>& columns) {
  const auto of_record = [&](const std::string& title, auto text) {
    columns.push_back({title, [&study, text](std::size_t i, const LoadRecord*) {
                         const auto& record = study.points[i].record;
                         return record ? std::string(text(*record)) : "";
                       }});
  };
  of_record("cells", [](const Record& r) { return std::to_string(r.problem.cells); });
  of_record("dofs", [](const Record& r) { return std::to_string(r.problem.dofs); });
  of_record("unknowns", [](const Record& r) { return std::to_string(r.problem.unknowns); });
  of_record("operator", [](const Record& r) { return csv_field(r.op.name); });
  of_record("device", [](const Record& r) { return name(r.device); });
  columns.push_back(
      {"seconds", [&study](std::size_t i, const LoadRecord*) { return number(study.points[i].seconds); }});
  of_record("mesh_seconds", [](const Record& r) { return number(r.seconds.mesh); });
  of_record("space_seconds", [](const Record& r) { return number(r.seconds.space); });
  of_record("set_up_seconds", [](const Record& r) { return number(r.seconds.set_up()); });
  of_record("solve_seconds", [](const Record& r) { return number(r.seconds.solve); });
  columns.push_back({"solved_together", [&study](std::size_t i, const LoadRecord*) {
                       return study.points[i].record ? std::to_string(study.points[i].together) : "";
                     }});
  const auto of_solve = [&](const std::string& title, auto text) {
    columns.push_back({title, [&study, text](std::size_t i, const LoadRecord* load) {
                         const auto& record = study.points[i].record;
                         return !record ? "" : std::string(text(load != nullptr ? load->solve : record->solve));
                       }});
  };
  of_solve("loop_seconds", [](const CgResult& r) { return number(r.seconds); });
  of_solve("iterations", [](const CgResult& r) { return std::to_string(r.iterations); });
  of_solve("relative_residual", [](const CgResult& r) { return number(r.relative_residual); });
  of_solve("true_relative_residual", [](const CgResult& r) { return number(r.true_relative_residual); });
}

void add_quantities(const StudyRecord& study, std::vector<Column>& columns) {
  const auto of = [&](const std::string& title, auto value) {
    columns.push_back({title, [&study, value](std::size_t i, const LoadRecord* load) {
                         const auto& quantities = quantities_of(study.points[i], load);
                         return quantities ? number(value(*quantities)) : "";
                       }});
  };
  of("minimum", [](const Quantities& q) { return q.minimum; });
  of("maximum", [](const Quantities& q) { return q.maximum; });
  of("integral", [](const Quantities& q) { return q.integral; });
  for (const std::string& group : names_of(study, [](const Quantities& q) { return q.groups; })) {
    const auto value = [group](auto member) {
      return [group, member](const Quantities& q) {
        const auto found = q.groups.find(group);
        return found == q.groups.end() ? std::nan("") : found->second.*member;
      };
    };
    of("flux of " + group, value(&GroupQuantities::flux));
    of("mean of " + group, value(&GroupQuantities::mean));
  }
  for (const std::string& probe : names_of(study, [](const Quantities& q) { return q.probes; }))
    of("u at " + probe, [probe](const Quantities& q) {
      const auto found = std::ranges::find(q.probes, probe, [](const auto& entry) { return entry.first; });
      return found == q.probes.end() ? std::nan("") : found->second;
    });
}

void add_errors(const StudyRecord& study, std::vector<Column>& columns) {
  if (std::ranges::none_of(study.points, [](const StudyPoint& p) { return p.record && p.record->errors; })) return;
  const auto of = [&](const std::string& title, auto value) {
    columns.push_back({title, [&study, value](std::size_t i, const LoadRecord*) {
                         const auto& record = study.points[i].record;
                         return record && record->errors ? number(value(*record->errors)) : "";
                       }});
  };
  of("error_l2", [](const Errors& e) { return e.l2; });
  of("error_h1", [](const Errors& e) { return e.h1; });
  of("relative_error_l2", [](const Errors& e) { return e.l2 / e.norm_l2; });
  of("relative_error_h1", [](const Errors& e) { return e.h1 / e.norm_h1; });
  for (const bool l2 : {true, false})
    columns.push_back({l2 ? "rate_l2" : "rate_h1", [&study, l2](std::size_t i, const LoadRecord*) {
                         const auto rate = study.rate(i);
                         return rate ? number(l2 ? rate->l2 : rate->h1) : "";
                       }});
}

/// Adds columns with the change of each quantity from the point before, and its observed rate. `changes` must outlive
/// the columns.
void add_changes(const std::vector<QuantityChanges>& changes, std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const QuantityChanges& each : changes)
    if (std::ranges::find(names, each.name) == names.end()) names.push_back(each.name);
  for (const std::string& name : names) {
    const auto at = [&changes, name](std::size_t point, const LoadRecord* load, auto value) {
      for (const QuantityChanges& each : changes) {
        if (each.name != name || each.load != (load != nullptr ? load->name : "")) continue;
        const auto k = static_cast<std::size_t>(std::ranges::find(each.points, point) - each.points.begin());
        if (k < each.points.size()) return number(value(each, k));
      }
      return std::string();
    };
    columns.push_back({"change of " + name, [at](std::size_t i, const LoadRecord* load) {
                         return at(i, load, [](const QuantityChanges& of, std::size_t k) {
                           return k == 0 ? std::nan("") : of.values[k] - of.values[k - 1];
                         });
                       }});
    if (std::ranges::none_of(changes, [&](const auto& of) { return of.name == name && !of.rates.empty(); })) continue;
    columns.push_back({"rate of " + name, [at](std::size_t i, const LoadRecord* load) {
                         return at(i, load, [](const QuantityChanges& of, std::size_t k) {
                           return k < 2 || of.rates.empty() ? std::nan("") : of.rates[k - 2];
                         });
                       }});
  }
}

}  // namespace

std::string StudyPoint::status() const {
  return !failure.empty() ? "failed" : record ? std::string(name(record->solve.reason)) : "not begun";
}

std::optional<std::size_t> StudyRecord::point_before(std::size_t point) const {
  const StudyPoint& fine = points[point];
  if (!fine.record) return std::nullopt;
  const bool refines = std::ranges::any_of(keys, changes_cells);
  for (std::size_t i = point; i-- > 0;) {
    const StudyPoint& coarse = points[i];
    if (!coarse.record) continue;
    const auto others = std::ranges::count_if(keys, [&](const std::string& key) {
      return !changes_cells(key) && coarse.values.at(key) != fine.values.at(key);
    });
    if (refines ? others == 0 && coarse.record->problem.cells < fine.record->problem.cells : others == 1) return i;
  }
  return std::nullopt;
}

std::optional<ObservedRate> StudyRecord::rate(std::size_t point) const {
  const auto before = point_before(point);
  if (!before || !points[*before].record->errors || !points[point].record->errors) return std::nullopt;
  const Record &coarse = *points[*before].record, &fine = *points[point].record;
  if (coarse.problem.cells >= fine.problem.cells) return std::nullopt;
  const double h = std::log(static_cast<double>(fine.problem.cells) / coarse.problem.cells) / fine.problem.dimension;
  const auto of = [&](double earlier, double now) {
    return earlier > 0 && now > 0 ? std::log(earlier / now) / h : std::nan("");
  };
  return ObservedRate{of(coarse.errors->l2, fine.errors->l2), of(coarse.errors->h1, fine.errors->h1)};
}

namespace {

ordered_json changes_json(const StudyRecord& study) {
  const auto numbers = [](const std::vector<double>& values) {
    ordered_json all = ordered_json::array();
    for (const double value : values) all.push_back(std::isfinite(value) ? ordered_json(value) : ordered_json());
    return all;
  };
  ordered_json json = ordered_json::array();
  for (const QuantityChanges& changes : changes_of(study)) {
    ordered_json entry{{"quantity", changes.name}};
    if (!changes.load.empty()) entry["load"] = changes.load;
    entry["points"] = ordered_json::array();
    for (const std::size_t point : changes.points) entry["points"].push_back(point + 1);
    entry["values"] = numbers(changes.values);
    if (!changes.rates.empty()) entry["rates"] = numbers(changes.rates);
    if (std::isfinite(changes.limit)) entry["limit"] = changes.limit;
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace

ordered_json to_json(const StudyRecord& study) {
  ordered_json json = to_json(study.common);
  for (const char* of_one_run : {"problem", "operator", "seconds", "solve", "apply", "memory", "remarks"})
    json.erase(of_one_run);
  json["seconds"] = {{"total", study.seconds}};
  json["sweep"] = study.keys;
  json["points"] = ordered_json::array();
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const StudyPoint& point = study.points[i];
    ordered_json values = ordered_json::object();
    for (const std::string& key : study.keys) values[key] = point.values.at(key);
    ordered_json entry{{"point", i + 1}, {"values", values}, {"status", point.status()}};
    if (!point.failure.empty()) entry["failure"] = point.failure;
    if (!point.directory.empty()) entry["directory"] = point.directory;
    if (point.record) {
      entry["wall_seconds"] = point.seconds;
      entry["solved_together"] = point.together;
      const ordered_json all = to_json(*point.record);
      for (const char* part :
           {"problem", "operator", "seconds", "solve", "apply", "quantities", "loads", "error", "memory", "remarks"})
        if (all.contains(part)) entry[part] = all[part];
    }
    if (const auto rate = study.rate(i)) entry["rate"] = {{"l2", rate->l2}, {"h1", rate->h1}};
    json["points"].push_back(std::move(entry));
  }
  json["changes"] = changes_json(study);
  return json;
}

std::string study_csv(const StudyRecord& study) {
  std::vector<Column> columns;
  add_sizes(study, columns);
  add_quantities(study, columns);
  add_errors(study, columns);
  const std::vector<QuantityChanges> changes = changes_of(study);
  add_changes(changes, columns);
  std::string text = "point";
  for (const std::string& key : study.keys) text += "," + csv_field(key);
  text += ",status,failure,load";
  for (const Column& column : columns) text += "," + csv_field(column.title);
  text += "\n";
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const StudyPoint& point = study.points[i];
    std::string begin = std::to_string(i + 1);
    for (const std::string& key : study.keys) begin += "," + csv_field(point.values.at(key));
    begin += "," + point.status() + "," + csv_field(point.failure);
    const auto line = [&](const LoadRecord* load) {
      text += begin + "," + (load != nullptr ? csv_field(load->name) : "");
      for (const Column& column : columns) text += "," + column.text(i, load);
      text += "\n";
    };
    if (!point.record || point.record->loads.empty()) {
      line(nullptr);
      continue;
    }
    for (const LoadRecord& load : point.record->loads) line(&load);
  }
  return text;
}

}  // namespace femcg::solver

#include "solver/case/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "operators/catalogue.hpp"
#include "operators/plugins/plugins.hpp"
#include "solver/case/case_diffusion.hpp"
#include "solver/case/case_mesh.hpp"
#include "solver/case/case_output.hpp"
#include "solver/case/case_reader.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::solver {

namespace {

using Kind = CaseNode::Kind;

/// Reports a constant that breaks a rule; varying expressions are checked where they are evaluated.
void check_constant(const Expression& expression, const std::string& path, const NumberRule& rule, Problems& problems) {
  if (const auto value = expression.constant(); value && !rule.holds(*value))
    problems.add(expression.place(),
                 fmt::format("{} must be {}, not {}", path, rule.words, in_quotes(expression.text())));
}

void read_equation(const MapReader& top, Case& to) {
  const MapReader equation(top, "equation");
  to.problem.diffusion = equation.read(
      "diffusion", DiffusionField{Expression(equation.number_by_default("diffusion")), {}, equation.place()},
      read_diffusion);
  to.problem.source =
      equation.read("source", Field{Expression(equation.number_by_default("source")), {}, equation.place()},
                    [](const ValueReader& value) { return value.field(); });
}

/// Kind of condition that the given keys define; empty if they define none.
std::optional<BoundaryKind> boundary_kind(const MapReader& entries) {
  if (!entries.alternative()) return std::nullopt;
  return entries.has("value") ? BoundaryKind::value : entries.has("flux") ? BoundaryKind::flux : BoundaryKind::transfer;
}

/// Value at a key that the map `of` must have, such as in `right`; reports that it is absent.
std::optional<ValueReader> required(const ValueReader& of, const MapReader& keys, const std::string& key,
                                    const std::string& right) {
  if (!keys.has(key)) of.note(fmt::format("{} has no {}; it must be such as {}", of.path(), key, right));
  return keys.find(key);
}
/// The number at such a key, or another one after a report.
double required_number(const ValueReader& of, const MapReader& keys, const std::string& key, const std::string& right,
                       double otherwise) {
  const auto value = required(of, keys, key, right);
  return value ? value->number().value_or(otherwise) : otherwise;
}

/// Resistance of layers in series, sum of thickness / conductivity; 0 without layers.
double resistance_of_layers(const MapReader& condition) {
  const auto value = condition.find("layers");
  if (!value) return 0;
  const std::string right = "{thickness: 0.01, conductivity: 0.04}";
  double resistance = 0;
  if (const auto layers = value->items(fmt::format("a list of layers, such as [{}]", right)))
    for (const ValueReader& layer : *layers) {
      if (!layer.is(Kind::map)) {
        layer.must_be("a layer, such as " + right);
        continue;
      }
      const MapReader keys(layer);
      resistance +=
          required_number(layer, keys, "thickness", right, 1) / required_number(layer, keys, "conductivity", right, 1);
    }
  if (std::isfinite(resistance) && (resistance == 0 || std::isfinite(1 / resistance))) return resistance;
  value->note(
      fmt::format("{} must have a resistance, sum of thickness / conductivity, within the range of numbers, not {}",
                  value->path(), resistance));
  return 0;
}

/// Transfer coefficient of a surface behind layers: 1 / (1 / transfer + layers), or 1 / layers if it has the ambient
/// value (`transfer` is null).
Expression through_layers(double layers, const Expression* transfer, const Place& place, const std::string& path) {
  if (transfer == nullptr) return {fmt::format("{}", 1 / layers), place, path};
  if (const auto h = transfer->constant()) return {fmt::format("{}", *h / (1 + *h * layers)), place, path};
  return {fmt::format("({0})/(1 + ({0})*{1})", transfer->text(), layers), place, path};
}

void read_boundary(const MapReader& top, Case& to) {
  const std::string right =
      "exactly one of {value: u}, {flux: diffusion du/dn}, {transfer: h, ambient: u} or {layers: [...], ambient: u}, "
      "perhaps with transfer";
  const auto value = top.find("boundary");
  if (!value) return;
  const auto groups = value->entries("group: {value: 0}");
  if (!groups) return;
  for (const ValueReader& group : *groups) {
    if (!group.is(Kind::map)) {
      group.must_be(right);
      continue;
    }
    const MapReader entries(group);
    const auto expression = [&](const std::string& key) {
      return entries.read(key, Expression(0.0), [](const ValueReader& item) { return item.expression(); });
    };
    const auto kind = boundary_kind(entries);
    if (!kind) top.problems().add(group.key_place(), group.path() + " must be " + right);
    BoundaryCondition condition{group.key(), group.key_place(), kind.value_or(BoundaryKind::value)};
    condition.value = expression(entries.has("flux") ? "flux" : "value");
    condition.transfer = expression("transfer");
    condition.ambient = expression("ambient");
    check_constant(condition.transfer, group.path() + ".transfer", not_negative, top.problems());
    condition.layers = resistance_of_layers(entries);
    if (condition.layers > 0 && condition.transfer.constant().value_or(0) >= 0)
      condition.transfer = through_layers(condition.layers, entries.has("transfer") ? &condition.transfer : nullptr,
                                          entries.find("layers")->place(), group.path() + ".transfer");
    to.problem.boundary.push_back(std::move(condition));
  }
}

/// Reads the power of a point source.
double read_power(const ValueReader& point, const MapReader& keys) {
  return required_number(point, keys, "power", "{power: 5}", 0);
}

void read_points(const MapReader& top, Case& to) {
  const auto value = top.find("points");
  if (!value) return;
  const std::string right = "{at: [0.5, 0.5], power: 5}";
  const auto points = value->entries("name: " + right);
  if (!points) return;
  for (const ValueReader& point : *points) {
    if (!point.is(Kind::map)) {
      point.must_be("a point and its power, such as " + right);
      continue;
    }
    const MapReader keys(point);
    PointSource source{{point.key(), {}, point.place()}, read_power(point, keys)};
    if (const auto at = required(point, keys, "at", right)) read_point(*at, known_dimension(to.mesh), source.at.point);
    to.problem.points.push_back(std::move(source));
  }
}

/// Reads the power of one point in a load.
void read_load_point(const ValueReader& point, LoadData& to) {
  const auto known = std::ranges::find_if(to.points, [&](const PointSource& at) { return at.at.name == point.key(); });
  if (known == to.points.end()) {
    std::vector<std::string> names;
    for (const PointSource& each : to.points) names.push_back(each.at.name);
    point.problems().add(point.key_place(), fmt::format("{}: 'points' has no point {}{}", point.path(),
                                                        in_quotes(point.key()), did_you_mean(point.key(), names)));
    return;
  }
  if (!point.is(Kind::map)) return point.must_be("a power, such as {power: 5}");
  known->power = read_power(point, MapReader(point));
}

/// Key of a condition of this kind in a load: the transfer coefficient belongs to the matrix.
std::string_view key_in_load(BoundaryKind kind) {
  return kind == BoundaryKind::value ? "value" : kind == BoundaryKind::flux ? "flux" : "ambient";
}

/// Reads one group of a load's boundary.
void read_load_condition(const ValueReader& group, const Case& from, LoadData& to) {
  const auto condition = std::ranges::find(to.boundary, group.key(), &BoundaryCondition::group);
  if (condition == to.boundary.end()) {
    std::vector<std::string> names;
    for (const BoundaryCondition& known : from.problem.boundary) names.push_back(known.group);
    group.problems().add(group.key_place(),
                         fmt::format("{}: 'boundary' has no group {}, and all loads have its groups (one that is "
                                     "insulated as {{flux: 0}}){}",
                                     group.path(), in_quotes(group.key()), did_you_mean(group.key(), names)));
    return;
  }
  const std::string key(key_in_load(condition->kind));
  const std::string right = fmt::format("{{{}: ...}}, as all loads have the kinds of condition{} of 'boundary'", key,
                                        condition->kind == BoundaryKind::transfer ? "s, and the transfer," : "s");
  if (!group.is(Kind::map)) return group.must_be(right);
  for (const CaseNode& entry : group.node().children)
    if (entry.key != key && case_keys().at("boundary").each()->find(entry.key)) {
      group.problems().add(entry.key_place,
                           fmt::format("{} must be {}, and has no '{}'", group.path(), right, entry.key));
      return;
    }
  const MapReader entries(group);
  Expression& value = condition->kind == BoundaryKind::transfer ? condition->ambient : condition->value;
  value = entries.read(key, value, [](const ValueReader& item) { return item.expression(); });
  condition->place = group.key_place();
}

/// Reads the loads; each inherits the source and boundary of the case where it does not override them.
void read_loads(const MapReader& top, Case& to) {
  const auto value = top.find("loads");
  if (!value) return;
  const auto loads = value->entries("name: {source: 1, boundary: {top: {flux: 2}}}");
  if (!loads) return;
  if (value->node().children.empty())
    value->note("loads has no load; name one at least, such as {sun: {source: 1}}, or leave out the key");
  if (to.problem.exact)
    value->problems().add(value->key_place(), "'exact' is the solution for one load; leave it out, or the loads");
  for (const ValueReader& entry : *loads) {
    LoadData load{entry.key(), to.problem.source, to.problem.boundary, to.problem.points};
    const MapReader keys(entry);
    load.source = keys.read("source", load.source, [](const ValueReader& source) { return source.field(); });
    if (const auto boundary = keys.find("boundary"))
      if (const auto groups = boundary->entries("group: {value: 0}"))
        for (const ValueReader& group : *groups) read_load_condition(group, to, load);
    if (const auto points = keys.find("points"))
      if (const auto entries = points->entries("name: {power: 5}"))
        for (const ValueReader& point : *entries) read_load_point(point, load);
    if (!is_name(load.name))
      value->problems().add(entry.key_place(),
                            fmt::format("loads: {} is no name; it must be text in UTF-8 without control "
                                        "characters",
                                        in_quotes(load.name)));
    to.problem.loads.push_back(std::move(load));
  }
}

/// Reads the terminals, and makes a load for each: 1 on its group, and no other value, flux, ambient value or source.
void read_terminals(const MapReader& top, Case& to) {
  const auto value = top.find("terminals");
  if (!value) return;
  const auto groups = value->items("a list of groups, such as [core, shield]");
  if (!groups) return;
  if (!to.problem.loads.empty())
    value->problems().add(value->key_place(), "'terminals' make the loads; leave out one of 'terminals' and 'loads'");
  if (to.problem.exact)
    value->problems().add(value->key_place(), "'exact' is the solution for one load; leave it out, or the terminals");
  std::vector<std::string>& names = to.problem.terminals;
  for (const ValueReader& group : *groups) {
    const std::string name = group.text().value_or("");
    const auto condition = std::ranges::find(to.problem.boundary, name, &BoundaryCondition::group);
    if (std::ranges::find(names, name) != names.end())
      group.note(fmt::format("{} is a terminal already", in_quotes(name)));
    if (condition == to.problem.boundary.end())
      to.problem.boundary.push_back({.group = name, .place = group.place()});
    else if (condition->kind != BoundaryKind::value)
      group.note(fmt::format("{} is no terminal, since 'boundary' does not prescribe its value; leave it out there",
                             in_quotes(name)));
    names.push_back(name);
  }
  for (const std::string& name : names) {
    LoadData load{name, {Expression(0.0), {}, value->place()}, to.problem.boundary, to.problem.points};
    for (BoundaryCondition& condition : load.boundary) {
      condition.value = condition.group == name ? 1.0 : 0.0;
      condition.ambient = 0.0;
    }
    for (PointSource& point : load.points) point.power = 0;
    to.problem.loads.push_back(std::move(load));
  }
}

/// Items that can be chosen by name, and their name in messages.
template <class Row>
struct Catalogue {
  std::string_view kind, topic, default_name, example;
  std::span<const Row> rows;
};
Catalogue<operators::OperatorDescription> operator_catalogue() {
  return {"operator", "operators", operator_of_options, "{name: csr, coop: 8}", operators::catalogue()};
}
Catalogue<PreconditionerDescription> preconditioner_catalogue() {
  return {"preconditioner", "preconditioners", automatic_preconditioner, "{name: multigrid, smoother: 2}",
          preconditioners()};
}

/// Reports an unknown name and unsupported options.
template <class Row>
void check_choice(const NamedChoice& choice, const Catalogue<Row>& from, const Place& name_place,
                  const std::map<std::string, Place>& places, Problems& problems) {
  const auto row = std::ranges::find(from.rows, choice.name, &Row::name);
  if (row == from.rows.end()) {
    std::vector<std::string> names;
    for (const Row& known : from.rows) names.emplace_back(known.name);
    problems.add(name_place, fmt::format("unknown {} {}{} (see femcg list {})", from.kind, in_quotes(choice.name),
                                         did_you_mean(choice.name, names), from.topic));
    return;
  }
  for (const auto& option : choice.options) try {
      check_options(*row, {option});
    } catch (const std::invalid_argument& error) {
      problems.add(places.at(option.first), error.what());
    }
}

/// Calls take(option, entry) for the entries of a map of options, which may be nested: {levels: {fine: csr}} has the
/// option levels.fine.
template <class Take>
void for_options(const std::vector<ValueReader>& entries, const std::string& before, const Take& take) {
  for (const ValueReader& entry : entries) {
    const std::string option = before + entry.key();
    if (!entry.is(Kind::map)) {
      take(option, entry);
      continue;
    }
    if (const auto inner = entry.entries("options")) for_options(*inner, option + ".", take);
  }
}

/// Reads a name, or a map of a name and its options.
template <class Row>
std::optional<NamedChoice> read_choice(const ValueReader& value, const Catalogue<Row>& from) {
  NamedChoice choice{std::string(from.default_name), {}, value.place()};
  Place name_place = value.place();
  std::map<std::string, Place> option_places;
  if (value.is(Kind::scalar)) {
    choice.name = value.node().text;
  } else {
    const auto entries = value.entries(fmt::format("{}, or the name alone", from.example));
    if (!entries) return std::nullopt;
    for_options(*entries, "", [&](const std::string& option, const ValueReader& entry) {
      const auto text = entry.text();
      if (!text) return;
      if (option == "name") {
        choice.name = *text;
        name_place = entry.place();
      } else {
        choice.options.emplace(option, *text);
        option_places.emplace(option, entry.key_place());
      }
    });
  }
  check_choice(choice, from, name_place, option_places, value.problems());
  return choice;
}

/// Reads a device: auto, cpu, cuda, or cuda: and the number of a GPU.
std::optional<std::string> read_device(const ValueReader& value) {
  constexpr std::string_view numbered = "cuda:";
  constexpr std::size_t most_digits = 3;
  if (value.is(Kind::scalar)) {
    const std::string& text = value.node().text;
    if (text == "auto" || text == "cpu" || text == "cuda") return text;
    const std::string number = text.starts_with(numbered) ? text.substr(numbered.size()) : "";
    if (!number.empty() && number.size() <= most_digits && number.find_first_not_of("0123456789") == std::string::npos)
      return text;
  }
  value.must_be("auto, cpu, cuda, or a GPU by its number such as cuda:1");
  return std::nullopt;
}

std::optional<OperatorChoice> read_operator(const ValueReader& value) {
  return read_choice(value, operator_catalogue());
}
/// Reads an operator or auto, which has no options.
std::optional<OperatorChoice> read_operator_or_auto(const ValueReader& value) {
  const CaseNode& node = value.node();
  const auto is_auto = [](const CaseNode& name) {
    return name.kind == Kind::scalar && name.text == automatic_operator;
  };
  const auto name = std::ranges::find(node.children, "name", &CaseNode::key);
  const bool by_map = value.is(Kind::map) && name != node.children.end() && is_auto(*name);
  if (!is_auto(node) && !by_map) return read_operator(value);
  for (const CaseNode& option : node.children)
    if (option.key != "name")
      value.problems().add(
          option.key_place,
          fmt::format("operator auto takes no options; name the operator that {} is of", in_quotes(option.key)));
  return OperatorChoice{std::string(automatic_operator), {}, value.place()};
}
std::optional<PreconditionerChoice> read_preconditioner(const ValueReader& value) {
  return read_choice(value, preconditioner_catalogue());
}

/// Reports an operator for GPUs only if the user requests the CPU. (Whether a GPU exists is checked at run time.)
void check_device(const SolverChoice& solver, Problems& problems) {
  const operators::OperatorDescription* row = operators::find_operator(solver.op.name);
  if (row && !row->host() && solver.device == "cpu")
    problems.add(solver.op.place, fmt::format("the operator {} has no version for the CPU; choose another, or "
                                              "solver.device: cuda",
                                              in_quotes(solver.op.name)));
}

/// Reports a preconditioner that this build, or the requested device, does not have.
void check_preconditioner(const SolverChoice& choice, Problems& problems) {
  const PreconditionerDescription* row = find_preconditioner(choice.preconditioner.name);
  if (row == nullptr) return;
  const auto device = choice.device.starts_with("cuda") ? operators::Device::cuda : operators::Device::host;
  if (const std::string why = why_not(*row, device); !why.empty()) problems.add(choice.preconditioner.place, why);
}

/// Reports a persistent or fused loop that the other options exclude. (Whether the operator has it is checked at run
/// time.)
void check_loop(const SolverChoice& choice, Problems& problems) {
  if (choice.loop == CgLoop::fused) {
    if (has_one_sum(choice.method) || takes_several(choice.method))
      problems.add(
          choice.loop_place,
          fmt::format("solver.loop: merged is of the classic method; leave out solver.cg: {}", name(choice.method)));
    if (choice.device == "cuda")
      problems.add(choice.loop_place, "solver.loop: merged is for CPUs; leave it out, or use solver.device: cpu");
  }
  if (choice.loop != CgLoop::persistent) return;
  if (!takes_one_kernel(choice.method))
    problems.add(choice.loop_place, fmt::format("solver.loop: persistent is of the single-reduction method; leave out "
                                                "solver.cg: {}",
                                                name(choice.method)));
  if (choice.device == "cpu")
    problems.add(choice.loop_place, "solver.loop: persistent is for GPUs; leave it out, or use solver.device: cuda");
}

/// The value of solver.loop. Records call a persistent kernel resident, which is still read.
std::string_view key_value(CgLoop loop) { return loop == CgLoop::persistent ? "persistent" : name(loop); }

/// Reports a non-diagonal preconditioner with a recurrence or loop that needs a diagonal one.
void check_recurrence(const SolverChoice& choice, Problems& problems) {
  const PreconditionerDescription* row = find_preconditioner(choice.preconditioner.name);
  if (row == nullptr || row->diagonal) return;
  const auto refuse = [&](const Place& place, std::string_view what, std::string_view other) {
    problems.add(place, fmt::format("{} needs a diagonal preconditioner, which {} is not; use {}, or "
                                    "solver.preconditioner: jacobi",
                                    what, in_quotes(row->name), other));
  };
  if (has_one_sum(choice.method))
    refuse(choice.method_place, fmt::format("solver.cg: {}", name(choice.method)), "solver.cg: classic");
  if (is_for_one_system(choice.loop))
    refuse(choice.loop_place, fmt::format("solver.loop: {}", key_value(choice.loop)), "solver.loop: launched");
}

/// Reports a start by full multigrid without multigrid.
void check_start(const SolverChoice& choice, Problems& problems) {
  if (!choice.full_multigrid) return;
  const std::string& name = choice.preconditioner.name;
  const std::string_view why = why_diagonal(choice.method, choice.loop);
  if (name != "multigrid" && name != automatic_preconditioner)
    problems.add(choice.initial_place,
                 fmt::format("solver.initial: full-multigrid is a start that {} does not have; use "
                             "solver.preconditioner: multigrid, or leave out solver.initial",
                             in_quotes(name)));
  else if (name == automatic_preconditioner && !why.empty())
    problems.add(choice.initial_place, fmt::format("solver.initial: full-multigrid is a start of multigrid, but {}; "
                                                   "leave out one of the two",
                                                   why));
}

/// Reports mixed precision without the classic recurrence: reliable updates need it, with one load after the other.
void check_mixed(const SolverChoice& choice, Problems& problems) {
  if (choice.precision != Precision::mixed) return;
  if (choice.method != CgMethod::automatic && choice.method != CgMethod::classic)
    problems.add(choice.method_place,
                 fmt::format("solver.precision: mixed goes with solver.cg: classic, not {}; or use "
                             "solver.precision: single",
                             name(choice.method)));
  if (choice.loop == CgLoop::persistent)
    problems.add(
        choice.loop_place,
        "solver.precision: mixed goes with solver.loop: launched, not persistent; or use solver.precision: single");
}

void read_solver(const MapReader& top, Case& to) {
  const MapReader solver(top, "solver");
  to.solver.op = solver.read("operator", OperatorChoice{std::string(automatic_operator), {}, solver.place()},
                             read_operator_or_auto);
  to.solver.preconditioner =
      solver.read("preconditioner", PreconditionerChoice{std::string(automatic_preconditioner), {}, solver.place()},
                  read_preconditioner);
  const std::string precision = solver.choice("precision");
  to.solver.precision = precision == "single"  ? Precision::single
                        : precision == "mixed" ? Precision::mixed
                                               : Precision::double_;
  to.solver.device = solver.read("device", std::string("auto"), read_device);
  to.solver.tolerance = solver.number("tolerance");
  to.solver.max_iterations = solver.whole("max_iterations");
  if (const auto initial = solver.find("initial"))
    if (const auto text = initial->text()) {
      if (*text == full_multigrid_start)
        to.solver.full_multigrid = true;
      else
        to.solver.initial = *text;
      to.solver.initial_place = initial->place();
      if (text->empty()) initial->must_be("the name of a folder");
    }
  const std::string method = solver.choice("cg");
  const std::string loop = solver.choice("loop");
  for (const CgMethod known :
       {CgMethod::classic, CgMethod::single_reduction, CgMethod::pipelined, CgMethod::batched, CgMethod::block})
    if (method == name(known)) to.solver.method = known;
  for (const CgLoop known : {CgLoop::launched, CgLoop::persistent, CgLoop::fused})
    if (loop == key_value(known) || loop == name(known)) to.solver.loop = known;
  const std::string tune = solver.choice("tune");
  to.solver.tune = tune == "on" ? Tune::on : tune == "off" ? Tune::off : Tune::automatic;
  const auto place_of = [&](const char* key) { return solver.find(key) ? solver.find(key)->place() : solver.place(); };
  to.solver.precision_place = place_of("precision");
  to.solver.method_place = place_of("cg");
  to.solver.loop_place = place_of("loop");
  check_recurrence(to.solver, top.problems());
  check_loop(to.solver, top.problems());
  check_start(to.solver, top.problems());
  check_mixed(to.solver, top.problems());
  check_device(to.solver, top.problems());
  check_preconditioner(to.solver, top.problems());
}

void read_ordering(const MapReader& top, Case& to) {
  const MapReader ordering(top, "ordering");
  const std::string cells = ordering.choice("cells");
  to.mesh.cell_order = cells == "natural" ? CellOrder::natural
                       : cells == "curve" ? CellOrder::curve
                                          : CellOrder::automatic;
  const std::string unknowns = ordering.choice("unknowns");
  to.problem.unknown_order =
      unknowns == "first-touch" ? UnknownOrder::first_touch : UnknownOrder::reverse_cuthill_mckee;
}

void read_distribution(const MapReader& top, Case& to) {
  using enum operators::ExchangeMode;
  const MapReader distribution(top, "distribution");
  const std::string partition = distribution.choice("partition");
  const std::string mode = distribution.choice("mode");
  for (const Partition known : {Partition::blocks, Partition::curve, Partition::metis})
    if (partition == name(known)) to.distribution.partition = known;
  for (const operators::ExchangeMode known : {vector, overlap, task})
    if (mode == operators::name(known)) to.distribution.mode = known;
  to.distribution.processes_per_gpu = static_cast<int>(distribution.whole("processes_per_gpu"));
  const auto place_of = [&](const char* key) {
    return distribution.find(key) ? distribution.find(key)->place() : distribution.place();
  };
  to.distribution.partition_place = place_of("partition");
  to.distribution.mode_place = place_of("mode");
  to.distribution.gpus_place = place_of("processes_per_gpu");
}

constexpr std::string_view right_range =
    "a range {from: 1, to: 9, step: 2}, {from: 1, to: 9, count: 5} or {from: 1, to: 1000, factor: 10}";
constexpr double most_values = 10'000;  // in a range

/// Values of a range from its first to its last, which the steps or factors need not reach exactly.
std::optional<std::vector<std::string>> read_range(const ValueReader& axis) {
  const auto entries = axis.entries(right_range);
  if (!entries) return std::nullopt;
  std::map<std::string, double> numbers;
  for (const ValueReader& entry : *entries) {
    const auto number = entry.number(any_number);
    if (!number) return std::nullopt;
    numbers[entry.key()] = *number;
  }
  const auto refuse = [&](std::string_view why) {
    axis.note(fmt::format("{} must be a list of values or {}{}", axis.path(), right_range, why));
    return std::nullopt;
  };
  const bool by_step = numbers.contains("step"), by_count = numbers.contains("count"),
             by_factor = numbers.contains("factor");
  if (numbers.size() != 3 || !numbers.contains("from") || !numbers.contains("to") ||
      by_step + by_count + by_factor != 1)
    return refuse("");
  const double from = numbers["from"], to = numbers["to"];
  constexpr double slack = 1e-9;  // of a step: tolerance for rounding of the last value
  std::vector<std::string> values;
  double count = 0;
  if (by_step) {
    if (numbers["step"] == 0 || (to - from) / numbers["step"] < 0) return refuse("; the step leads away from the end");
    count = std::floor((to - from) / numbers["step"] + slack) + 1;
  } else if (by_factor) {
    const double orders = std::log(to / from) / std::log(numbers["factor"]);
    if (!(from * to > 0 && numbers["factor"] > 0) || !std::isfinite(orders) || orders < 0)
      return refuse("; the factor leads away from the end");
    count = std::floor(orders + slack) + 1;
  } else {
    count = numbers["count"];
    if (!(count >= 2) || std::floor(count) != count) return refuse("; the count must be a whole number from 2");
  }
  if (!(count <= most_values)) return refuse(fmt::format("; a range has {} values at most", most_values));
  for (int i = 0; i < static_cast<int>(count); ++i)
    values.push_back(fmt::format("{:.12g}", by_step     ? from + i * numbers["step"]
                                            : by_factor ? from * std::pow(numbers["factor"], i)
                                                        : from + i * (to - from) / (count - 1)));
  return values;
}

/// Reads one key of a sweep. The key and its values are interpreted when the sweep is expanded.
void read_sweep_axis(const ValueReader& axis, std::vector<SweepAxis>& to) {
  SweepAxis read{axis.key(), {}, axis.key_place()};
  if (axis.is(Kind::map)) {
    auto values = read_range(axis);
    if (!values) return;
    read.values = *std::move(values);
  } else {
    const auto items = axis.items("a list of values");
    if (!items) return;
    for (const ValueReader& item : *items) read.values.push_back(flow_text(item.node()));
  }
  to.push_back(std::move(read));
}

std::vector<SweepAxis> read_sweep(const MapReader& map) {
  std::vector<SweepAxis> axes;
  if (const auto sweep = map.find("sweep"))
    if (const auto entries = sweep->entries("a key and its values, such as degree: [1, 2, 3, 4]"))
      for (const ValueReader& axis : *entries) read_sweep_axis(axis, axes);
  return axes;
}

/// Reads numbers of right-hand sides. One is always included: the others are compared with it.
void read_right_hand_sides(const ValueReader& value, CompareChoice& to) {
  const auto items = value.items("a list of numbers of right-hand sides, such as [1, 4, 8]");
  if (!items) return;
  std::set<int> numbers{1};
  for (const ValueReader& item : *items)
    if (const auto number = item.whole()) numbers.insert(static_cast<int>(*number));
  to.right_hand_sides.assign(numbers.begin(), numbers.end());
  to.right_hand_sides_place = value.place();
}

void read_compare(const MapReader& top, Case& to) {
  const MapReader compare(top, "compare");
  const auto operators = compare.find("operators");
  if (!operators || operators->node().text == "all") {
    to.compare.all_operators = true;
    for (const operators::OperatorDescription& row : operators::catalogue())
      to.compare.operators.push_back({std::string(row.name), {}, compare.place()});
  } else if (const auto items = operators->items("all, or a list of operators")) {
    for (const ValueReader& item : *items)
      if (auto choice = read_operator(item)) to.compare.operators.push_back(*std::move(choice));
  }
  to.compare.devices = {to.solver.device};
  if (const auto devices = compare.find("devices"))
    if (const auto items = devices->items("a list of auto, cpu, cuda or cuda:1")) {
      to.compare.devices.clear();
      for (const ValueReader& item : *items)
        if (const auto device = read_device(item)) to.compare.devices.push_back(*device);
    }
  to.compare.sweep = read_sweep(compare);
  to.compare.iterations = static_cast<int>(compare.whole("iterations"));
  to.compare.repetitions = static_cast<int>(compare.whole("repetitions"));
  if (const auto numbers = compare.find("right_hand_sides")) read_right_hand_sides(*numbers, to.compare);
}

/// Loads the operators that the case provides, which later keys may name. Throws InputError if one cannot be loaded.
void read_plugins(const MapReader& top, Case& to) {
  bool missing = false;
  if (const auto plugins = top.find("plugins"))
    if (const auto items = plugins->items("a list of files such as [libmine.so]"))
      for (const ValueReader& item : *items)
        if (const auto name = item.text()) try {
            if (!is_name(*name)) throw operators::PluginError("plug-in " + in_quotes(*name) + " is no name of a file");
            operators::load_plugin(to.file.parent_path() / *name);
          } catch (const operators::PluginError& error) {
            item.note(error.what());
            missing = true;
          }
  if (missing) top.problems().check();
  to.plugins = operators::loaded_plugins();
}

Case read_sections(const MapReader& top, const std::filesystem::path& file) {
  Case to;
  to.file = file;
  to.name = file.stem().string();
  read_plugins(top, to);
  to.title = top.read("title", to.name, [](const ValueReader& value) { return value.text(); });
  to.degree = static_cast<int>(top.whole("degree"));
  to.mesh = read_mesh_choice(top, file.parent_path(), to.degree);
  // Fewer points would leave modes of u without energy: the matrix would be singular.
  const auto largest_quadrature = static_cast<std::int64_t>(case_keys().at("quadrature").rule.largest);
  to.problem.quadrature = static_cast<int>(top.whole("quadrature", to.degree + 1, to.degree + 1, largest_quadrature));
  read_equation(top, to);
  read_boundary(top, to);
  read_points(top, to);
  to.problem.symmetry = static_cast<int>(top.whole("symmetry"));
  to.mesh.axisymmetric = top.choice("geometry") == "axisymmetric";
  if (const auto exact = top.find("exact")) to.problem.exact = exact->field();
  read_loads(top, to);
  read_terminals(top, to);
  read_ordering(top, to);
  read_solver(top, to);
  read_distribution(top, to);
  to.solution = read_solution_label(top);
  to.output = read_output_choice(top, to);
  read_compare(top, to);
  to.sweep = read_sweep(top);
  return to;
}

void apply(const std::vector<Override>& overrides, CaseNode& tree, Problems& problems) {
  for (const Override& override : overrides) try {
      apply_override(tree, override);
    } catch (const InputError& error) {
      problems.add(error.sentences());
    }
}

}  // namespace

std::string_view name(Partition partition) {
  constexpr std::array names{"auto", "blocks", "curve", "metis"};
  return names[static_cast<std::size_t>(partition)];
}

Case read_case(const std::filesystem::path& file, const std::vector<Override>& overrides) {
  CaseNode tree = read_tree(file);
  tree.place = file.string() + ":1:1";
  Problems problems;
  apply(overrides, tree, problems);
  const MapReader top(ValueReader(tree, "", &case_keys(), problems));
  Case result = read_sections(top, file);
  problems.check();
  for (const Override& override : overrides)
    if (override.place.empty()) result.set.emplace_back(override.key, override.value);
  return result;
}

Case read_mesh_case(const std::vector<Override>& overrides) {
  CaseNode tree;
  tree.kind = Kind::map;
  Problems problems;
  apply(overrides, tree, problems);
  KeyDescription keys = case_keys();
  std::erase_if(keys.inside, [](const KeyDescription& key) { return key.name != "mesh" && key.name != "output"; });
  const MapReader top(ValueReader(tree, "", &keys, problems));
  Case result;
  result.mesh = read_mesh_choice(top, {}, 1);
  if (const auto* file = std::get_if<mesh::GmshOptions>(&result.mesh.source)) result.name = file->file.stem().string();
  result.output = read_output_choice(top, result);
  problems.check();
  result.mesh.place = {};  // messages about the file name it
  return result;
}

CompareChoice read_compare_choice(const std::vector<Override>& overrides) {
  CaseNode tree;
  tree.kind = Kind::map;
  Problems problems;
  apply(overrides, tree, problems);
  Case result;
  read_compare(MapReader(ValueReader(tree, "", &case_keys(), problems)), result);
  problems.check();
  return result.compare;
}

}  // namespace femcg::solver

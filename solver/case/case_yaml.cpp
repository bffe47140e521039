// Writes a case with every default as YAML.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <map>
#include <string>

#include "mesh/gmsh/check/file_kinds.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

namespace {

using YAML::BeginMap, YAML::BeginSeq, YAML::EndMap, YAML::EndSeq, YAML::Flow, YAML::Key, YAML::Value;

/// Shortest text that reads back as the same double (yaml-cpp rounds).
std::string number(double value) { return fmt::format("{}", value); }

template <typename Numbers>
void emit_numbers(YAML::Emitter& out, const Numbers& numbers, int count) {
  out << Flow << BeginSeq;
  for (int i = 0; i < count; ++i) out << fmt::format("{}", numbers[i]);
  out << EndSeq;
}

void emit(YAML::Emitter& out, const Expression& expression) { out << expression.text(); }

void emit(YAML::Emitter& out, const RegionDiffusion& diffusion) {
  if (!diffusion.tensor()) {
    out << diffusion.multiple().text();
    return;
  }
  const TensorExpression& tensor = *diffusion.tensor();
  out << Flow << BeginMap;
  for (const auto& [name, entry] : tensor.entries) out << Key << name << Value << entry.text();
  if (!tensor.axes.empty()) {
    out << Key << "axes" << Value << Flow << BeginSeq;
    for (const std::array<double, 3>& axis : tensor.axes)
      emit_numbers(out, axis, static_cast<int>(tensor.axis_entries));
    out << EndSeq;
  }
  out << EndMap;
}

template <class T>
void emit(YAML::Emitter& out, const ByRegion<T>& field) {
  if (field.everywhere) return emit(out, *field.everywhere);
  out << BeginMap;
  for (const auto& [region, value] : field.by_region) {
    out << Key << region << Value;
    emit(out, value);
  }
  out << EndMap;
}

void emit(YAML::Emitter& out, const NamedChoice& choice) {
  if (choice.options.empty()) {
    out << choice.name;
    return;
  }
  out << Flow << BeginMap << Key << "name" << Value << choice.name;
  std::map<std::string, std::map<std::string, std::string>> maps;  // levels.fine is the key fine in levels
  for (const auto& [key, value] : choice.options)
    if (const std::size_t dot = key.find('.'); dot != std::string::npos)
      maps[key.substr(0, dot)].emplace(key.substr(dot + 1), value);
    else
      out << Key << key << Value << value;
  for (const auto& [key, entries] : maps) out << Key << key << Value << Flow << entries;
  out << EndMap;
}

void emit(YAML::Emitter& out, const mesh::BoxOptions& box, const std::optional<std::int64_t>& dofs) {
  const int dimension = mesh::dimension(box.shape);
  out << Key << "box" << Value << BeginMap;
  if (dofs) {
    // Written as dofs, not cells: another degree would need other cells.
    out << Key << "dofs" << Value << *dofs
        << YAML::Comment(fmt::format("cells: [{}]", fmt::join(box.cells.begin(), box.cells.begin() + dimension, ", ")));
  } else {
    out << Key << "cells" << Value;
    emit_numbers(out, box.cells, dimension);
  }
  out << Key << "size" << Value;
  emit_numbers(out, box.size, dimension);
  out << Key << "cell" << Value << std::string(mesh::name(box.shape));
  out << Key << "distort" << Value << number(box.distort) << EndMap;
}

void emit_groups(YAML::Emitter& out, const mesh::GmshOptions& file, const MeshChoice& mesh) {
  out << Key << "groups" << Value << BeginMap;
  for (const auto& [name, rule] : file.groups) {
    out << Key << name << Value << Flow << BeginMap << Key << "dimension" << Value << rule.dimension;
    if (const auto where = mesh.conditions.find(name); where != mesh.conditions.end()) {
      out << Key << "where" << Value << where->second.text();
    } else if (!rule.near.empty()) {
      out << Key << "near" << Value;
      emit_numbers(out, rule.near, static_cast<int>(rule.near.size()));
    } else if (!rule.name.empty()) {
      out << Key << "name" << Value << rule.name;
    } else {
      out << Key << "tags" << Value;
      emit_numbers(out, rule.tags, static_cast<int>(rule.tags.size()));
    }
    out << EndMap;
  }
  out << EndMap;
}

void emit(YAML::Emitter& out, const mesh::GmshOptions& file, const MeshChoice& mesh) {
  // Absolute: the resolved case is written to another folder.
  out << Key << "file" << Value << std::filesystem::absolute(file.file).string();
  out << Key << "unit" << Value << file.unit << Key << "scale" << Value << number(file.scale);
  if (!mesh::has_mesh_ending(file.file)) {
    if (file.size) out << Key << "size" << Value << number(*file.size);
    if (!file.sizes.empty()) {
      out << Key << "sizes" << Value << BeginMap;
      for (const auto& [group, size] : file.sizes) out << Key << group << Value << number(size);
      out << EndMap;
    }
    out << Key << "order" << Value << file.order;
    out << Key << "cells" << Value << (file.tensor_cells ? "tensor" : file.simplices ? "simplex" : "auto");
    out << Key << "cache" << Value << mesh.cache;
  }
  if (!file.groups.empty()) emit_groups(out, file, mesh);
}

void emit(YAML::Emitter& out, const MeshChoice& mesh) {
  out << Key << "mesh" << Value << BeginMap;
  if (const auto* box = std::get_if<mesh::BoxOptions>(&mesh.source))
    emit(out, *box, mesh.box_dofs);
  else
    emit(out, std::get<mesh::GmshOptions>(mesh.source), mesh);
  out << Key << "refine" << Value << mesh.refine << EndMap;
}

void emit(YAML::Emitter& out, const std::vector<BoundaryCondition>& boundary) {
  if (boundary.empty()) return;
  out << Key << "boundary" << Value << BeginMap;
  for (const BoundaryCondition& condition : boundary) {
    out << Key << condition.group << Value << Flow << BeginMap;
    switch (condition.kind) {
      case BoundaryKind::value:
        out << Key << "value" << Value << condition.value.text();
        break;
      case BoundaryKind::flux:
        out << Key << "flux" << Value << condition.value.text();
        break;
      case BoundaryKind::transfer:
        out << Key << "transfer" << Value << condition.transfer.text();
        out << Key << "ambient" << Value << condition.ambient.text();
    }
    out << EndMap;
  }
  out << EndMap;
}

void emit(YAML::Emitter& out, const std::vector<PointSource>& points, int dimension) {
  if (points.empty()) return;
  out << Key << "points" << Value << BeginMap;
  for (const PointSource& source : points) {
    out << Key << source.at.name << Value << Flow << BeginMap << Key << "at" << Value;
    emit_numbers(out, source.at.point, dimension);
    out << Key << "power" << Value << fmt::format("{}", source.power) << EndMap;
  }
  out << EndMap;
}

void emit(YAML::Emitter& out, const std::vector<LoadData>& loads) {
  if (loads.empty()) return;
  out << Key << "loads" << Value << BeginMap;
  for (const LoadData& load : loads) {
    out << Key << load.name << Value << BeginMap << Key << "source" << Value;
    emit(out, load.source);
    if (!load.boundary.empty()) {
      out << Key << "boundary" << Value << BeginMap;
      for (const BoundaryCondition& condition : load.boundary) {
        const bool transfer = condition.kind == BoundaryKind::transfer;
        out << Key << condition.group << Value << Flow << BeginMap << Key
            << (transfer                               ? "ambient"
                : condition.kind == BoundaryKind::flux ? "flux"
                                                       : "value")
            << Value << (transfer ? condition.ambient : condition.value).text() << EndMap;
      }
      out << EndMap;
    }
    if (!load.points.empty()) {
      out << Key << "points" << Value << BeginMap;
      for (const PointSource& source : load.points)
        out << Key << source.at.name << Value << Flow << BeginMap << Key << "power" << Value
            << fmt::format("{}", source.power) << EndMap;
      out << EndMap;
    }
    out << EndMap;
  }
  out << EndMap;
}

void emit_ordering(YAML::Emitter& out, const Case& from) {
  const char* cells = from.mesh.cell_order == CellOrder::natural ? "natural"
                      : from.mesh.cell_order == CellOrder::curve ? "curve"
                                                                 : "auto";
  const bool first_touch = from.problem.unknown_order == UnknownOrder::first_touch;
  out << Key << "ordering" << Value << BeginMap << Key << "cells" << Value << cells;
  out << Key << "unknowns" << Value << (first_touch ? "first-touch" : "reverse-cuthill-mckee") << EndMap;
}

void emit(YAML::Emitter& out, const DistributionChoice& distribution) {
  out << Key << "distribution" << Value << BeginMap;
  out << Key << "partition" << Value << std::string(name(distribution.partition));
  out << Key << "mode" << Value << std::string(operators::name(distribution.mode));
  out << Key << "processes_per_gpu" << Value << distribution.processes_per_gpu;
  out << EndMap;
}

void emit(YAML::Emitter& out, const SolverChoice& solver) {
  out << Key << "solver" << Value << BeginMap << Key << "operator" << Value;
  emit(out, solver.op);
  out << Key << "preconditioner" << Value;
  emit(out, solver.preconditioner);
  out << Key << "precision" << Value
      << (solver.precision == Precision::single  ? "single"
          : solver.precision == Precision::mixed ? "mixed"
                                                 : "double");
  out << Key << "device" << Value << solver.device;
  out << Key << "tolerance" << Value << number(solver.tolerance);
  out << Key << "max_iterations" << Value << solver.max_iterations;
  if (solver.full_multigrid) out << Key << "initial" << Value << std::string(full_multigrid_start);
  if (!solver.initial.empty()) out << Key << "initial" << Value << solver.initial.string();
  out << Key << "cg" << Value << std::string(name(solver.method));
  out << Key << "loop" << Value << std::string(name(solver.loop));
  out << Key << "tune" << Value << std::string(name(solver.tune)) << EndMap;
}

void emit(YAML::Emitter& out, const OutputSubset& subset, int dimension) {
  if (subset.has_all()) return;
  out << Key << "subset" << Value << BeginMap;
  if (!subset.regions.empty()) {
    out << Key << "regions" << Value << Flow << BeginSeq;
    for (const std::string& region : subset.regions) out << region;
    out << EndSeq;
  }
  if (subset.is_bounded()) {
    out << Key << "box" << Value << BeginMap;
    const auto corner = [&](const char* name, const std::array<double, 3>& point) {
      if (std::isinf(point[0])) return;
      out << Key << name << Value;
      emit_numbers(out, point, std::isinf(point[2]) ? 2 : dimension);
    };
    corner("min", subset.min);
    corner("max", subset.max);
    out << EndMap;
  }
  out << EndMap;
}

void emit(YAML::Emitter& out, const OutputChoice& output, int dimension) {
  out << Key << "output" << Value << BeginMap << Key << "directory" << Value << output.directory.string();
  out << Key << "vtu" << Value << (output.vtu ? "true" : "false");
  if (output.degree) out << Key << "degree" << Value << *output.degree;
  emit(out, output.subset, dimension);
  out << Key << "fields" << Value << Flow << BeginSeq;
  for (const OutputField field : output.fields) out << std::string(name(field));
  out << EndSeq << Key << "boundary" << Value << (output.boundary ? "true" : "false");
  out << Key << "picture" << Value << (output.picture ? "true" : "false");
  out << Key << "system" << Value << (output.system ? "true" : "false");
  out << Key << "points" << Value << (output.points ? "true" : "false");
  if (!output.probes.empty()) {
    out << Key << "probes" << Value << BeginMap;
    for (const Probe& probe : output.probes) {
      out << Key << probe.name << Value;
      emit_numbers(out, probe.point, dimension);
    }
    out << EndMap;
  }
  out << EndMap;
}

void emit_sweep(YAML::Emitter& out, const std::vector<SweepAxis>& axes) {
  if (axes.empty()) return;
  out << Key << "sweep" << Value << BeginMap;
  for (const SweepAxis& axis : axes) {
    out << Key << axis.key << Value << Flow << BeginSeq;
    for (const std::string& value : axis.values) out << YAML::Load(value);
    out << EndSeq;
  }
  out << EndMap;
}

void emit(YAML::Emitter& out, const CompareChoice& compare) {
  out << Key << "compare" << Value << BeginMap << Key << "operators" << Value;
  if (compare.all_operators) {
    out << "all";
  } else {
    out << BeginSeq;
    for (const OperatorChoice& choice : compare.operators) emit(out, choice);
    out << EndSeq;
  }
  out << Key << "devices" << Value << Flow << compare.devices;
  emit_sweep(out, compare.sweep);
  out << Key << "iterations" << Value << compare.iterations;
  out << Key << "repetitions" << Value << compare.repetitions;
  out << Key << "right_hand_sides" << Value << Flow << compare.right_hand_sides << EndMap;
}

}  // namespace

std::string mesh_options_text(const MeshChoice& mesh) {
  MeshChoice nameless = mesh;
  mesh::GmshOptions& file = std::get<mesh::GmshOptions>(nameless.source);
  file.file = "/geometry" + mesh::ending_of(file.file);
  YAML::Emitter out;
  out << BeginMap;
  emit(out, nameless);
  out << EndMap;
  return out.c_str();
}

std::string_view name(Tune tune) { return tune == Tune::automatic ? "auto" : tune == Tune::on ? "on" : "off"; }

std::string to_yaml(const Case& resolved) {
  const auto* box = std::get_if<mesh::BoxOptions>(&resolved.mesh.source);
  YAML::Emitter out;
  out << BeginMap << Key << "title" << Value << resolved.title;
  if (!resolved.plugins.empty()) {
    out << Key << "plugins" << Value << Flow << BeginSeq;
    for (const std::filesystem::path& plugin : resolved.plugins) out << plugin.string();
    out << EndSeq;
  }
  out << Key << "name" << Value << resolved.solution.name << Key << "unit" << Value << resolved.solution.unit;
  emit(out, resolved.mesh);
  out << Key << "degree" << Value << resolved.degree << Key << "quadrature" << Value << resolved.problem.quadrature;
  out << Key << "equation" << Value << BeginMap << Key << "diffusion" << Value;
  emit(out, resolved.problem.diffusion);
  out << Key << "source" << Value;
  emit(out, resolved.problem.source);
  out << EndMap;
  emit(out, resolved.problem.boundary);
  emit(out, resolved.problem.points, box ? mesh::dimension(box->shape) : 3);
  out << Key << "geometry" << Value << (resolved.mesh.axisymmetric ? "axisymmetric" : "cartesian");
  out << Key << "symmetry" << Value << resolved.problem.symmetry;
  if (resolved.problem.terminals.empty())
    emit(out, resolved.problem.loads);
  else
    out << Key << "terminals" << Value << Flow << resolved.problem.terminals;
  if (resolved.problem.exact) {
    out << Key << "exact" << Value;
    emit(out, *resolved.problem.exact);
  }
  emit_ordering(out, resolved);
  emit(out, resolved.solver);
  emit(out, resolved.distribution);
  emit(out, resolved.output, box ? mesh::dimension(box->shape) : 3);
  emit(out, resolved.compare);
  emit_sweep(out, resolved.sweep);
  out << EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace femcg::solver

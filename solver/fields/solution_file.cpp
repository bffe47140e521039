#include "solver/fields/solution_file.hpp"

#include <omp.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/quadrature.hpp"
#include "solver/case/case_output.hpp"
#include "solver/fields/boundary_file.hpp"
#include "solver/fields/file_size.hpp"
#include "solver/fields/system_files.hpp"
#include "solver/measures/cell_gradient.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

namespace {

constexpr bool is_recovered(OutputField field) {
  return field == OutputField::recovered_gradient || field == OutputField::recovered_flux;
}

}  // namespace

SolutionFile::SolutionFile(const OutputChoice& output, const SolutionLabel& label, const Problem& problem)
    : output_(&output),
      label_(&label),
      problem_(&problem),
      cells_(output, problem.form().space->degree(), problem.form().space->mesh(), problem.shared()) {
  if (!output.vtu) return;
  if (wants(OutputField::flux)) check_diffusion_at_nodes();
  const auto fields = static_cast<int>(std::ranges::count_if(output.fields, is_recovered));
  if (fields == 0) return;
  recovery_ = std::make_unique<Recovery>(problem.form());
  require_memory(recovery_->need(fields * problem.form().space->mesh().dimension()),
                 "output.fields: what is recovered");
}

bool SolutionFile::wants(OutputField field) const {
  return std::ranges::find(output_->fields, field) != output_->fields.end();
}

bool SolutionFile::jumps() const { return wants(OutputField::gradient) || wants(OutputField::flux); }

/// Throws if the diffusion is not finite at a node; the form checks it at quadrature points only, which lie inside the
/// cells.
void SolutionFile::check_diffusion_at_nodes() const {
  const mesh::Mesh& mesh = problem_->form().space->mesh();
  const DiffusionOnRegions diffusion(problem_->data().diffusion, mesh);
  if (diffusion.constant()) return;
  const mesh::SeparateCells cells = CellFields(*problem_->form().space, cells_).cells();
  struct Scratch {
    mesh::NodeValues points;
    std::vector<double> at, values;
  };
  const auto nodes = static_cast<std::size_t>(cells.nodes);
  try {
    mesh::parallel_for(
        cells.count,
        [&] {
          return Scratch{cells.points(), std::vector<double>(3 * nodes),
                         std::vector<double>(nodes * diffusion.entries())};
        },
        [&](Scratch& scratch, std::int64_t cell) {
          scratch.points(cell, scratch.at);
          diffusion.evaluate(static_cast<std::int32_t>(cells_.number(cell)), scratch.at, scratch.values);
        });
  } catch (const InputError& error) {
    throw InputError(error.sentences().front() +
                     "; output.fields: flux is evaluated at the nodes of cells, recovered_flux only inside them");
  }
}

/// Projects the components of all recovered fields at once.
std::vector<SolutionFile::Recovered> SolutionFile::recover(std::span<const double> solution) {
  const operators::BilinearForm& form = problem_->form();
  const int d = form.space->mesh().dimension();
  const GradientTables tables(*form.space, mesh::cell_quadrature(form.space->mesh().shape, form.quadrature).points);
  struct Scratch {
    CellGradient gradient;
    std::vector<double> gradients, diffusion;
  };
  const auto points = static_cast<std::size_t>(tables.geometry.values.rows());
  std::vector<Scratch> of_thread(omp_get_max_threads(), {CellGradient(tables), std::vector<double>(3 * points),
                                                         std::vector<double>(points * form.diffusion.entries)});
  std::vector<Recovered> recovered;
  std::vector<Recovery::Values> components;
  for (const OutputField field : output_->fields) {
    if (!is_recovered(field)) continue;
    recovered.push_back({field, {}});
    for (int i = 0; i < d; ++i)
      components.emplace_back([&, field, i](std::int32_t cell, std::span<double> values) {
        Scratch& scratch = of_thread[omp_get_thread_num()];
        scratch.gradient.move_to(cell);
        scratch.gradient.evaluate(solution, scratch.gradients);
        if (field == OutputField::recovered_flux)
          form.diffusion.evaluate(cell, scratch.gradient.points_in_space(), scratch.diffusion);
        for (std::size_t q = 0; q < values.size(); ++q) {
          double* const gradient = &scratch.gradients[3 * q];
          if (field == OutputField::recovered_flux)
            operators::multiply_diffusion(&scratch.diffusion[q * form.diffusion.entries], form.diffusion.entries,
                                          gradient);
          values[q] = field == OutputField::recovered_flux ? -gradient[i] : gradient[i];
        }
      });
  }
  std::vector<std::vector<double>> found = recovery_->project(components);
  for (std::size_t c = 0; c < found.size(); ++c) recovered[c / d].components.push_back(std::move(found[c]));
  return recovered;
}

void SolutionFile::prepare(std::span<const std::vector<double>> solutions) {
  if (output_->vtu && recovery_)
    for (const std::vector<double>& solution : solutions) recovered_.push_back(recover(solution));
  if (has_exact()) {
    const mesh::FunctionSpace& space = *problem_->form().space;
    exact_ = interpolate(FieldOnRegions(*problem_->data().exact, "exact", space.mesh(), std::nullopt), space);
    error_ = mesh::filled<double>(exact_.size());
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < exact_.size(); ++i) error_[i] = solutions.front()[i] - exact_[i];
  }
  solutions_ = solutions;
}

bool SolutionFile::has_exact() const { return output_->vtu && problem_->data().exact && wants(OutputField::u); }

std::vector<mesh::PointField> SolutionFile::fields_at_dofs() const {
  std::vector<mesh::PointField> fields;
  const auto add_field = [&](const std::string& name, std::span<const double> values) {
    fields.push_back({name, values, label_->unit});
  };
  for (std::size_t i = 0; i < solutions_.size(); ++i)
    add_field(name_in_file(OutputField::u, false, *label_, problem_->loads()[i].name()), solutions_[i]);
  if (has_exact()) {
    add_field("exact", exact_);
    add_field("error", error_);
  }
  return fields;
}

/// Values of a field of a load, made by CellFields from the prepared data.
std::function<mesh::NodeValues()> SolutionFile::values_of(OutputField field, std::size_t load,
                                                          const CellFields& make) const {
  const mesh::FunctionSpace& space = *problem_->form().space;
  const std::vector<double>& solution = solutions_[load];
  switch (field) {
    case OutputField::u:
      break;
    case OutputField::gradient:
      return make.gradient(solution);
    case OutputField::flux:
      return make.flux(solution, DiffusionOnRegions(problem_->data().diffusion, space.mesh()));
    case OutputField::recovered_gradient:
    case OutputField::recovered_flux: {
      const auto recovered = std::ranges::find(recovered_[load], field, &Recovered::field);
      return make.function(recovery_->space(), {recovered->components.begin(), recovered->components.end()});
    }
  }
  return make.function(space, {solution});
}

std::vector<mesh::CellwiseField> SolutionFile::all_fields() const {
  const mesh::FunctionSpace& space = *problem_->form().space;
  const CellFields make(space, cells_);
  std::vector<mesh::CellwiseField> fields;
  for (std::size_t load = 0; load < solutions_.size(); ++load)
    for (const OutputField field : output_->fields) {
      const auto called = [&](bool magnitude) {
        return name_in_file(field, magnitude, *label_, problem_->loads()[load].name());
      };
      const std::function<mesh::NodeValues()> values = values_of(field, load, make);
      if (field == OutputField::u) {
        fields.push_back({called(false), values, 1, label_->unit});
      } else {
        fields.push_back({called(false), values, 3});
        fields.push_back({called(true), make.magnitude(values), 1});
      }
    }
  if (has_exact())
    for (const auto& [name, values] : {std::pair{"exact", &exact_}, std::pair{"error", &error_}})
      fields.push_back({name, make.function(space, {*values}), 1, label_->unit});
  return fields;
}

/// Space whose points the cells share: recovered fields jump between regions.
const mesh::FunctionSpace& SolutionFile::space_of_points() const {
  return recovery_ ? recovery_->space() : *problem_->form().space;
}

void SolutionFile::write_cells(std::ostream& stream, const FileCells& cells,
                               std::span<const mesh::CellwiseField> fields) const {
  const mesh::FunctionSpace& space = *problem_->form().space;
  const std::vector<std::int32_t> regions = cells.regions(space.mesh());
  const std::vector<mesh::CellField> cell_fields{{"region", regions}};
  if (jumps()) {
    mesh::write_vtu(stream, CellFields(space, cells).cells(), fields, cell_fields, names_of_parts(space.mesh()));
    return;
  }
  const FilePoints points(space_of_points(), cells);
  mesh::write_vtu(stream, points.space(), fields, cell_fields, names_of_parts(space.mesh()), cells.kind());
}

void SolutionFile::write(std::ostream& stream) const {
  const mesh::FunctionSpace& space = *problem_->form().space;
  const bool as_solved = !cells_.numbers && !cells_.linear && cells_.degree == space.degree();
  if (!as_solved || jumps() || recovery_) return write_cells(stream, cells_, all_fields());
  const mesh::CellField region{"region", space.mesh().cell_regions};
  mesh::write_vtu(stream, space, fields_at_dofs(), {&region, 1}, names_of_parts(space.mesh()));
}

std::int64_t SolutionFile::expected_bytes() const {
  if (!output_->vtu) return 0;
  int vectors = 0;
  for (const OutputField field : output_->fields) vectors += field != OutputField::u;
  const auto loads = static_cast<int>(problem_->loads().size());
  const int numbers = loads * (wants(OutputField::u) + 4 * vectors) + (has_exact() ? 2 : 0);
  return bytes_by_sample(problem_->form().space->mesh(), cells_, numbers,
                         [&](std::ostream& stream, const FileCells& sample, const mesh::CellwiseField& field) {
                           write_cells(stream, sample, {&field, 1});
                         });
}

std::int64_t bytes_of_files(const OutputChoice& output, const Problem& problem, const SolutionFile& solution) {
  const std::int64_t here = solution.expected_bytes() +
                            (output.boundary ? BoundaryFile(output, SolutionLabel(), problem).expected_bytes() : 0) +
                            (output.system ? bytes_of_system(problem) : 0);
  return static_cast<std::int64_t>(problem.shared().sum(static_cast<double>(here)));
}

}  // namespace femcg::solver

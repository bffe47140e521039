#include "solver/run/run_files.hpp"

#include <array>
#include <optional>
#include <ostream>

#include "solver/fields/boundary_file.hpp"
#include "solver/fields/solution_file.hpp"
#include "solver/fields/solution_pieces.hpp"
#include "solver/fields/system_files.hpp"

namespace femcg::solver {

namespace {

using Solutions = std::vector<std::vector<double>>;

constexpr std::array all_pieces{Pieces::solution, Pieces::boundary};

/// Files of a run on one process.
class WholeFiles final : public RunFiles {
 public:
  WholeFiles(const OutputChoice& output, const SolutionLabel& label, const Problem& problem, mesh::FileGroup& group)
      : RunFiles(output, label, problem, group), file_(output, label, problem) {}

  std::vector<std::string> names() const override { return {"solution.vtu", "boundary.vtu", matrix_file, load_file}; }
  std::int64_t expected_bytes() const override { return bytes_of_files(output_, problem_, file_); }
  void prepare(const Solutions& solutions) override { file_.prepare(solutions); }

  void add(const Solutions& solutions) override {
    if (output_.vtu)
      group_.add("solution.vtu", [&](std::ostream& stream) { file_.write(stream); });
    else
      group_.leave_out("solution.vtu");
    if (output_.boundary)
      group_.add("boundary.vtu",
                 [&](std::ostream& stream) { BoundaryFile(output_, label_, problem_).write(stream, solutions); });
    else
      group_.leave_out("boundary.vtu");
    if (output_.system) {
      add_system(problem_, group_);
    } else {
      group_.leave_out(matrix_file);
      group_.leave_out(load_file);
    }
    for (const Pieces of : all_pieces) {
      group_.leave_out(pieces_file(of));
      leave_out_pieces(of, output_.directory, {}, group_);
    }
  }

 private:
  SolutionFile file_;
};

/// Files of a run on several processes, one piece each.
class PieceFiles final : public RunFiles {
 public:
  PieceFiles(const OutputChoice& output, const SolutionLabel& label, const Problem& problem, mesh::FileGroup& group,
             const operators::Communicator& processes)
      : RunFiles(output, label, problem, group), processes_(processes) {
    if (output.vtu)
      solution_.emplace(output, label, problem, processes.rank(), processes.is_first() ? &group : nullptr);
  }

  std::vector<std::string> names() const override {
    return {pieces_file(Pieces::solution), pieces_file(Pieces::boundary)};
  }
  std::int64_t expected_bytes() const override {
    return bytes_of_files(output_, problem_, SolutionFile(output_, label_, problem_));
  }
  void prepare(const Solutions&) override {}

  /// Adds the pieces; the first process's own piece of the solution, if any, is in the group already.
  void add(const Solutions& solutions) override {
    for (const Pieces of : all_pieces) {
      std::vector<int> ranks;  // with a piece
      if (is_wanted(of)) {
        const std::string mine = text(of, solutions);
        if (!processes_.is_first()) processes_.send_text(mine, 0);
        if (of == Pieces::solution && solution_->has_cells()) ranks.push_back(0);
        for (int rank = 0; processes_.is_first() && rank < processes_.size(); ++rank) {
          const std::string piece = rank == 0 ? mine : processes_.text_from(rank);
          if (piece.empty()) continue;
          group_.add(piece_name(of, rank), piece);
          ranks.push_back(rank);
        }
      }
      if (!processes_.is_first()) continue;
      if (is_wanted(of))
        group_.add(pieces_file(of), pieces_text(of, label_, problem_.data(), ranks, solutions.size()));
      else
        group_.leave_out(pieces_file(of));
      leave_out_pieces(of, output_.directory, ranks, group_);
    }
    for (const char* of_one : {"solution.vtu", "boundary.vtu"}) group_.leave_out(of_one);
  }

 private:
  bool is_wanted(Pieces of) const { return of == Pieces::solution ? output_.vtu : output_.boundary; }
  /// Text of this process's piece; empty if it has none, or if it is in the group.
  std::string text(Pieces of, const Solutions& solutions) {
    return of == Pieces::solution ? solution_->text(solutions) : boundary_piece(output_, label_, problem_, solutions);
  }

  const operators::Communicator& processes_;
  std::optional<SolutionPiece> solution_;
};

}  // namespace

std::unique_ptr<RunFiles> make_run_files(const OutputChoice& output, const SolutionLabel& label, const Problem& problem,
                                         mesh::FileGroup& group, const RunContext& context) {
  if (context.alone()) return std::make_unique<WholeFiles>(output, label, problem, group);
  return std::make_unique<PieceFiles>(output, label, problem, group, context.processes);
}

}  // namespace femcg::solver

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/csr_matrix.hpp"
#include "operators/matrix_statistics.hpp"
#include "solver/record.hpp"

namespace femcg::solver {

/// Where a matrix came from.
struct MatrixSource {
  std::string name;  ///< of the file
  bool symmetric = false;
  std::string ordering = "given";                ///< or reverse-cuthill-mckee
  std::optional<std::int64_t> bandwidth_before;  ///< as it was given, where it was reordered
};

/// One linear system that every operator is tried on: a finite-element problem, or a matrix from a file.
struct System {
  const operators::BilinearForm* form = nullptr;               ///< null for a matrix
  std::shared_ptr<const operators::CsrMatrix<double>> matrix;  ///< null for a form
  const std::vector<double>* load = nullptr;                   ///< right-hand side of CG; null: products only
  std::string preconditioner = "none";
  std::shared_ptr<const MatrixSource> source;  ///< of a matrix
  CgMethod method = CgMethod::automatic;
  CgLoop loop = CgLoop::automatic;

  std::int32_t unknowns() const { return form != nullptr ? form->unknowns : matrix->rows; }
};

/// An operator that takes part, on one device.
struct Entrant {
  OperatorChoice op;
  operators::Device device = operators::Device::host;
  std::map<std::string, std::string> sweep;  ///< the swept keys and their values here
  std::string not_applicable;                ///< why it cannot take part; empty where it can
};

enum class Outcome { timed, disagrees, failed, not_applicable, interrupted };
std::string_view name(Outcome outcome);

/// What came out for one entrant: one row of the table, one item of compare.json.
struct Compared {
  Record record;
  Outcome outcome = Outcome::interrupted;
  std::string reason;    ///< a sentence, where it was not timed
  bool refused = false;  ///< it failed since what was asked for does not fit, through no fault of the machine
  std::map<std::string, std::string> sweep;
  std::optional<double> agreement;  ///< worst_difference, once it was checked
  double agreement_bound = 0;
  Samples iteration;                 ///< seconds of one CG iteration; empty where CG was not timed
  std::int64_t iteration_bytes = 0;  ///< the least that one CG iteration moves: the product's and the vector passes'
  std::int64_t caching_bytes = 0;    ///< moved by a product if caches live for one block of rows; 0: unknown
  std::optional<double> break_even;  ///< CG iterations (products without CG) that pay for the conversion from csr
  std::optional<double> data_reduction;  ///< 1 - stored bytes / those of ellpack (Kreutzer et al. 2012, table 1)
  std::shared_ptr<const operators::MatrixStatistics> matrix;  ///< of the assembled one; null where there is none
  std::shared_ptr<const MatrixSource> source;                 ///< of a matrix from a file

  /// CG iterations a second that the copy bandwidth allows; 0 where CG was not timed.
  double roof() const {
    return iteration.empty() || iteration_bytes == 0
               ? 0
               : record.machine.copy_bandwidth / static_cast<double>(iteration_bytes);
  }
  /// What entrants are ranked by: seconds of a CG iteration, of a product where CG was not timed.
  const Samples& ranked() const { return iteration.empty() ? record.apply : iteration; }
};

struct ComparisonSettings {
  Precision precision = Precision::double_;
  int iterations = 200;
  int repetitions = 5;
  /// Told before each step which fraction of all is done and what comes next; false once the user wants to stop.
  std::function<bool(double done, const std::string& next)> go_on;
  /// Asked within a step whether the user wants to stop.
  std::function<bool()> stop = {};
};

/// Makes every entrant's operator, checks that it agrees with the reference, and times those that do, in turn. Those
/// that do not agree are not timed. Operators that do not fit in memory together are timed in groups. An entrant that
/// fails says why in its row, and the others go on. `common` is what all records share.
std::vector<Compared> compare_operators(const System& system, const std::vector<Entrant>& entrants,
                                        const ComparisonSettings& settings, const Record& common);

}  // namespace femcg::solver

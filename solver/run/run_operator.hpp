#pragma once

// The operator of a run: the one that is named, or what `operator: auto` takes; from the estimate of its memory to
// where it can multiply.

#include <memory>
#include <optional>
#include <string>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/prediction/choice.hpp"
#include "solver/problem/problem.hpp"
#include "solver/problem/setup.hpp"
#include "solver/records/record.hpp"
#include "solver/tuning/kept_tuning.hpp"

namespace femcg::solver {

/// Does what may find that an option does not fit the problem, and says so at the place of that option.
template <class Work>
auto placed(const Place& place, Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    if (!is_refusal(error)) throw;
    throw InputError(at_place(place, error.what()));
  }
}

/// What the loads of a case take: each its values and its solution, and one the sums of all dofs while it is assembled.
std::int64_t bytes_of_loads(std::size_t loads, const mesh::FunctionSpace& space);

MemoryUser user_of(const Case& resolved, const Problem& problem, operators::Device device, const OperatorChoice& op);

/// Throws InputError where the operator's options, or the loop, are not to be had for the problem. The rows of the
/// matrix are counted where the operator needs one and they are not there.
template <std::floating_point T>
MemoryEstimate need_of(const Case& resolved, const Problem& problem, operators::Device device, const OperatorChoice& op,
                       std::optional<operators::MatrixRows<T>>& rows);

/// What predictions for a case are of, in so many iterations a load.
Situation situation_of(const Case& resolved, const Problem& problem, operators::Device device, double iterations);

/// What every operator of a device is expected to take for a case, in so many iterations a load.
struct Expectation {
  Rates rates;
  std::vector<Prediction> predictions;
};
template <std::floating_point T>
Expectation expect(const Case& resolved, const Problem& problem, operators::Device device,
                   std::optional<operators::MatrixRows<T>>& rows, double iterations);

/// The decision of auto, with a rival only where the loads are solved one after the other.
OperatorDecision decide_for(const Case& resolved, const Problem& problem, operators::Device device,
                            const Expectation& expected);

/// Whether a case that may run on either device is left to the processor although there is a GPU (`device: auto`). Only
/// problems are looked at that are small enough for that to be in question.
struct DeviceDecision {
  std::string why_on_host;              ///< empty where it is not
  std::optional<Expectation> expected;  ///< of all operators of the device that was decided on, where they were asked
};
template <std::floating_point T>
DeviceDecision decide_device(const Case& resolved, const Problem& problem);

/// The operator, and beside it a rival where their products are to decide.
template <std::floating_point T>
struct MadeOperators {
  OperatorChoice op;
  std::unique_ptr<operators::Operator<T>> a;
  OperatorChoice rival_op;
  std::unique_ptr<operators::Operator<T>> rival;
  std::optional<KeptTuning> kept, rival_kept;             ///< tuning by an earlier run that each has
  std::shared_ptr<const operators::CsrMatrix<T>> matrix;  ///< while `a` may be made with other options
  std::int64_t reserved_bytes = 0;                        ///< operators::Ingredients
};

/// Makes them on the record's device, with what tuning has kept for them, and gives back what they were made from, but
/// a matrix that tuning may need; the record gets memory, times and, for auto, why. Throws operators::OutOfMemory
/// before anything large is allocated where the operator would not fit.
/// `expected`: where that of the record's device is known already.
template <std::floating_point T>
MadeOperators<T> make_operators(const Case& resolved, const Problem& problem, std::optional<Expectation> expected,
                                Progress& progress, Record& record);

}  // namespace femcg::solver

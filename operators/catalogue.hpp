#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/footprint.hpp"
#include "operators/operator.hpp"
#include "operators/options.hpp"

namespace femcg::operators {

struct BilinearForm;
struct ElementMatrices;
template <std::floating_point T>
struct CsrMatrix;

/// The input of an operator; only the parts that it needs are there.
enum class Needs {
  matrix,            ///< the assembled CSR matrix: works for Matrix Market files too
  element_matrices,  ///< K_e of every cell on the host; a GPU makes do with the form
  form               ///< the space and the coefficients at quadrature points: nothing is assembled
};

template <std::floating_point T>
struct Ingredients {
  Device device = Device::host;
  const BilinearForm* form = nullptr;
  const ElementMatrices* element_matrices = nullptr;
  std::shared_ptr<const CsrMatrix<T>> matrix;  ///< csr keeps it, the others convert it
  std::int64_t reserved_bytes = 0;             ///< of the device, for what there will be beside the operator
};

/// The size of a problem: what an operator's memory is estimated from before the matrix and the operator are there.
template <std::floating_point T>
struct Extent {
  Device device = Device::host;
  const BilinearForm* form = nullptr;    ///< null for a matrix from a file
  const CsrMatrix<T>* matrix = nullptr;  ///< its row offsets are looked at, and nothing else; null where none is needed
  std::int64_t reserved_bytes = 0;       ///< as in Ingredients
};

/// A function for each precision. (clang 14 fails on a template of a template with a constraint.)
template <template <typename> class Function>
struct InEachPrecision {
  Function<double> in_double = nullptr;
  Function<float> in_single = nullptr;

  template <std::floating_point T>
  Function<T> in() const {
    if constexpr (std::is_same_v<T, double>)
      return in_double;
    else
      return in_single;
  }
};

/// Makes an operator on one backend.
template <typename T>
using Maker = std::unique_ptr<Operator<T>> (*)(const Ingredients<T>&, const Options&);
using Makers = InEachPrecision<Maker>;

/// Estimates its memory on either. Throws what making would throw, where that is known from the lengths of rows alone.
template <typename T>
using Estimator = StorageEstimate (*)(const Extent<T>&, const Options&);

/// Factory of an operator that was added while the program runs (a plug-in's).
class AddedOperator {
 public:
  virtual ~AddedOperator() = default;
  AddedOperator(const AddedOperator&) = delete;
  AddedOperator& operator=(const AddedOperator&) = delete;

  virtual bool on_host() const = 0;
  virtual std::unique_ptr<Operator<double>> make(const Ingredients<double>& from, const Options& given) const = 0;
  virtual std::unique_ptr<Operator<float>> make(const Ingredients<float>& from, const Options& given) const = 0;
  virtual StorageEstimate estimate(const Extent<double>& of, const Options& given) const = 0;
  virtual StorageEstimate estimate(const Extent<float>& of, const Options& given) const = 0;
  /// In place of OptionDescription::accepts.
  virtual bool accepts(const OptionDescription& option, const std::string& value) const = 0;

 protected:
  AddedOperator() = default;
};

/// One row of the catalogue.
struct OperatorDescription {
  std::string_view name;
  std::string_view stores;
  std::string_view source;
  Needs needs;
  bool cuda = false;  ///< it has a version for the GPU, in builds with CUDA
  std::span<const OptionDescription> options = {};
  Makers on_host = {};  ///< empty: it has none
  InEachPrecision<Estimator> estimates = {};
  /// True if a product with several vectors takes less time than as many with one, as far as that was measured.
  bool host_gains_from_multi_vectors = true, cuda_gains_from_multi_vectors = true;
  /// True if its product on the host can make the passes of CG (WithFusedCg).
  bool host_fuses_cg = false;
  std::shared_ptr<const AddedOperator> added = nullptr;  ///< null for femcg's own

  bool gains_from_multi_vectors(Device device) const {
    return device == Device::host ? host_gains_from_multi_vectors : cuda_gains_from_multi_vectors;
  }
  bool host() const { return added ? added->on_host() : on_host.in_double != nullptr; }
  /// A GPU assembles its element matrices itself.
  Needs needs_on(Device device) const {
    return needs == Needs::element_matrices && device == Device::cuda ? Needs::form : needs;
  }
  /// Throws std::logic_error where this build has none for the device.
  template <std::floating_point T>
  std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) const;
  /// The memory that make() will need.
  template <std::floating_point T>
  StorageEstimate estimate(const Extent<T>& of, const Options& given) const {
    return added ? added->estimate(of, given) : estimates.in<T>()(of, given);
  }
};

/// An operator of the GPU by its name.
struct CudaRow {
  std::string_view name;
  Makers makers;
};
/// The GPU operators of this build: none without CUDA.
std::span<const CudaRow> cuda_rows();

/// Femcg's own operators, in the order in which a comparison shows them.
std::span<const OperatorDescription> own_operators();

/// Every operator of this process: femcg's own, and those that were added behind them.
std::span<const OperatorDescription> catalogue();

/// Adds operators (operators/plugins) and answers true, or false where there were too many. Rows that are there stay
/// where they are; a catalogue that was asked for before lacks the new ones. Not while another thread uses it.
bool add_operators(std::vector<OperatorDescription> rows);
inline constexpr std::size_t most_added_operators = 256;

/// The row of that name; nullptr where there is none.
const OperatorDescription* find_operator(std::string_view name);

/// Throws std::invalid_argument with one sentence where an option is unknown (with the known ones) or its value is not
/// accepted.
void check_options(const OperatorDescription& row, const Options& given);

}  // namespace femcg::operators

#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/forms/bilinear_form.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/operator.hpp"
#include "operators/options.hpp"
#include "operators/sparse/csr_matrix.hpp"
#include "operators/sparse/operator_bytes.hpp"

namespace femcg::operators {

/// What an operator is made from; only the parts that it needs are there.
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
};

/// Estimates an operator's memory. May throw what its making would, where that is known from the lengths of rows alone.
template <std::floating_point T>
using BytesOf = OperatorBytes (*)(const Extent<T>&, const Options&);

/// One row of the catalogue.
struct OperatorDescription {
  std::string_view name;
  std::string_view stores;
  std::string_view source;
  Needs needs;
  bool host;
  bool cuda;
  std::span<const OptionDescription> options;
  /// A GPU assembles its element matrices itself.
  Needs needs_on(Device device) const {
    return needs == Needs::element_matrices && device == Device::cuda ? Needs::form : needs;
  }
  std::unique_ptr<Operator<double>> (*make_double)(const Ingredients<double>&, const Options&);
  std::unique_ptr<Operator<float>> (*make_single)(const Ingredients<float>&, const Options&);
  BytesOf<double> bytes_double = nullptr;  ///< null: it keeps what it needs as that is
  BytesOf<float> bytes_single = nullptr;

  template <std::floating_point T>
  std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) const {
    if constexpr (std::is_same_v<T, double>)
      return make_double(from, given);
    else
      return make_single(from, given);
  }

  /// The memory that make() will need.
  template <std::floating_point T>
  OperatorBytes bytes(const Extent<T>& of, const Options& given) const;
};

/// Every operator of this build, in the order in which a comparison shows them.
std::span<const OperatorDescription> catalogue();

/// The row of that name; nullptr where there is none.
const OperatorDescription* find_operator(std::string_view name);

/// Throws std::invalid_argument with one sentence where an option is unknown (with the known ones) or its value is not
/// accepted.
void check_options(const OperatorDescription& row, const Options& given);

}  // namespace femcg::operators

// Catalogue of femcg_with_wrong_operator: that of the program, and operators with one defect each. No comparison may
// time them.

#include <array>
#include <limits>
#include <stdexcept>

#include "operators/catalogue.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/csr/csr.hpp"
#include "operators/vendor/eigen.hpp"

namespace femcg::operators {

namespace {

/// Defect of a product, or of the construction (throws).
enum class Defect { value, energy, unwritten_row, throws };

template <std::floating_point T, Defect defect>
class Wrong final : public Operator<T> {
 public:
  explicit Wrong(const Ingredients<T>& from)
      : Operator<T>(from.matrix->rows, Device::host), right_(csr().make<T>(from, {})) {
    if (defect == Defect::throws) throw std::runtime_error("this operator cannot be made");
  }
  void diagonal(Vector<T>& d) const override { right_->diagonal(d); }
  Footprint footprint() const override { return right_->footprint(); }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const std::int64_t middle = this->size() / 2;
    const T before = y[middle];
    right_->apply(x, y, energy);
    if (defect == Defect::value) y[middle] *= static_cast<T>(1 + 1e6 * std::numeric_limits<T>::epsilon());
    if (defect == Defect::unwritten_row) y[middle] = before;
    if (defect == Defect::energy && energy != nullptr) *energy->data() *= 1.001;
  }

  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    MultiScalar of(energies, x.stride(), Device::host);
    right_->apply(x, y, energies != nullptr ? &of : nullptr);
  }

  std::unique_ptr<Operator<T>> right_;
};

template <std::floating_point T, Defect defect>
std::unique_ptr<Operator<T>> make_wrong(const Ingredients<T>& from, const Options&) {
  return std::make_unique<Wrong<T, defect>>(from);
}

template <Defect defect>
OperatorDescription wrong_row(std::string_view name) {
  return {.name = name,
          .stores = "compressed rows",
          .source = "",
          .needs = Needs::matrix,
          .on_host = {make_wrong<double, defect>, make_wrong<float, defect>},
          .estimates = csr().estimates};
}

}  // namespace

std::span<const OperatorDescription> own_operators() {
  static const std::array rows{
      csr(),
      wrong_row<Defect::value>("wrong-value"),
      wrong_row<Defect::energy>("wrong-energy"),
      wrong_row<Defect::unwritten_row>("wrong-unwritten"),
      wrong_row<Defect::throws>("wrong-throws"),
      eigen(),
  };
  return rows;
}

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <memory>

#include "operators/backend/vector.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// FormProduct on the GPU in use: A x in double precision directly from the form, by a simple kernel of its own that
/// multiplies with the gradients of all basis functions at all points.
///
/// Terms are added in fixed-point numbers of two words, to multiples of 2^-53 of the greatest term or less, so that
/// their order does not matter: two runs give the same bits.
class FormProductOnGpu {
 public:
  enum class Unknowns { sent, kept };

  /// Copies the cells' data to the GPU, except for the indices of their unknowns: these are sent with each product,
  /// concurrently with the work on previous cells, or, with Unknowns::kept, with the first product only. The form must
  /// outlive the object. Throws std::runtime_error in a build without CUDA.
  explicit FormProductOnGpu(const BilinearForm& form, Unknowns unknowns = Unknowns::sent);
  /// True if a GPU is faster than the host, which needs no copy of the mesh.
  static bool pays(const BilinearForm& form) {
    constexpr std::int64_t entries = 4'000'000;
    return std::int64_t{form.cells()} * form.dofs_per_cell() >= entries;
  }
  /// Upper bound of the GPU memory in bytes.
  static std::int64_t bytes(const BilinearForm& form, Unknowns unknowns);
  ~FormProductOnGpu();

  /// r = b - A x on the unknowns, in their natural order. All vectors are on the GPU and of one size; `scratch` is
  /// overwritten.
  void residual(const Vector<double>& x, const Vector<double>& b, Vector<double>& r, Vector<double>& scratch) const;

 private:
  class Products;
  std::unique_ptr<Products> products_;
};

}  // namespace femcg::operators

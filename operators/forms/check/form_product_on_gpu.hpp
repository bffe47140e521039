#pragma once

#include <cstdint>
#include <memory>

#include "operators/backend/vector.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// FormProduct on the GPU in use: A x in double precision straight from the form, by a plain kernel of its own that
/// multiplies with the gradients of all basis functions at all points.
///
/// Terms are added as whole numbers of two words, multiples of 2^-53 of the greatest or less, so that their order does
/// not matter: two runs give the same bits.
class FormProductOnGpu {
 public:
  enum class Unknowns { sent, kept };

  /// Copies to the GPU what cells need, but for the numbers of their unknowns, which come with each product while the
  /// GPU works on the cells before, or with the first, and are then kept. The form must outlive this. Throws
  /// std::runtime_error in a build without CUDA.
  explicit FormProductOnGpu(const BilinearForm& form, Unknowns unknowns = Unknowns::sent);
  /// True if a GPU is done before the processor, which needs no copy of the mesh.
  static bool pays(const BilinearForm& form) {
    constexpr std::int64_t entries = 4'000'000;
    return std::int64_t{form.cells()} * form.dofs_per_cell() >= entries;
  }
  /// Bytes of GPU memory, at most.
  static std::int64_t bytes(const BilinearForm& form, Unknowns unknowns);
  ~FormProductOnGpu();

  /// r = b - A x on the unknowns, in their natural order. All are on the GPU and of one size; `scratch` is used
  /// meanwhile.
  void residual(const Vector<double>& x, const Vector<double>& b, Vector<double>& r, Vector<double>& scratch) const;

 private:
  class Products;
  std::unique_ptr<Products> products_;
};

}  // namespace femcg::operators

// CG's vector passes as a user of cuBLAS would write them, scalars on the device. They move 12 words per unknown beside
// the product: dot 2, two axpy 6, dot 1, geam 3; a diagonal adds dgmm 3 and dot 2.

#include "operators/vendor/cublas_vectors.hpp"

#include <memory>

#include "operators/backend/cuda/cublas.cuh"
#include "operators/backend/launch.cuh"
#include "operators/backend/passes/step_lengths.hpp"

namespace femcg::operators {

namespace {

/// The calls that CG makes; numbers that go in or out are on the GPU.
template <std::floating_point T>
class Blas {
 public:
  Blas() : handle_(CUBLAS_POINTER_MODE_DEVICE, 4 << 20) {}

  /// a'b
  void dot(const Vector<T>& a, const Vector<T>& b, T* result) const {
    check(cuda::of_precision<T>(cublas_.ddot, cublas_.sdot)(handle_.get(), a.size(), a.data(), 1, b.data(), 1, result),
          "a dot product in cuBLAS");
  }
  /// y += factor x
  void add(const T* factor, const Vector<T>& x, Vector<T>& y) const {
    check(
        cuda::of_precision<T>(cublas_.daxpy, cublas_.saxpy)(handle_.get(), x.size(), factor, x.data(), 1, y.data(), 1),
        "an update in cuBLAS");
  }
  /// y = diag(d) x
  void multiply(const Vector<T>& d, const Vector<T>& x, Vector<T>& y) const {
    const std::int64_t n = x.size();
    if (n == 0) return;  // cuBLAS refuses a leading dimension of 0
    check(cuda::of_precision<T>(cublas_.ddgmm, cublas_.sdgmm)(handle_.get(), CUBLAS_SIDE_LEFT, n, 1, x.data(), n,
                                                              d.data(), 1, y.data(), n),
          "a diagonal product in cuBLAS");
  }
  /// y = one x + factor y in one pass, where scal and axpy make two. geam's threads share tiles of a matrix, most of
  /// which would lie beside a single column: so the vectors are matrices of several columns, and what is left is one.
  /// On short vectors of single precision it is slower than these: on an H200 by 1 to 9% of an iteration up to 200,000.
  void add_to_scaled(const T* one, const Vector<T>& x, const T* factor, Vector<T>& y) const {
    const std::int64_t rows = y.size() / geam_columns, done = rows * geam_columns;
    add_to_scaled(rows, geam_columns, one, x.data(), factor, y.data());
    add_to_scaled(y.size() - done, 1, one, x.data() + done, factor, y.data() + done);
  }

 private:
  static constexpr std::int64_t geam_columns = 32;

  /// cuBLAS allows C = B where B is not transposed and both have one leading dimension.
  void add_to_scaled(std::int64_t rows, std::int64_t columns, const T* one, const T* x, const T* factor, T* y) const {
    if (rows == 0) return;
    check(cuda::of_precision<T>(cublas_.dgeam, cublas_.sgeam)(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, rows, columns,
                                                              one, x, rows, factor, y, rows, y, rows),
          "a sum of vectors in cuBLAS");
  }

  static void check(cublasStatus_t status, const char* doing) { cuda::Cublas::check(status, doing); }

  const cuda::Cublas& cublas_ = cuda::Cublas::get();
  cuda::CublasHandle handle_;
};

/// The few numbers of an iteration in the working precision, in which cuBLAS takes and leaves them.
template <class T>
struct Numbers {
  T sum, alpha, minus_alpha, beta, one;
};

template <class T>
__device__ void set_alpha(double alpha, Numbers<T>* to) {
  to->alpha = static_cast<T>(alpha);
  to->minus_alpha = -to->alpha;
}
template <class T>
__global__ void set_alpha_of_classic(const double* rz, const double* energy, Numbers<T>* to) {
  set_alpha(step_length(*rz, *energy), to);
}
template <class T>
__global__ void set_beta_of_classic(const double* new_rz, const double* rz, Numbers<T>* to) {
  to->beta = static_cast<T>(step_length(*new_rz, *rz));
}
/// Both step lengths of the single-reduction method, and p'Ap.
template <class T>
__global__ void set_both(const double* old_rz, const double* old_energy, const double* rz, const double* uw,
                         double* energy, Numbers<T>* to) {
  const StepLengths lengths = step_lengths(*old_rz, *old_energy, *rz, *uw);
  *energy = lengths.energy;
  to->beta = static_cast<T>(lengths.beta);
  set_alpha(lengths.alpha, to);
}
__global__ void widen(const float* from, double* to) { *to = *from; }
template <class T>
__global__ void widen_all(std::int64_t rows, const float* from, T* to) {
  const std::int64_t i = cuda::thread_number();
  if (i < rows) to[i] = static_cast<T>(from[i]);
}

template <std::floating_point T>
class CublasVectors final : public VectorKernels<T> {
 public:
  CublasVectors() : numbers_(1, Device::cuda) {
    const Numbers<T> start{.one = 1};
    copy_bytes(&start, Device::host, numbers(), Device::cuda, sizeof start);
  }

  void start(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, Vector<T>& p,
             CgScalars& first) const override {
    if (inverse_diagonal == nullptr)
      copy(r, p);
    else
      widen_diagonal(*inverse_diagonal);  // another preconditioner may begin here
    norms(r, inverse_diagonal, p, first);
  }

  void update(const CgScalars& now, const Vector<T>& q, const InverseDiagonal* inverse_diagonal, Vector<T>& r,
              CgScalars& next) const override {
    cuda::launch(set_alpha_of_classic<T>, 1, 1, 0, now.rz.data(), now.energy.data(), numbers());
    blas_.add(&numbers()->minus_alpha, q, r);
    if (inverse_diagonal != nullptr && z_.size() != r.size()) z_ = Vector<T>(r.size(), Device::cuda);
    norms(r, inverse_diagonal, z_, next);
  }

  void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                 const InverseDiagonal* inverse_diagonal, Vector<T>& p, Vector<T>& x) const override {
    blas_.add(&numbers()->alpha, p, x);
    cuda::launch(set_beta_of_classic<T>, 1, 1, 0, next.rz.data(), now.rz.data(), numbers());
    add_to_scaled(inverse_diagonal == nullptr ? r : z_, p);
  }

  void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
               const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r, CgScalars& next) const override {
    cuda::launch(set_both<T>, 1, 1, 0, before.rz.data(), before.energy.data(), now.rz.data(), now.uw.data(),
                 now.energy.data(), numbers());
    add_to_scaled(inverse_diagonal == nullptr ? r : vectors.u, vectors.p);
    add_to_scaled(vectors.w, vectors.s);
    blas_.add(&numbers()->alpha, vectors.p, x);
    blas_.add(&numbers()->minus_alpha, vectors.s, r);
    norms(r, inverse_diagonal, vectors.u, next);
  }

  void advance_pipelined(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors, Pipelined<T>& ahead,
                         const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r,
                         CgScalars& next) const override {
    cuda::launch(set_both<T>, 1, 1, 0, before.rz.data(), before.energy.data(), now.rz.data(), now.uw.data(),
                 now.energy.data(), numbers());
    if (inverse_diagonal != nullptr) {
      if (z_.size() != r.size()) z_ = Vector<T>(r.size(), Device::cuda);
      blas_.multiply(widened(*inverse_diagonal), r, z_);
    }
    add_to_scaled(inverse_diagonal == nullptr ? r : z_, vectors.p);
    add_to_scaled(vectors.w, vectors.s);
    add_to_scaled(ahead.n, ahead.z);
    blas_.add(&numbers()->alpha, vectors.p, x);
    blas_.add(&numbers()->minus_alpha, vectors.s, r);
    blas_.add(&numbers()->minus_alpha, ahead.z, vectors.w);
    norms(r, inverse_diagonal, z_, next);
    if (inverse_diagonal != nullptr) blas_.multiply(widened(*inverse_diagonal), vectors.w, ahead.m);
    dot(inverse_diagonal == nullptr ? r : z_, vectors.w, next.uw);
  }

  void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const override {
    if constexpr (std::is_same_v<T, double>) {
      blas_.dot(a, b, result.data());
    } else {
      blas_.dot(a, b, &numbers()->sum);
      cuda::launch(widen, 1, 1, 0, &numbers()->sum, result.data());
    }
  }

 private:
  Numbers<T>* numbers() const { return numbers_.data(); }
  /// y = x + beta y
  void add_to_scaled(const Vector<T>& x, Vector<T>& y) const {
    blas_.add_to_scaled(&numbers()->one, x, &numbers()->beta, y);
  }
  /// In the precision of the vectors, which is what cuBLAS multiplies by. Recorded work knows where it lies.
  const Vector<T>& widened(const InverseDiagonal& inverse_diagonal) const {
    if (widened_.size() != inverse_diagonal.size()) widen_diagonal(inverse_diagonal);
    return widened_;
  }
  void widen_diagonal(const InverseDiagonal& inverse_diagonal) const {
    constexpr int threads = 256;
    const std::int64_t rows = inverse_diagonal.size();
    if (widened_.size() != rows) widened_ = Vector<T>(rows, Device::cuda);
    cuda::launch(widen_all<T>, cuda::blocks_of(rows, threads), threads, 0, rows, inverse_diagonal.data(),
                 widened_.data());
  }
  /// r'r and r'z, with z = M^-1 r left behind where there is a diagonal.
  void norms(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, Vector<T>& z, CgScalars& next) const {
    dot(r, r, next.rr);
    if (inverse_diagonal == nullptr) {
      copy_bytes(next.rr.data(), Device::cuda, next.rz.data(), Device::cuda, sizeof(double));
    } else {
      blas_.multiply(widened(*inverse_diagonal), r, z);
      dot(r, z, next.rz);
    }
  }

  Blas<T> blas_;
  mutable Vector<Numbers<T>> numbers_;
  mutable Vector<T> z_, widened_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<VectorKernels<T>> make_cublas_vectors() {
  return std::make_unique<CublasVectors<T>>();
}
template std::unique_ptr<VectorKernels<double>> make_cublas_vectors();
template std::unique_ptr<VectorKernels<float>> make_cublas_vectors();

}  // namespace femcg::operators

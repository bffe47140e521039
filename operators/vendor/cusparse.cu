// cuSPARSE's products and a CG of cuBLAS calls: what a user of the libraries would write, scalars on the device. Vector
// passes move 14 words per unknown beside the product: dot 2, two axpy 6, dot 1, scal 2, axpy 3.

#include <cublas_v2.h>
#include <cusparse.h>

#include "operators/backend/cuda/launch.cuh"
#include "operators/backend/vector_operations.hpp"
#include "operators/backend/cuda/step_length.cuh"
#include "operators/sparse/stored_diagonal.hpp"
#include "operators/sparse/stored_footprint.hpp"
#include "operators/vendor/cusparse_cuda.hpp"

namespace femcg::operators {

namespace {

void check(cusparseStatus_t status, const char* doing) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw std::runtime_error(std::string(doing) + ": " + cusparseGetErrorString(status));
}
void check(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(doing) + ": " + cublasGetStatusString(status));
}

/// cuBLAS by precision.
struct Blas {
  Blas() : workspace(workspace_bytes, Device::cuda) {
    check(cublasCreate(&handle), "starting cuBLAS");
    check(cublasSetStream(handle, cuda::stream()), "starting cuBLAS");
    check(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), "starting cuBLAS");
    check(cublasSetWorkspace(handle, workspace.data(), workspace_bytes), "starting cuBLAS");
  }
  ~Blas() { cublasDestroy(handle); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  void dot(const Vector<double>& a, const Vector<double>& b, double* result) const {
    check(cublasDdot_64(handle, a.size(), a.data(), 1, b.data(), 1, result), "a dot product in cuBLAS");
  }
  void dot(const Vector<float>& a, const Vector<float>& b, float* result) const {
    check(cublasSdot_64(handle, a.size(), a.data(), 1, b.data(), 1, result), "a dot product in cuBLAS");
  }
  void add(const double* factor, const Vector<double>& x, Vector<double>& y) const {
    check(cublasDaxpy_64(handle, x.size(), factor, x.data(), 1, y.data(), 1), "an update in cuBLAS");
  }
  void add(const float* factor, const Vector<float>& x, Vector<float>& y) const {
    check(cublasSaxpy_64(handle, x.size(), factor, x.data(), 1, y.data(), 1), "an update in cuBLAS");
  }
  void scale(const double* factor, Vector<double>& x) const {
    check(cublasDscal_64(handle, x.size(), factor, x.data(), 1), "a scaling in cuBLAS");
  }
  void scale(const float* factor, Vector<float>& x) const {
    check(cublasSscal_64(handle, x.size(), factor, x.data(), 1), "a scaling in cuBLAS");
  }
  /// y = diag(d) x.
  void multiply(const Vector<double>& d, const Vector<double>& x, Vector<double>& y) const {
    if (x.size() == 0) return;  // cuBLAS refuses a leading dimension of 0
    check(cublasDdgmm_64(handle, CUBLAS_SIDE_LEFT, x.size(), 1, x.data(), x.size(), d.data(), 1, y.data(), x.size()),
          "a diagonal product in cuBLAS");
  }
  void multiply(const Vector<float>& d, const Vector<float>& x, Vector<float>& y) const {
    if (x.size() == 0) return;
    check(cublasSdgmm_64(handle, CUBLAS_SIDE_LEFT, x.size(), 1, x.data(), x.size(), d.data(), 1, y.data(), x.size()),
          "a diagonal product in cuBLAS");
  }

  static constexpr std::int64_t workspace_bytes = 4 << 20;
  cublasHandle_t handle{};
  Vector<char> workspace;
};

/// The few numbers of an iteration in the working precision, in which cuBLAS takes and leaves them.
template <class T>
struct Numbers {
  T rz, rr, alpha, minus_alpha, beta, one, energy;
};

template <class T>
__device__ void set_alpha(double alpha, Numbers<T>* to) {
  to->alpha = static_cast<T>(alpha);
  to->minus_alpha = -to->alpha;
}
template <class T>
__device__ void set_beta(double beta, Numbers<T>* to) {
  to->beta = static_cast<T>(beta);
  to->one = 1;
}
template <class T>
__global__ void set_alpha_of_classic(const double* rz, const double* energy, Numbers<T>* to) {
  set_alpha(cuda::step_length(*rz, *energy), to);
}
template <class T>
__global__ void set_beta_of_classic(const double* new_rz, const double* rz, Numbers<T>* to) {
  set_beta(cuda::step_length(*new_rz, *rz), to);
}
/// Both step lengths of the single-reduction method, and p'Ap.
template <class T>
__global__ void set_both(const double* old_rz, const double* old_energy, const double* rz, const double* uw,
                         double* energy, Numbers<T>* to) {
  const double beta = cuda::step_length(*rz, *old_rz);
  *energy = *uw - beta * beta * *old_energy;
  set_beta(beta, to);
  set_alpha(cuda::step_length(*rz, *energy), to);
}
template <class T>
__global__ void widen(const T* from, double* to) {
  *to = static_cast<double>(*from);
}

template <std::floating_point T>
class CublasVectorOperations final : public VectorOperations<T> {
 public:
  CublasVectorOperations() : numbers_(1, Device::cuda) {}

  void start(const Vector<T>& r, const Vector<T>* inverse_diagonal, Vector<T>& p, CgScalars& first) const override {
    if (inverse_diagonal != nullptr)
      blas_.multiply(*inverse_diagonal, r, p);
    else
      copy(r, p);
    sum(r, p, &numbers()->rz, first.rz);
    sum(r, r, &numbers()->rr, first.rr);
  }

  void update(const CgScalars& now, const Vector<T>& q, const Vector<T>* inverse_diagonal, Vector<T>& r,
              CgScalars& next) const override {
    cuda::launch(set_alpha_of_classic<T>, 1, 1, 0, now.rz.data(), now.energy.data(), numbers());
    blas_.add(&numbers()->minus_alpha, q, r);
    norms(r, inverse_diagonal, inverse_diagonal != nullptr ? &z_of(r) : nullptr, next);
  }

  void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r, const Vector<T>* inverse_diagonal,
                 Vector<T>& p, Vector<T>& x) const override {
    blas_.add(&numbers()->alpha, p, x);
    cuda::launch(set_beta_of_classic<T>, 1, 1, 0, next.rz.data(), now.rz.data(), numbers());
    blas_.scale(&numbers()->beta, p);
    blas_.add(&numbers()->one, inverse_diagonal == nullptr ? r : z_, p);
  }

  void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors, const Vector<T>* inverse_diagonal,
               Vector<T>& x, Vector<T>& r, CgScalars& next) const override {
    cuda::launch(set_both<T>, 1, 1, 0, before.rz.data(), before.energy.data(), now.rz.data(), now.uw.data(),
                 now.energy.data(), numbers());
    blas_.scale(&numbers()->beta, vectors.p);
    blas_.add(&numbers()->one, inverse_diagonal == nullptr ? r : vectors.u, vectors.p);
    blas_.scale(&numbers()->beta, vectors.s);
    blas_.add(&numbers()->one, vectors.w, vectors.s);
    blas_.add(&numbers()->alpha, vectors.p, x);
    blas_.add(&numbers()->minus_alpha, vectors.s, r);
    norms(r, inverse_diagonal, &vectors.u, next);
  }

  void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const override {
    sum(a, b, &numbers()->energy, result);
  }

 private:
  Numbers<T>* numbers() const { return numbers_.data(); }
  /// r'r and r'z, with z = M^-1 r left behind where there is a diagonal.
  void norms(const Vector<T>& r, const Vector<T>* inverse_diagonal, Vector<T>* z, CgScalars& next) const {
    sum(r, r, &numbers()->rr, next.rr);
    if (inverse_diagonal == nullptr) {
      cuda::launch(widen<T>, 1, 1, 0, &numbers()->rr, next.rz.data());
    } else {
      blas_.multiply(*inverse_diagonal, r, *z);
      sum(r, *z, &numbers()->rz, next.rz);
    }
  }
  void sum(const Vector<T>& a, const Vector<T>& b, T* place, Scalar& result) const {
    if constexpr (std::is_same_v<T, double>) {
      blas_.dot(a, b, result.data());
      copy_bytes(result.data(), Device::cuda, place, Device::cuda, sizeof(double));
    } else {
      blas_.dot(a, b, place);
      cuda::launch(widen<T>, 1, 1, 0, place, result.data());
    }
  }
  Vector<T>& z_of(const Vector<T>& r) const {
    if (z_.size() != r.size()) z_ = Vector<T>(r.size(), Device::cuda);
    return z_;
  }

  Blas blas_;
  mutable Vector<Numbers<T>> numbers_;
  mutable Vector<T> z_;
};

template <class T>
constexpr cudaDataType value_type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

/// A handle, a matrix, and what the product needs beside them.
template <std::floating_point T>
class CusparseOperator : public Operator<T>, public WithVectorOperations<T> {
 public:
  explicit CusparseOperator(const CsrMatrix<T>& matrix)
      : Operator<T>(matrix.rows, Device::cuda), nonzeros_(matrix.nonzeros()), diagonal_(diagonal_of(matrix)) {
    check(cusparseCreate(&handle_), "starting cuSPARSE");
    check(cusparseSetStream(handle_, cuda::stream()), "starting cuSPARSE");
  }
  ~CusparseOperator() override {
    if (matrix_ != nullptr) cusparseDestroySpMat(matrix_);
    cusparseDestroy(handle_);
  }
  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  const VectorOperations<T>& vector_operations() const override { return kernels_; }

 protected:
  void prepare(cusparseSpMVAlg_t algorithm) {
    algorithm_ = algorithm;
    if (this->size() == 0) return;
    const Vector<T> x(this->size(), Device::cuda);
    Vector<T> y(this->size(), Device::cuda);
    const DenseVector in(x), out(y);
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, in.vector, &zero_,
                                  out.vector, value_type<T>, algorithm_, &bytes),
          "asking cuSPARSE for a buffer");
    buffer_ = Vector<char>(static_cast<std::int64_t>(bytes), Device::cuda);
    check(cusparseSpMV_preprocess(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, in.vector, &zero_,
                                  out.vector, value_type<T>, algorithm_, buffer_.data()),
          "preparing a product in cuSPARSE");
  }

  std::int64_t nonzeros_;
  cusparseSpMatDescr_t matrix_{};
  Vector<char> buffer_;

 private:
  struct DenseVector {
    explicit DenseVector(const Vector<T>& of) {
      check(cusparseCreateDnVec(&vector, of.size(), const_cast<T*>(of.data()), value_type<T>), "describing a vector");
    }
    ~DenseVector() { cusparseDestroyDnVec(vector); }
    DenseVector(const DenseVector&) = delete;
    DenseVector& operator=(const DenseVector&) = delete;
    cusparseDnVecDescr_t vector{};
  };

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    if (this->size() > 0) {
      const DenseVector in(x), out(y);
      check(cusparseSpMV(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, in.vector, &zero_, out.vector,
                         value_type<T>, algorithm_, const_cast<char*>(buffer_.data())),
            "a product in cuSPARSE");
    }
    if (energy != nullptr) kernels_.dot(x, y, *energy);
  }

  static constexpr T one_ = 1, zero_ = 0;
  cusparseHandle_t handle_{};
  cusparseSpMVAlg_t algorithm_ = CUSPARSE_SPMV_ALG_DEFAULT;
  Vector<T> diagonal_;  ///< on the host
  CublasVectorOperations<T> kernels_;
};

Vector<std::int32_t> narrowed(const Vector<std::int64_t>& offsets) {
  Vector<std::int32_t> narrow(offsets.size());
  for (std::int64_t i = 0; i < offsets.size(); ++i) narrow[i] = static_cast<std::int32_t>(offsets[i]);
  return copied(narrow, Device::cuda);
}

template <std::floating_point T>
class CusparseCsr final : public CusparseOperator<T> {
 public:
  CusparseCsr(const CsrMatrix<T>& matrix, int algorithm)
      : CusparseOperator<T>(matrix),
        offsets_(narrowed(matrix.row_offsets)),
        columns_(copied(matrix.columns, Device::cuda)),
        values_(copied(matrix.values, Device::cuda)) {
    check(cusparseCreateCsr(&this->matrix_, matrix.rows, matrix.rows, matrix.nonzeros(), offsets_.data(),
                            columns_.data(), values_.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_BASE_ZERO, value_type<T>),
          "describing a matrix");
    this->prepare(algorithm == 0   ? CUSPARSE_SPMV_ALG_DEFAULT
                  : algorithm == 1 ? CUSPARSE_SPMV_CSR_ALG1
                                   : CUSPARSE_SPMV_CSR_ALG2);
  }
  Footprint footprint() const override {
    const std::int64_t bytes = offsets_.bytes() + columns_.bytes() + values_.bytes();
    return stored_footprint<T>(this->size(), this->nonzeros_, this->nonzeros_, bytes + this->buffer_.bytes(), bytes);
  }

 private:
  Vector<std::int32_t> offsets_, columns_;
  Vector<T> values_;
};

/// Slices of 32 rows in their order, column by column, padded with zeros at column -1, as cuSPARSE wants them.
template <std::floating_point T>
class CusparseSell final : public CusparseOperator<T> {
 public:
  explicit CusparseSell(const CsrMatrix<T>& matrix) : CusparseOperator<T>(matrix) {
    const std::int64_t slices = (std::int64_t{matrix.rows} + slice_rows - 1) / slice_rows;
    Vector<std::int64_t> offsets(slices + 1);
    offsets[0] = 0;
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      std::int64_t longest = 0;
      for (std::int64_t row = slice * slice_rows; row < last_row(matrix, slice); ++row)
        longest = std::max(longest, matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
      offsets[slice + 1] = offsets[slice] + longest * slice_rows;
    }
    Vector<std::int32_t> columns(offsets[slices]);
    Vector<T> values(offsets[slices]);
#pragma omp parallel for schedule(static)
    for (std::int64_t slice = 0; slice < slices; ++slice)
      fill_slice(matrix, slice, offsets[slice], offsets[slice + 1], columns, values);
    if (offsets[slices] > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("operator 'cusparse-sell' counts entries in 32 bits and padding makes them too many");
    offsets_ = narrowed(offsets);
    columns_ = copied(columns, Device::cuda);
    values_ = copied(values, Device::cuda);
    if (matrix.rows == 0) return;
    check(cusparseCreateSlicedEll(&this->matrix_, matrix.rows, matrix.rows, matrix.nonzeros(), values.size(),
                                  slice_rows, offsets_.data(), columns_.data(), values_.data(), CUSPARSE_INDEX_32I,
                                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, value_type<T>),
          "describing a matrix");
    this->prepare(CUSPARSE_SPMV_SELL_ALG1);
  }
  Footprint footprint() const override {
    const std::int64_t bytes = offsets_.bytes() + columns_.bytes() + values_.bytes();
    return stored_footprint<T>(this->size(), this->nonzeros_, values_.size(), bytes + this->buffer_.bytes(), bytes);
  }

 private:
  static constexpr std::int64_t slice_rows = 32;
  static std::int64_t last_row(const CsrMatrix<T>& matrix, std::int64_t slice) {
    return std::min<std::int64_t>(matrix.rows, (slice + 1) * slice_rows);
  }
  static void fill_slice(const CsrMatrix<T>& matrix, std::int64_t slice, std::int64_t begin, std::int64_t end,
                         Vector<std::int32_t>& columns, Vector<T>& values) {
    std::fill(columns.data() + begin, columns.data() + end, -1);
    std::fill(values.data() + begin, values.data() + end, T(0));
    for (std::int64_t row = slice * slice_rows; row < last_row(matrix, slice); ++row) {
      std::int64_t to = begin + row % slice_rows;
      for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k, to += slice_rows) {
        columns[to] = matrix.columns[k];
        values[to] = matrix.values[k];
      }
    }
  }

  Vector<std::int32_t> offsets_, columns_;
  Vector<T> values_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_csr_cuda(const CsrMatrix<T>& matrix, int algorithm) {
  return std::make_unique<CusparseCsr<T>>(matrix, algorithm);
}
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_sell_cuda(const CsrMatrix<T>& matrix) {
  return std::make_unique<CusparseSell<T>>(matrix);
}

template std::unique_ptr<Operator<double>> make_cusparse_csr_cuda(const CsrMatrix<double>&, int);
template std::unique_ptr<Operator<float>> make_cusparse_csr_cuda(const CsrMatrix<float>&, int);
template std::unique_ptr<Operator<double>> make_cusparse_sell_cuda(const CsrMatrix<double>&);
template std::unique_ptr<Operator<float>> make_cusparse_sell_cuda(const CsrMatrix<float>&);

}  // namespace femcg::operators

// Code of a GPU's thread blocks in the kernels of block CG, run on the processor: tests/host_threads replaces
// operators/backend/launch.cuh. test_block_cg_cuda runs it on the GPU.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <limits>
#include <vector>

#include "operators/backend/cuda/block_kernels.cuh"

using namespace femcg::operators;

namespace {

template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Small = Rows<double>;

template <class T, int stride>
cuda::DenseMatrix<T, stride> dense(const Rows<T>& from) {
  cuda::DenseMatrix<T, stride> to;
  Eigen::Map<Rows<T>>(&to.of[0][0], stride, stride) = from;
  return to;
}

/// Runs work() in a grid of three blocks, one after the other.
constexpr unsigned blocks = 3;
template <class Work>
void run_grid(const Work& work) {
  for (unsigned block = 0; block < blocks; ++block)
    cuda::run_block(cuda::block_cg_threads, [&] {
      blockIdx.x = block;
      gridDim.x = blocks;
      work();
    });
}

/// Sum over blocks of matrix number n of the `count` matrices of each.
Small sum_of(const std::vector<double>& parts, int stride, int count, int n) {
  Small sum = Small::Zero(stride, stride);
  for (unsigned block = 0; block < blocks; ++block)
    sum += Eigen::Map<const Small>(parts.data() + (block * count + n) * stride * stride, stride, stride);
  return sum;
}

std::vector<double> poisoned(int stride, int count) {
  return std::vector<double>(blocks * static_cast<std::size_t>(count * stride * stride),
                             std::numeric_limits<double>::quiet_NaN());
}

template <class T, int stride>
void check(std::int64_t rows) {
  CAPTURE(stride);
  CAPTURE(rows);
  std::srand(3);
  const double bound = 100.0 * static_cast<double>(rows + stride) * std::numeric_limits<T>::epsilon();
  const auto near = [&](const auto& found, const auto& expected) {
    CHECK((found.template cast<double>() - expected.template cast<double>()).cwiseAbs().maxCoeff() <= bound);
  };
  const Rows<T> q = Rows<T>::Random(rows, stride), z = Rows<T>::Random(rows, stride);
  Rows<T> w = Rows<T>::Random(rows, stride), s = Rows<T>::Random(rows, stride), x = Rows<T>::Random(rows, stride);
  const Rows<T> step = Rows<T>::Random(stride, stride), correction = Rows<T>::Random(stride, stride),
                normaliser = Rows<T>::Random(stride, stride), direction = Rows<T>::Random(stride, stride);
  const Eigen::VectorXf inverse = Eigen::VectorXf::Random(rows).cwiseAbs();
  const Eigen::Matrix<T, Eigen::Dynamic, 1> diagonal = inverse.cast<T>();

  std::vector<double> parts = poisoned(stride, 1);
  run_grid([&] { cuda::product_of_block<T, stride>(rows, q.data(), z.data(), parts.data()); });
  near(sum_of(parts, stride, 1, 0), (q.transpose() * z).eval());

  const Rows<T> next = w - q * step;
  Rows<T> plain_w = w;
  const auto of_step = dense<T, stride>(step);
  run_grid(
      [&] { cuda::update_of_block<T, stride, false>(rows, q.data(), of_step, nullptr, plain_w.data(), parts.data()); });
  near(plain_w, next);
  near(sum_of(parts, stride, 1, 0), (next.transpose() * next).eval());
  parts = poisoned(stride, 2);
  run_grid(
      [&] { cuda::update_of_block<T, stride, true>(rows, q.data(), of_step, inverse.data(), w.data(), parts.data()); });
  near(w, next);
  near(sum_of(parts, stride, 2, 0), (next.transpose() * next).eval());
  near(sum_of(parts, stride, 2, 1), (next.transpose() * diagonal.asDiagonal() * next).eval());

  const cuda::DenseStep<T, stride> all{dense<T, stride>(correction), dense<T, stride>(normaliser),
                                       dense<T, stride>(direction)};
  for (const int kind : {0, 1, 2}) {  // M = I, diagonal, or given by z
    CAPTURE(kind);
    const Rows<T> new_x = x + s * correction, new_w = w * normaliser;
    Rows<T> new_s = new_w;
    if (kind == 1) new_s = diagonal.asDiagonal() * new_w;
    if (kind == 2) new_s = z * normaliser;
    new_s += s * direction;
    run_grid([&] {
      cuda::advance_block(rows, all, kind == 1 ? inverse.data() : nullptr, kind == 2 ? z.data() : nullptr, w.data(),
                          s.data(), x.data());
    });
    near(x, new_x);
    near(w, new_w);
    near(s, new_s);
    for (Rows<T>* each : {&w, &s, &x}) *each /= static_cast<T>(std::max(1.0, 1.0 * each->cwiseAbs().maxCoeff()));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("tiles of rows, whole ones and not, for every number of columns", T, double, float) {
  check<T, 1>(700);
  check<T, 2>(300);
  check<T, 4>(257);
  check<T, 8>(101);
  check<T, 16>(50);
  check<T, 32>(23);
  check<T, 8>(1);
}

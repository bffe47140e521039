#include "operators/transfers/local_solves.hpp"

#include <utility>

#include "operators/backend/threads/thread_team.hpp"

namespace femcg::operators {

namespace {

template <std::floating_point T>
class HostLocalSolves final : public LocalSolves<T> {
 public:
  explicit HostLocalSolves(BlockInverses inverses) : of_(std::move(inverses)) {}

  std::int64_t stored_bytes() const override {
    return std::ssize(of_.values) * std::int64_t{sizeof(float)} +
           (std::ssize(of_.unknowns) + std::ssize(of_.begin)) * std::int64_t{sizeof(std::int32_t)};
  }
  std::int64_t count() const override { return of_.count(); }

 private:
  void add_rows(T factor, const Vector<T>& r, const Vector<T>* q, int stride, Vector<T>& d,
                Vector<T>& x) const override {
    for_shares([&](int share, int shares) {
      std::vector<T> residual;
      const auto first = static_cast<std::int32_t>(std::int64_t{of_.count()} * share / shares),
                 last = static_cast<std::int32_t>(std::int64_t{of_.count()} * (share + 1) / shares);
      for (std::int32_t block = first; block < last; ++block) {
        const std::int32_t begin = of_.begin[block], size = of_.begin[block + 1] - begin;
        const std::int32_t* unknowns = of_.unknowns.data() + begin;
        residual.resize(static_cast<std::size_t>(size));
        for (int c = 0; c < stride; ++c) {
          const auto at = [&](std::int32_t j) { return std::int64_t{unknowns[j]} * stride + c; };
          for (std::int32_t j = 0; j < size; ++j) residual[j] = q != nullptr ? r[at(j)] - (*q)[at(j)] : r[at(j)];
          const float* row = of_.values.data() + of_.values_begin[block];
          for (std::int32_t i = 0; i < size; ++i, row += size) {
            T sum = 0;
            for (std::int32_t j = 0; j < size; ++j) sum += row[j] * residual[j];
            d[at(i)] += factor * sum;
            x[at(i)] += factor * sum;
          }
        }
      }
    });
  }

  BlockInverses of_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<LocalSolves<T>> make_local_solves(BlockInverses inverses, Device device) {
  if (device == Device::cuda) return make_cuda_local_solves<T>(inverses);
  return std::make_unique<HostLocalSolves<T>>(std::move(inverses));
}

template std::unique_ptr<LocalSolves<double>> make_local_solves(BlockInverses, Device);
template std::unique_ptr<LocalSolves<float>> make_local_solves(BlockInverses, Device);

}  // namespace femcg::operators

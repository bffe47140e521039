#include "operators/vendor/cusparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "operators/options.hpp"
#include "operators/vendor/cusparse_cuda.hpp"

namespace femcg::operators {

namespace {

constexpr std::array options{
    OptionDescription{"algorithm", "default, 1 or 2", "default", "cuSPARSE's CUSPARSE_SPMV_CSR_ALG1 or 2",
                      [](std::string_view text) { return text == "default" || text == "1" || text == "2"; }},
};

template <std::floating_point T>
void check(Device device, const CsrMatrix<T>& matrix, std::string_view name) {
  if (device != Device::cuda)
    throw std::invalid_argument(fmt::format("operator '{}' has no version for the CPU", name));
  if (matrix.nonzeros() > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument(fmt::format(
        "operator '{}' counts nonzeros in 32 bits and this matrix has {}; 'csr' takes it", name, matrix.nonzeros()));
}

}  // namespace

std::span<const OptionDescription> cusparse_csr_options() { return options; }

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_csr(const Ingredients<T>& from, const Options& given) {
  check(from.device, *from.matrix, "cusparse-csr");
  const auto algorithm = parse_positive(value_of(options[0], "cusparse-csr", given));
  return make_cusparse_csr_cuda(*from.matrix, static_cast<int>(algorithm.value_or(0)));
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_sell(const Ingredients<T>& from, const Options&) {
  check(from.device, *from.matrix, "cusparse-sell");
  return make_cusparse_sell_cuda(*from.matrix);
}

template <std::floating_point T>
OperatorBytes bytes_of_cusparse_csr(const Extent<T>& of, const Options&) {
  check(of.device, *of.matrix, "cusparse-csr");
  return bytes_of_compressed_rows(of);
}

template <std::floating_point T>
OperatorBytes bytes_of_cusparse_sell(const Extent<T>& of, const Options&) {
  check(of.device, *of.matrix, "cusparse-sell");
  constexpr std::int64_t slice_rows = 32, entry_bytes = sizeof(T) + sizeof(std::int32_t);
  const std::int64_t rows = of.matrix->rows, slices = (rows + slice_rows - 1) / slice_rows;
  std::int64_t longest = 0, entries = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    longest = std::max(longest, of.matrix->row_offsets[row + 1] - of.matrix->row_offsets[row]);
    if (row + 1 < rows && (row + 1) % slice_rows != 0) continue;
    entries += slice_rows * longest;
    longest = 0;
  }
  const std::int64_t stored = entries * entry_bytes + (slices + 1) * std::int64_t{sizeof(std::int32_t)};
  return {.stored = stored, .making_on_host = stored};
}

template std::unique_ptr<Operator<double>> make_cusparse_csr(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_cusparse_csr(const Ingredients<float>&, const Options&);
template std::unique_ptr<Operator<double>> make_cusparse_sell(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_cusparse_sell(const Ingredients<float>&, const Options&);
template OperatorBytes bytes_of_cusparse_csr(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_cusparse_csr(const Extent<float>&, const Options&);
template OperatorBytes bytes_of_cusparse_sell(const Extent<double>&, const Options&);
template OperatorBytes bytes_of_cusparse_sell(const Extent<float>&, const Options&);

}  // namespace femcg::operators

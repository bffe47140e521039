#include "operators/vendor/cusparse.hpp"

#include <fmt/format.h>

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
void check(const Ingredients<T>& from, std::string_view name) {
  if (from.device != Device::cuda)
    throw std::invalid_argument(fmt::format("operator '{}' has no version for the CPU", name));
  if (from.matrix->nonzeros() > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument(
        fmt::format("operator '{}' counts nonzeros in 32 bits and this matrix has {}; 'csr' "
                    "takes it",
                    name, from.matrix->nonzeros()));
}

}  // namespace

std::span<const OptionDescription> cusparse_csr_options() { return options; }

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_csr(const Ingredients<T>& from, const Options& given) {
  check(from, "cusparse-csr");
  const auto algorithm = parse_positive(value_of(options[0], "cusparse-csr", given));
  return make_cusparse_csr_cuda(*from.matrix, static_cast<int>(algorithm.value_or(0)));
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_sell(const Ingredients<T>& from, const Options&) {
  check(from, "cusparse-sell");
  return make_cusparse_sell_cuda(*from.matrix);
}

template std::unique_ptr<Operator<double>> make_cusparse_csr(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_cusparse_csr(const Ingredients<float>&, const Options&);
template std::unique_ptr<Operator<double>> make_cusparse_sell(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_cusparse_sell(const Ingredients<float>&, const Options&);

}  // namespace femcg::operators

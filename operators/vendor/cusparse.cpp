#include "operators/vendor/cusparse.hpp"

#include <algorithm>
#include <array>

#include "operators/options.hpp"
#include "operators/vendor/cusparse_choice.hpp"
#include "operators/vendor/index.hpp"

namespace femcg::operators {

namespace {

constexpr OptionDescription index_option{"index", "auto, 32 or 64", "auto",
                                         "bits of an offset and of a column: 64 where 32 cannot count the entries",
                                         is_library_index};
constexpr OptionDescription vectors{"vectors", "cublas or femcg", "cublas", "whose vector passes CG has",
                                    [](std::string_view text) { return text == "cublas" || text == "femcg"; }};

constexpr std::array csr_options{
    OptionDescription{"algorithm", "default, 1 or 2", "default", "cuSPARSE's CUSPARSE_SPMV_CSR_ALG1 or 2",
                      [](std::string_view text) { return text == "default" || text == "1" || text == "2"; }},
    index_option,
    vectors,
};
constexpr std::array sell_options{
    OptionDescription{"C", "auto, 2, 4, 8, 16, 32, 64 or 128", "auto",
                      "rows per slice; auto: the fastest of these, measured",
                      [](std::string_view text) { return text == "auto" || is_power_of_two(text, 2, 128); }},
    OptionDescription{
        "sigma", "auto, 1, a number of rows, or all", "auto",
        "rows sorted by length together; auto: the faster of 1, which sorts none, and 4608, measured",
        [](std::string_view text) { return text == "auto" || text == "all" || parse_positive(text).has_value(); }},
    index_option,
    vectors,
};

template <std::floating_point T>
StorageEstimate estimate_csr(const Extent<T>& of, const Options& given) {
  const CsrMatrix<T>& matrix = *of.matrix;
  const int bits = chosen_cusparse_csr(matrix, given).bits;
  const std::int64_t bytes = bytes_of_rows(matrix, bits);
  const std::int64_t index = bits / 8, offsets = matrix.rows + std::int64_t{1}, nonzeros = matrix.nonzeros();
  return {.arrays = {{"row offsets", offsets, offsets * index},
                     {"columns", nonzeros, nonzeros * index},
                     {"values", nonzeros, nonzeros * std::int64_t{sizeof(T)}}},
          .making = bits == 32 ? matrix.row_offsets.bytes() : nonzeros * 4,  // before converted
          .product = library_footprint<T>(matrix.rows, nonzeros, nonzeros, bytes, bytes, bits)};
}

template <std::floating_point T>
StorageEstimate estimate_sell(const Extent<T>& of, const Options& given) {
  const std::int64_t rows = of.matrix->rows, an_order = rows * std::int64_t{sizeof(std::int32_t)};
  const CusparseSellChoice choice = chosen_cusparse_sell(*of.matrix, given);
  StorageEstimate most;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const SliceLayout& layout : choice.layouts) {
    const std::int64_t entries = layout.entries(), index = index_bits(entries, "cusparse-sell", choice.index) / 8;
    std::vector<StoredArray> arrays{{"slice offsets", layout.offsets.size(), layout.offsets.size() * index},
                                    {"columns", entries, entries * index},
                                    {"values", entries, entries * std::int64_t{sizeof(T)}}};
    if (layout.sigma > 1) arrays.push_back({"ordering", rows, an_order});
    const std::int64_t read = total_bytes(arrays) - (layout.sigma > 1 ? an_order : 0);
    if (total_bytes(arrays) < least) {  // the fastest is about the smallest
      least = total_bytes(arrays);
      most.product =
          library_footprint<T>(rows, of.matrix->nonzeros(), entries, least, read, static_cast<int>(8 * index));
    }
    if (total_bytes(arrays) > most.stored()) most.arrays = std::move(arrays);
  }
  most.slack = most.stored() - least;
  // The source, an order and its inverse, x and y.
  most.making = bytes_of_rows(*of.matrix) + 2 * an_order + 2 * rows * std::int64_t{sizeof(T)};
  return most;
}

VectorPasses passes_of(std::string_view name, const Options& given) {
  return value_of(vectors, name, given) == "cublas" ? VectorPasses::cublas : VectorPasses::femcg;
}

}  // namespace

template <std::floating_point T>
CusparseCsrChoice chosen_cusparse_csr(const CsrMatrix<T>& matrix, const Options& given) {
  constexpr std::string_view name = "cusparse-csr";
  return {index_bits(matrix.nonzeros(), name, value_of(index_option, name, given)),
          static_cast<int>(parse_positive(value_of(csr_options[0], name, given)).value_or(0)), passes_of(name, given)};
}

template <std::floating_point T>
CusparseSellChoice chosen_cusparse_sell(const CsrMatrix<T>& matrix, const Options& given) {
  constexpr std::string_view name = "cusparse-sell";
  std::vector<std::int64_t> heights{32, 64, 128, 16, 8, 4, 2}, sigmas{1, 4608};  // a warp's rows, unsorted, first
  if (const auto height = parse_positive(value_of(sell_options[0], name, given))) heights = {*height};
  const std::string_view sigma = value_of(sell_options[1], name, given);
  if (sigma != "auto") sigmas = {parse_positive(sigma).value_or(std::max(1, matrix.rows))};
  return {slice_layouts(matrix.row_offsets, heights, sigmas), std::string(value_of(index_option, name, given)),
          passes_of(name, given)};
}

template CusparseCsrChoice chosen_cusparse_csr(const CsrMatrix<double>&, const Options&);
template CusparseCsrChoice chosen_cusparse_csr(const CsrMatrix<float>&, const Options&);
template CusparseSellChoice chosen_cusparse_sell(const CsrMatrix<double>&, const Options&);
template CusparseSellChoice chosen_cusparse_sell(const CsrMatrix<float>&, const Options&);

OperatorDescription cusparse_csr() {
  return {.name = "cusparse-csr",
          .stores = "compressed rows, cuSPARSE's product and cuBLAS's vector operations: the baseline",
          .source = "NVIDIA cuSPARSE",
          .needs = Needs::matrix,
          .cuda = true,
          .options = csr_options,
          .estimates = {estimate_csr<double>, estimate_csr<float>}};
}

OperatorDescription cusparse_sell() {
  return {.name = "cusparse-sell",
          .stores = "slices of rows, cuSPARSE's product and cuBLAS's vector operations: the baseline",
          .source = "NVIDIA cuSPARSE",
          .needs = Needs::matrix,
          .cuda = true,
          .options = sell_options,
          .estimates = {estimate_sell<double>, estimate_sell<float>},
          .cuda_gains_from_multi_vectors = false};
}

}  // namespace femcg::operators

#pragma once

// Catalogue description of a stored format (stored_format.hpp).

#include <array>

#include "operators/stored/common/row_chunks.hpp"

namespace femcg::operators {

/// Options of a format without options of its own.
inline constexpr std::array residence_options{resident_option, gpu_memory_option};

template <template <class> class Format, std::floating_point T>
std::unique_ptr<Operator<T>> make_stored(const Ingredients<T>& from, const Options& given) {
  chosen_residence(Format<T>::name, Device::host, given);
  return std::make_unique<StoredOnHost<Format<T>>>(Format<T>(*from.matrix, Device::host, given), *from.matrix);
}

/// Estimate of a format. On a GPU the assembled matrix is there too while its entries are moved, unless the matrix is
/// in chunks.
template <template <class> class Format, std::floating_point T>
StorageEstimate estimate_stored(const Extent<T>& of, const Options& given) {
  const Residence residence = chosen_residence(Format<T>::name, of.device, given);
  if (residence.where != Residence::Where::streamed || of.matrix->rows == 0) {
    const Format<T> format(*of.matrix, of.device, given);
    StorageEstimate whole{.arrays = arrays_of(format), .product = footprint_of(format, of.device)};
    if (of.device == Device::host) return whole;
    whole.making = bytes_of_rows(*of.matrix);
    if (of.matrix->rows == 0 || stays_whole(residence, whole, of.reserved_bytes)) return whole;
  }
  return estimate_of(RowChunks<Format<T>>(*of.matrix, given, chunk_budget(residence, of.reserved_bytes)));
}

/// Description of a format that has a version for the GPU too. `options` include residence_options.
template <template <class> class Format>
OperatorDescription describe_stored(std::string_view stores, std::string_view source,
                                    std::span<const OptionDescription> options = residence_options) {
  return {.name = Format<double>::name,
          .stores = stores,
          .source = source,
          .needs = Needs::matrix,
          .cuda = true,
          .options = options,
          .on_host = {make_stored<Format, double>, make_stored<Format, float>},
          .estimates = {estimate_stored<Format, double>, estimate_stored<Format, float>}};
}

}  // namespace femcg::operators

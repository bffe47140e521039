#pragma once

// Location of a stored matrix of the GPU's operators: all of it on the GPU, or chunks of rows, where those that do not
// fit are in host memory and are copied in every product (Ortega et al. 2013).

#include <cstdint>
#include <optional>
#include <string_view>

#include "operators/backend/device.hpp"
#include "operators/footprint.hpp"
#include "operators/options.hpp"

namespace femcg::operators {

/// Option `resident` of the formats that can be cut into chunks of rows.
inline constexpr OptionDescription resident_option{
    "resident", "auto, all or streamed", "auto",
    "GPU: the matrix all there; streamed: rows that do not fit come from the host with each product; auto: all if it "
    "fits",
    [](std::string_view text) { return text == "auto" || text == "all" || text == "streamed"; }};

/// Parses a number of bytes, such as 2e9 or 2000000000.
std::optional<std::int64_t> parse_bytes(std::string_view text);

/// Option `gpu_memory` of these formats: the GPU memory assumed by `resident`.
inline constexpr OptionDescription gpu_memory_option{
    "gpu_memory", "auto, or a number of bytes", "auto",
    "GPU: what matrix and vectors may take together, such as 2e9; auto: what is free",
    [](std::string_view text) { return text == "auto" || parse_bytes(text).has_value(); }};

/// Location of a matrix, from the options.
struct Residence {
  enum class Where { automatic, all, streamed };
  Where where = Where::automatic;
  std::optional<std::int64_t> limit;  ///< of the GPU's bytes
};

/// Throws std::invalid_argument if the two options contradict each other, or are given for the host.
Residence chosen_residence(std::string_view operator_name, Device device, const Options& given);

/// GPU memory in bytes that matrix and vectors may take: the limit, at most what is free less an allowance for kernels,
/// CUDA graphs and allocation granularity. Unlimited without a limit and a GPU.
std::int64_t bytes_for(const Residence& residence);

/// True if the whole matrix is to be on the GPU: by the options, or because it fits besides `reserved` bytes that the
/// run needs, and can be made there.
bool stays_whole(const Residence& residence, const StorageEstimate& whole, std::int64_t reserved);

}  // namespace femcg::operators

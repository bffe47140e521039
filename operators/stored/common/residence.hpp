#pragma once

// Where the GPU's operators keep a stored matrix: all of it on the GPU, or rows in chunks of which those that do not
// fit lie in the host's memory and come again with every product (Ortega et al. 2013).

#include <cstdint>
#include <optional>
#include <string_view>

#include "operators/backend/device.hpp"
#include "operators/footprint.hpp"
#include "operators/options.hpp"

namespace femcg::operators {

/// Option `resident` of the formats that can be cut into rows.
inline constexpr OptionDescription resident_option{
    "resident", "auto, all or streamed", "auto",
    "GPU: the matrix all there; streamed: rows that do not fit come from the host with each product; auto: all if it "
    "fits",
    [](std::string_view text) { return text == "auto" || text == "all" || text == "streamed"; }};

/// A number of bytes, as 2e9 or 2000000000.
std::optional<std::int64_t> parse_bytes(std::string_view text);

/// Option `gpu_memory` of the same: what `resident` takes the GPU to have.
inline constexpr OptionDescription gpu_memory_option{
    "gpu_memory", "auto, or a number of bytes", "auto",
    "GPU: what matrix and vectors may take together, such as 2e9; auto: what is free",
    [](std::string_view text) { return text == "auto" || parse_bytes(text).has_value(); }};

/// Location of a matrix as the options ask for it.
struct Residence {
  enum class Where { automatic, all, streamed };
  Where where = Where::automatic;
  std::optional<std::int64_t> limit;  ///< of the GPU's bytes
};

/// Throws std::invalid_argument where the two do not fit each other, or the device is the host and has neither.
Residence chosen_residence(std::string_view operator_name, Device device, const Options& given);

/// The memory of the GPU in use that matrix and vectors may take: the limit, and no more than is free less what
/// kernels, CUDA graphs and the ends of allocations take. Endless where there is neither a limit nor a GPU.
std::int64_t bytes_for(const Residence& residence);

/// True if a matrix is to be on the GPU as a whole: by the options, or since it fits beside `reserved` bytes that the
/// run needs besides, and can be made there.
bool stays_whole(const Residence& residence, const StorageEstimate& whole, std::int64_t reserved);

}  // namespace femcg::operators

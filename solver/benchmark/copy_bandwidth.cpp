#include "solver/benchmark/copy_bandwidth.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <exception>

#include "operators/backend/copy_bandwidth.hpp"
#include "solver/messages/refusal.hpp"

namespace femcg::solver {

CopyBandwidth measure_copy_bandwidth(operators::Device device) try {
  return {operators::measure_copy_bandwidth(device).bytes_per_second, ""};
} catch (const std::exception& error) {
  return {0, fmt::format("the copy bandwidth was not measured: {}", reason_of(error))};
}

CopyBandwidth measure_link_bandwidth() try {
  constexpr std::int64_t bytes = std::int64_t{256} << 20;
  return {operators::cuda_link_bandwidth(bytes), ""};
} catch (const std::exception& error) {
  return {0, fmt::format("the bandwidth of the host's link was not measured: {}", reason_of(error))};
}

}  // namespace femcg::solver

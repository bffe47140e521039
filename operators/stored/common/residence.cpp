#include "operators/stored/common/residence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "operators/backend/device.hpp"
#include "operators/backend/memory.hpp"

namespace femcg::operators {

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  constexpr double most = 1e15;
  const std::optional<double> number = parse_number(text);
  if (!number || *number < 1 || *number > most) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

Residence chosen_residence(std::string_view operator_name, Device device, const Options& given) {
  const std::string_view where = value_of(resident_option, operator_name, given);
  const std::string_view limit = value_of(gpu_memory_option, operator_name, given);
  if (device == Device::host)
    for (const OptionDescription* option : {&resident_option, &gpu_memory_option})
      require_default(*option, operator_name, given, "all is in the host's memory");
  if (where == "all" && limit != gpu_memory_option.default_value)
    throw std::invalid_argument(
        fmt::format("option 'gpu_memory' of operator '{}' is for resident: auto or streamed, not all", operator_name));
  Residence residence;
  if (where == "all") residence.where = Residence::Where::all;
  if (where == "streamed") residence.where = Residence::Where::streamed;
  residence.limit = parse_bytes(limit);
  return residence;
}

std::int64_t bytes_for(const Residence& residence) {
  constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max() / 4;
  std::int64_t usable = endless;
  if (cuda_device_in_use()) {
    constexpr std::int64_t kernels = std::int64_t{256} << 20;
    const std::int64_t free = available_bytes(Device::cuda);
    usable = std::max<std::int64_t>(0, free - free / 64 - kernels);
  }
  return std::min(usable, residence.limit.value_or(endless));
}

bool stays_whole(const Residence& residence, const StorageEstimate& whole, std::int64_t reserved) {
  if (residence.where != Residence::Where::automatic) return residence.where == Residence::Where::all;
  return whole.stored() + std::max(whole.making, reserved + whole.persistent) <= bytes_for(residence);
}

}  // namespace femcg::operators

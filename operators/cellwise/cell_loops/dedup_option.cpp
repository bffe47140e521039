#include "operators/cellwise/cell_loops/dedup_option.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace femcg::operators {

Dedup asked_dedup(std::string_view operator_name, const Options& given, Device device) {
  const std::string_view text = value_of(dedup_option, operator_name, given);
  if (text == "on" && device == Device::host)
    throw std::invalid_argument(fmt::format(
        "option 'dedup' of operator '{}' is for the GPU; on the CPU every cell's own is stored", operator_name));
  return text == "auto" ? Dedup::automatic : text == "on" ? Dedup::on : Dedup::off;
}

}  // namespace femcg::operators

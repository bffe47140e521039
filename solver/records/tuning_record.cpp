#include "solver/records/tuning_record.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "solver/messages/units.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

using nlohmann::ordered_json;

ordered_json to_json(const TuningRecord& tuning) {
  ordered_json tried = ordered_json::array();
  for (const TuningRecord::Setting& setting : tuning.tried) {
    ordered_json entry{{"options", options_json(setting.options)}};
    if (setting.seconds > 0) entry["seconds"] = setting.seconds;
    if (setting.conversion > 0) entry["conversion_seconds"] = setting.conversion;
    if (!setting.refused.empty()) entry["refused"] = setting.refused;
    tried.push_back(std::move(entry));
  }
  return {{"requested", tuning.requested},
          {"why", tuning.why},
          {"kept", options_json(tuning.kept)},
          {"taken", options_json(tuning.taken)},
          {"to_the_bit", tuning.to_the_bit},
          {"lost_seconds", tuning.lost},
          {"tried", tried},
          {"products", tuning.products},
          {"fraction", tuning.fractions}};
}

std::string listed(const std::map<std::string, std::string>& options) {
  std::string text;
  for (const auto& [option, value] : options) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", option, value);
  return text;
}

std::string tried_settings(const TuningRecord& tuning) {
  std::string text;
  for (const TuningRecord::Setting& setting : tuning.tried)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", listed(setting.options),
                        !setting.refused.empty() ? "cannot be had"
                        : setting.seconds > 0    ? duration(setting.seconds)
                                                 : "not tried");
  return text;
}

}  // namespace femcg::solver

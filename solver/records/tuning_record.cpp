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

std::vector<std::string> tried_settings(const TuningRecord& tuning) {
  constexpr std::size_t longest = 100;
  std::vector<std::string> lines;
  for (const TuningRecord::Setting& setting : tuning.tried) {
    std::map<std::string, std::string> options = setting.options;
    if (&setting != tuning.tried.data())
      std::erase_if(options,
                    [&](const auto& option) { return tuning.tried.front().options.at(option.first) == option.second; });
    const std::string text = fmt::format("{}: {}", listed(options),
                                         !setting.refused.empty() ? "cannot be had"
                                         : setting.seconds > 0    ? duration(setting.seconds)
                                                                  : "not tried");
    if (lines.empty() || lines.back().size() + text.size() > longest)
      lines.push_back(text);
    else
      lines.back() += "; " + text;
  }
  return lines;
}

}  // namespace femcg::solver

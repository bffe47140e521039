#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace femcg::solver {

/// Result of tuning the options of a run's operator (solver.tune).
struct TuningRecord {
  /// A tried setting.
  struct Setting {
    std::map<std::string, std::string> options = {};
    double seconds = 0;        ///< least of its products; 0 if it made none
    double conversion = 0;     ///< seconds of the conversion
    std::string refused = {};  ///< reason why it was not possible, else empty
  };

  std::string requested = {};                     ///< auto or on
  std::string why = {};                           ///< one sentence
  std::map<std::string, std::string> kept = {};   ///< cached by an earlier run, the initial setting of this one
  std::map<std::string, std::string> taken = {};  ///< final setting of the run
  bool to_the_bit = false;                        ///< the solution is bitwise that of a run with `taken` throughout
  std::vector<Setting> tried = {};                ///< the first is the initial setting
  std::vector<std::size_t> products = {};         ///< index into `tried` for each product
  std::vector<double> fractions =
      {};           ///< after each product: speed of the fastest setting so far, relative to the fastest found
  double lost = 0;  ///< seconds lost relative to the best known setting, conversions included
};

nlohmann::ordered_json to_json(const TuningRecord& tuning);
/// The tried settings as lines of text with their times: the first with all options, the others with those that differ.
std::vector<std::string> tried_settings(const TuningRecord& tuning);
/// Options as text: "C 16, sigma 512".
std::string listed(const std::map<std::string, std::string>& options);

}  // namespace femcg::solver

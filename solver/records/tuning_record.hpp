#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace femcg::solver {

/// Result of tuning the options of a run's operator (solver.tune).
struct TuningRecord {
  /// A setting that was tried.
  struct Setting {
    std::map<std::string, std::string> options = {};
    double seconds = 0;        ///< the least of its products; 0 where it made none
    double conversion = 0;     ///< seconds until it could multiply
    std::string refused = {};  ///< why it could not, else empty
  };

  std::string requested = {};                     ///< auto or on
  std::string why = {};                           ///< one sentence
  std::map<std::string, std::string> kept = {};   ///< by an earlier run, which this one began with
  std::map<std::string, std::string> taken = {};  ///< what the run goes on with
  bool to_the_bit = false;                 ///< the solution is, to the bit, that of a run which begins with `taken`
  std::vector<Setting> tried = {};         ///< the first is what the run began with
  std::vector<std::size_t> products = {};  ///< which of them made each product
  std::vector<double> fractions =
      {};           ///< after each product, of the speed of the fastest found: the fastest until then
  double lost = 0;  ///< seconds that products took longer than with the best setting known, conversions included
};

nlohmann::ordered_json to_json(const TuningRecord& tuning);
/// The settings that were tried as a person reads them, with their times, in lines: the first with all options, the
/// others with those that differ.
std::vector<std::string> tried_settings(const TuningRecord& tuning);
/// "C 16, sigma 512".
std::string listed(const std::map<std::string, std::string>& options);

}  // namespace femcg::solver

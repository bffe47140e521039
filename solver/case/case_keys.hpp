#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::solver {

/// Admissible numbers: a description, and an interval whose ends may be excluded.
struct NumberRule {
  std::string_view words;
  double least = -std::numeric_limits<double>::infinity(), largest = std::numeric_limits<double>::infinity();
  bool least_left_out = false, largest_left_out = false;

  constexpr bool holds(double a) const {
    return (least_left_out ? a > least : a >= least) && (largest_left_out ? a < largest : a <= largest);
  }
};
inline constexpr NumberRule any_number{.words = "a number"};
inline constexpr NumberRule positive_number{.words = "a positive number", .least = 0, .least_left_out = true};
inline constexpr NumberRule not_negative{.words = "a number that is not negative", .least = 0};

/// Operator whose options a map without a name holds, under a key that takes an operator.
inline constexpr std::string_view operator_of_options = "csr";

inline constexpr std::int64_t largest_int = std::numeric_limits<std::int32_t>::max();

enum class ValueKind {
  text,
  flag,            ///< true or false
  whole,           ///< a whole number of `rule`
  number,          ///< a number of `rule`, or an expression without x, y, z
  word,            ///< one of `words`
  device,          ///< auto, cpu, cuda, or cuda:1
  expression,      ///< in x, y, z
  field,           ///< an expression, or a map of them by region
  diffusion,       ///< a field, whose expressions may be maps with the keys `inside`
  list,            ///< `inside` has one description, of every item
  map,             ///< `inside` has its keys
  names,           ///< a map with names chosen by the user; `inside` has one description, of the values
  operator_,       ///< a name of the catalogue, or a map with it and options; or one of `words`
  preconditioner,  ///< the same
  sweep            ///< lists of values, by keys of the case or options of operators
};

/// A key of case files. The reader takes from this table which keys exist, their admissible values and defaults; so do
/// the schema, shell completion of --set and the documentation.
struct KeyDescription {
  std::string_view name;  ///< empty if chosen by the user, and for items of a list
  ValueKind kind;
  std::string_view meaning;             ///< a phrase, without a full stop; describes a default that is not fixed
  std::string_view default_value = {};  ///< as in YAML; empty: none, or not fixed
  std::string_view unit = {};           ///< in words: the quantity whose unit it has
  NumberRule rule = any_number;
  std::vector<std::string> words = {};  ///< of a list: alternatives to it; of a text: examples
  std::size_t fewest = 1, most = 0;     ///< items of a list, entries of a map; most 0: any number
  std::vector<KeyDescription> inside = {};
  std::vector<std::string_view> required = {};             ///< keys of a map
  std::vector<std::vector<std::string_view>> one_of = {};  ///< exactly one of these sets of keys is required

  /// Description of a key of this map. Throws std::logic_error if there is none: every key that is read must be in the
  /// table.
  const KeyDescription& at(std::string_view key) const;
  /// The same; null if there is none.
  const KeyDescription* find(std::string_view key) const;
  /// Description of the items of a list, or of the values at user-chosen names; null if there is none.
  const KeyDescription* each() const { return inside.empty() ? nullptr : &inside.front(); }
  std::vector<std::string> key_names() const;
};

/// The whole case file: a map.
const KeyDescription& case_keys();

/// A key by its path. User-chosen parts of the path are empty: boundary..value.
struct KeyPath {
  std::string path;
  const KeyDescription* key;
};

/// Every key of the case file, a map before its keys.
std::vector<KeyPath> all_case_keys();

}  // namespace femcg::solver

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solver/case/case_keys.hpp"
#include "solver/case/case_tree.hpp"
#include "solver/coefficients/expression.hpp"

namespace femcg::solver {

/// True if the text can serve as a name in files of all kinds, XML among them, and in a case that is read again:
/// nonempty UTF-8 without control characters.
bool is_name(std::string_view text);

/// Collects all problems of a case, so that the user sees them together.
class Problems {
 public:
  void add(const Place& place, std::string_view sentence);
  void add(std::vector<std::string> sentences);
  /// Throws InputError if there are any problems.
  void check() const;

 private:
  std::vector<std::string> sentences_;
};

/// A value, its name in messages ("solver.tolerance") and its description. Each function returns the parsed value; if
/// the value is invalid, it reports the problem and returns nothing.
class ValueReader {
 public:
  /// `described` is null for options of catalogue items, which the catalogue describes.
  ValueReader(const CaseNode& node, std::string path, const KeyDescription* described, Problems& problems)
      : node_(&node), path_(std::move(path)), described_(described), problems_(&problems) {}

  const CaseNode& node() const { return *node_; }
  /// Row of the table of keys. Throws std::logic_error if there is none.
  const KeyDescription& described() const;
  /// Description of the items of this list, or of the values at user-chosen names; null if the table has none.
  const KeyDescription* described_each() const { return described_ ? described_->each() : nullptr; }
  const std::string& path() const { return path_; }
  const Place& place() const { return node_->place; }
  bool is(CaseNode::Kind kind) const { return node_->kind == kind; }
  /// True for a map, unless YAML took the expression "c ? a : b" for one.
  bool is_map() const;

  std::optional<std::int64_t> whole(std::int64_t least, std::int64_t largest) const;
  std::optional<std::int64_t> whole() const;  ///< in the described range
  /// A number, or an expression without x, y, z.
  std::optional<double> number(const NumberRule& rule) const;
  std::optional<double> number() const { return number(described().rule); }
  std::optional<bool> flag() const;
  std::optional<std::string> text() const;
  /// One of the described words.
  std::optional<std::string> choice() const;
  std::optional<Expression> expression() const;
  /// One expression, or a map of expressions by region.
  std::optional<Field> field() const;
  /// Items of a list.
  std::optional<std::vector<ValueReader>> items(std::string_view what) const;
  /// Entries of a map with user-chosen keys; reports repeated keys.
  std::optional<std::vector<ValueReader>> entries(std::string_view what) const;

  const std::string& key() const { return node_->key; }
  const Place& key_place() const { return node_->key_place; }
  /// Reports "<path> must be <right>, not <actual value>".
  void must_be(std::string_view right) const;
  /// Reports a problem of this value.
  void note(std::string_view sentence) const { problems_->add(place(), sentence); }
  Problems& problems() const { return *problems_; }

 private:
  const CaseNode* node_;
  std::string path_;
  const KeyDescription* described_;
  Problems* problems_;
};

/// A map with the keys that the table lists for it. Reports unknown, repeated and empty keys on construction. Every
/// function throws std::logic_error for a key that the table lacks.
class MapReader {
 public:
  /// Reads a value that must be a map.
  explicit MapReader(const ValueReader& value);
  /// Map at a key of another map; empty if the key is absent.
  MapReader(const MapReader& parent, const std::string& key);

  bool has(const std::string& key) const;
  /// Index of the set of keys that is present; reports an error unless exactly one set is, without keys of another set.
  std::optional<std::size_t> alternative() const;
  /// Value at a key; empty if the key is absent or has no value.
  std::optional<ValueReader> find(const std::string& key) const;
  const Place& place() const { return place_; }
  Problems& problems() const { return *problems_; }
  std::string path_of(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  /// Result of `read` on the value at a key, else `fallback`.
  template <typename T, typename Read>
  T read(const std::string& key, T fallback, Read&& read) const {
    if (const auto value = find(key))
      if (auto answer = read(*value)) return static_cast<T>(*std::move(answer));
    return fallback;
  }
  /// Value at a key, or the default of the table.
  std::int64_t whole(const std::string& key) const;
  double number(const std::string& key) const;
  double number_by_default(const std::string& key) const;
  bool flag(const std::string& key) const;
  std::string choice(const std::string& key) const;
  /// The same with a range or default that depends on other keys.
  std::int64_t whole(const std::string& key, std::int64_t fallback, std::int64_t least, std::int64_t largest) const;
  double number(const std::string& key, const NumberRule& rule) const;
  std::string choice(const std::string& key, std::string fallback) const;

 private:
  void check_keys() const;

  const KeyDescription* described_;
  const CaseNode* node_ = nullptr;  // nullptr: no such map, all values are defaults
  std::string path_;
  Place place_;
  Problems* problems_;
};

}  // namespace femcg::solver

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

/// True if files of all kinds can hold a text as a name, XML among them, and the case can be read again: UTF-8 without
/// control characters, and not empty.
bool is_name(std::string_view text);

/// Everything wrong with a case, collected so that the user sees all of it at once.
class Problems {
 public:
  void add(const Place& place, std::string_view sentence);
  void add(std::vector<std::string> sentences);
  /// Throws InputError where there is any.
  void check() const;

 private:
  std::vector<std::string> sentences_;
};

/// A value, what to call it in messages ("solver.tolerance") and what it may be. Each function answers what the value
/// says; where it says something else, the problem is noted and nothing is answered.
class ValueReader {
 public:
  /// `described` is null for options of what a catalogue names: those are described there.
  ValueReader(const CaseNode& node, std::string path, const KeyDescription* described, Problems& problems)
      : node_(&node), path_(std::move(path)), described_(described), problems_(&problems) {}

  const CaseNode& node() const { return *node_; }
  /// The row of the table of keys. Throws std::logic_error where there is none.
  const KeyDescription& described() const;
  /// Description of the items of this list, or of the values at names of the user's; null where the table has none.
  const KeyDescription* described_each() const { return described_ ? described_->each() : nullptr; }
  const std::string& path() const { return path_; }
  const Place& place() const { return node_->place; }
  bool is(CaseNode::Kind kind) const { return node_->kind == kind; }

  std::optional<std::int64_t> whole(std::int64_t least, std::int64_t largest) const;
  std::optional<std::int64_t> whole() const;  ///< of the described range
  /// A number, or an expression without x, y, z.
  std::optional<double> number(const NumberRule& rule) const;
  std::optional<double> number() const { return number(described().rule); }
  std::optional<bool> flag() const;
  std::optional<std::string> text() const;
  /// One of the described words.
  std::optional<std::string> choice() const;
  std::optional<Expression> expression() const;
  /// One expression, or a map of them by region.
  std::optional<Field> field() const;
  /// The items of a list.
  std::optional<std::vector<ValueReader>> items(std::string_view what) const;
  /// The entries of a map with keys of the user's choice, repeated ones reported.
  std::optional<std::vector<ValueReader>> entries(std::string_view what) const;

  const std::string& key() const { return node_->key; }
  const Place& key_place() const { return node_->key_place; }
  /// Notes "<path> must be <right>, not <what is there>".
  void must_be(std::string_view right) const;
  /// Notes a problem of this value.
  void note(std::string_view sentence) const { problems_->add(place(), sentence); }
  Problems& problems() const { return *problems_; }

 private:
  const CaseNode* node_;
  std::string path_;
  const KeyDescription* described_;
  Problems* problems_;
};

/// A map with the keys that the table has for it. Unknown, repeated and empty ones are reported on construction. Asked
/// for a key that the table does not have, each function throws std::logic_error.
class MapReader {
 public:
  /// Reads a value that must be a map.
  explicit MapReader(const ValueReader& value);
  /// The map at a key of another one; empty where the key is absent.
  MapReader(const MapReader& parent, const std::string& key);

  bool has(const std::string& key) const;
  /// Index of the set of keys that is present, of which exactly one must be, with no key of another set.
  std::optional<std::size_t> alternative() const;
  /// The value at a key; nothing where it is absent or empty.
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
  /// The value at a key, or the default of the table.
  std::int64_t whole(const std::string& key) const;
  double number(const std::string& key) const;
  double number_by_default(const std::string& key) const;
  bool flag(const std::string& key) const;
  std::string choice(const std::string& key) const;
  /// For a range or a default that depends on other keys.
  std::int64_t whole(const std::string& key, std::int64_t fallback, std::int64_t least, std::int64_t largest) const;
  double number(const std::string& key, const NumberRule& rule) const;
  std::string choice(const std::string& key, std::string fallback) const;

 private:
  void check_keys() const;

  const KeyDescription* described_;
  const CaseNode* node_ = nullptr;  // nullptr: no such map, every answer is the default
  std::string path_;
  Place place_;
  Problems* problems_;
};

}  // namespace femcg::solver

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solver/case/case_tree.hpp"
#include "solver/coefficients/expression.hpp"

namespace femcg::solver {

/// Whether files of all kinds can hold a text as a name, XML among them, and the case can be read again: UTF-8 without
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

/// What a number must be: the words for it and the test.
struct NumberRule {
  std::string_view words;
  bool (*holds)(double);
};
inline constexpr NumberRule any_number{"a number", [](double) { return true; }};
inline constexpr NumberRule positive_number{"a positive number", [](double a) { return a > 0; }};

inline constexpr std::int64_t largest_int = std::numeric_limits<std::int32_t>::max();

/// A value and what to call it in messages ("solver.tolerance"). Each function answers what the value says; where it
/// says something else, the problem is noted and nothing is answered.
class ValueReader {
 public:
  ValueReader(const CaseNode& node, std::string path, Problems& problems)
      : node_(&node), path_(std::move(path)), problems_(&problems) {}

  const CaseNode& node() const { return *node_; }
  const std::string& path() const { return path_; }
  const Place& place() const { return node_->place; }
  bool is(CaseNode::Kind kind) const { return node_->kind == kind; }

  std::optional<std::int64_t> whole(std::int64_t least, std::int64_t largest) const;
  /// A number, or an expression without x, y, z.
  std::optional<double> number(const NumberRule& rule) const;
  std::optional<bool> flag() const;
  std::optional<std::string> text() const;
  std::optional<std::string> choice(const std::vector<std::string>& words) const;
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
  Problems* problems_;
};

/// A map with known keys. Unknown, repeated and empty ones are reported on construction.
class MapReader {
 public:
  /// Of a value that is to be a map; `known` are its keys.
  MapReader(const ValueReader& value, const std::vector<std::string>& known);
  /// The map at a key of another one; empty where the key is absent.
  MapReader(const MapReader& parent, const std::string& key, const std::vector<std::string>& known);

  bool has(const std::string& key) const { return node_ && node_->find(key); }
  /// The value at a key; nothing where it is absent or empty.
  std::optional<ValueReader> find(const std::string& key) const;
  const Place& place() const { return place_; }
  Problems& problems() const { return *problems_; }
  std::string path_of(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  /// What `read` makes of the value at a key, or else `fallback`.
  template <typename T, typename Read>
  T read(const std::string& key, T fallback, Read&& read) const {
    if (const auto value = find(key))
      if (auto answer = read(*value)) return static_cast<T>(*std::move(answer));
    return fallback;
  }
  std::int64_t whole(const std::string& key, std::int64_t fallback, std::int64_t least, std::int64_t largest) const;
  double number(const std::string& key, double fallback, const NumberRule& rule) const;
  bool flag(const std::string& key, bool fallback) const;
  std::string choice(const std::string& key, std::string fallback, const std::vector<std::string>& words) const;

 private:
  void check_keys(const std::vector<std::string>& known) const;

  const CaseNode* node_ = nullptr;  // nullptr: no such map, every answer is the default
  std::string path_;
  Place place_;
  Problems* problems_;
};

}  // namespace femcg::solver

#include "solver/case/case_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "solver/coefficients/expression_scanner.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

using Kind = CaseNode::Kind;

/// True if YAML took "c ? a : b" for a map with the key "c ? a".
bool is_expression(const CaseNode& map) {
  return map.children.size() == 1 && map.children[0].key.find('?') != std::string::npos;
}

std::string shown(const CaseNode& node) {
  switch (node.kind) {
    case Kind::scalar:
      if (const std::string_view what = not_finite_words(node.text); !what.empty())
        return fmt::format("{} ({})", in_quotes(node.text), what);
      return in_quotes(node.text);
    case Kind::list:
      return "a list";
    case Kind::map:
      return is_expression(node) ? "a map (an expression with '?' and ':' needs quotes)" : "a map";
    case Kind::null:
      break;
  }
  return "nothing";
}

/// First entry of every key. Reports repeated keys, with the place of the first.
std::unordered_map<std::string_view, const CaseNode*> first_entries(const CaseNode& map, Problems& problems) {
  std::unordered_map<std::string_view, const CaseNode*> first;
  for (const CaseNode& entry : map.children)
    if (const auto [found, is_first] = first.try_emplace(entry.key, &entry); !is_first)
      problems.add(entry.key_place, fmt::format("the key {} is repeated; it stands at {} already; keep one of them",
                                                in_quotes(entry.key), found->second->key_place));
  return first;
}

bool is_merge(const CaseNode& entry) { return entry.key == "<<"; }

/// Default of a key; 0 if it has no fixed one.
template <typename Number>
Number parsed(const KeyDescription& key) {
  Number value = 0;
  const std::string_view text = key.default_value;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Parses an integer written as 100000, 1e5 or 2.5e6.
std::optional<std::int64_t> whole_number(const std::string& text) {
  const char* end = text.data() + text.size();
  std::int64_t value = 0;
  if (const auto [last, error] = std::from_chars(text.data(), end, value); error == std::errc() && last == end)
    return value;
  if (text.find_first_of("eE") == std::string::npos) return std::nullopt;
  constexpr double largest = 9007199254740992.0;  // 2^53: a double represents all integers up to this one
  double number = 0;
  const auto [last, error] = std::from_chars(text.data(), end, number);
  const bool read = error == std::errc() && last == end && std::abs(number) <= largest;
  return read && std::trunc(number) == number ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

void note_merge(const CaseNode& entry, Problems& problems) {
  problems.add(entry.key_place, "merge keys ('<<') are not read; write the keys out");
}

void note_empty(const CaseNode& entry, const std::string& path, Problems& problems) {
  problems.add(entry.place, path + " has no value; give one, or remove the key to have the default");
}

}  // namespace

bool is_name(std::string_view text) {
  if (text.empty()) return false;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U; };
    const unsigned first = byte(0);
    const int more = first < 0x80                    ? 0
                     : first >= 0xc2 && first < 0xe0 ? 1
                     : first >= 0xe0 && first < 0xf0 ? 2
                     : first >= 0xf0 && first < 0xf5 ? 3
                                                     : -1;
    if (more < 0) return false;
    unsigned code = more == 0 ? first : first & (0x3fU >> more);
    for (int k = 1; k <= more; ++k) {
      if ((byte(k) & 0xc0) != 0x80) return false;
      code = code << 6 | (byte(k) & 0x3f);
    }
    const bool too_long = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
    const bool surrogate = code >= 0xd800 && code < 0xe000, none = (code & 0xfffe) == 0xfffe || code > 0x10ffff;
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
    if (too_long || surrogate || none || control) return false;
    i += more + 1;
  }
  return true;
}

void Problems::add(const Place& place, std::string_view sentence) { sentences_.push_back(at_place(place, sentence)); }

void Problems::add(std::vector<std::string> sentences) {
  for (std::string& sentence : sentences) sentences_.push_back(std::move(sentence));
}

void Problems::check() const {
  if (!sentences_.empty()) throw InputError(sentences_);
}

const KeyDescription& ValueReader::described() const {
  if (described_ == nullptr) throw std::logic_error("the table of keys of the case file does not describe " + path_);
  return *described_;
}

bool ValueReader::is_map() const { return is(Kind::map) && !is_expression(*node_); }

void ValueReader::must_be(std::string_view right) const {
  note(fmt::format("{} must be {}, not {}", path_, right, shown(*node_)));
}

std::optional<std::int64_t> ValueReader::whole(std::int64_t least, std::int64_t largest) const {
  const auto value = is(Kind::scalar) ? whole_number(node_->text) : std::nullopt;
  if (value && least <= *value && *value <= largest) return value;
  must_be(fmt::format("a whole number from {} to {}", least, largest));
  return std::nullopt;
}

std::optional<std::int64_t> ValueReader::whole() const {
  const NumberRule& rule = described().rule;
  return whole(static_cast<std::int64_t>(rule.least), static_cast<std::int64_t>(rule.largest));
}

std::optional<double> ValueReader::number(const NumberRule& rule) const {
  std::optional<double> value;
  try {
    if (is(Kind::scalar)) value = Expression(node_->text, "").constant();
  } catch (const InputError&) {  // not a number; must_be reports it
  }
  if (value && rule.holds(*value)) return value;
  must_be(rule.words);
  return std::nullopt;
}

std::optional<bool> ValueReader::flag() const {
  if (is(Kind::scalar) && (node_->text == "true" || node_->text == "false")) return node_->text == "true";
  must_be("true or false");
  return std::nullopt;
}

std::optional<std::string> ValueReader::text() const {
  if (is(Kind::scalar)) return node_->text;
  must_be("a text");
  return std::nullopt;
}

std::optional<std::string> ValueReader::choice() const {
  const std::vector<std::string>& words = described().words;
  if (is(Kind::scalar) && std::ranges::find(words, node_->text) != words.end()) return node_->text;
  must_be(alternatives(words));
  return std::nullopt;
}

std::optional<Expression> ValueReader::expression() const {
  if (!is(Kind::scalar)) {
    must_be("a number or an expression in x, y, z");
    return std::nullopt;
  }
  try {
    return Expression(node_->text, place(), place() == "--set " + path_ ? "" : path_);
  } catch (const InputError& error) {
    problems_->add(error.sentences());
    return std::nullopt;
  }
}

std::optional<Field> ValueReader::field() const {
  Field field;
  field.place = key_place();
  if (is_map()) {
    const auto regions = entries("an expression for each region");
    if (!regions) return std::nullopt;
    for (const ValueReader& region : *regions)
      if (const auto expression = region.expression()) field.by_region.emplace(region.key(), *expression);
    return field;
  }
  if (!is(Kind::scalar)) {
    must_be("a number, an expression in x, y, z, or a map of them by region");
    return std::nullopt;
  }
  field.everywhere = expression();
  return field.everywhere ? std::optional(field) : std::nullopt;
}

std::optional<std::vector<ValueReader>> ValueReader::items(std::string_view what) const {
  if (!is(Kind::list) || node_->children.empty()) {
    if (is(Kind::list))
      note(fmt::format("{} must be {}, not an empty one", path_, what));
    else
      must_be(std::string(what));
    return std::nullopt;
  }
  std::vector<ValueReader> readers;
  for (std::size_t i = 0; i < node_->children.size(); ++i)
    readers.emplace_back(node_->children[i], fmt::format("{}[{}]", path_, i), described_each(), *problems_);
  return readers;
}

std::optional<std::vector<ValueReader>> ValueReader::entries(std::string_view what) const {
  if (!is(Kind::map)) {
    must_be(fmt::format("a map: {}", what));
    return std::nullopt;
  }
  const auto first = first_entries(*node_, *problems_);
  std::vector<ValueReader> readers;
  for (const CaseNode& entry : node_->children) {
    const std::string path = path_ + "." + entry.key;
    if (is_merge(entry))
      note_merge(entry, *problems_);
    else if (entry.kind == Kind::null)
      note_empty(entry, path, *problems_);
    else if (first.at(entry.key) == &entry)
      readers.emplace_back(entry, path, described_each(), *problems_);
  }
  return readers;
}

MapReader::MapReader(const ValueReader& value)
    : described_(&value.described()), path_(value.path()), place_(value.place()), problems_(&value.problems()) {
  if (!value.is(Kind::map)) {
    value.must_be("a map with the keys " + alternatives(described_->key_names()));
    return;
  }
  node_ = &value.node();
  check_keys();
}

MapReader::MapReader(const MapReader& parent, const std::string& key)
    : described_(&parent.described_->at(key)),
      path_(parent.path_of(key)),
      place_(parent.place_),
      problems_(parent.problems_) {
  if (const auto value = parent.find(key)) {
    *this = MapReader(*value);
    place_ = value->key_place();
  }
}

void MapReader::check_keys() const {
  const std::vector<std::string> known = described_->key_names();
  first_entries(*node_, *problems_);
  for (const CaseNode& entry : node_->children) {
    if (is_merge(entry))
      note_merge(entry, *problems_);
    else if (std::ranges::find(known, entry.key) == known.end())
      problems_->add(entry.key_place,
                     fmt::format("unknown key {}{}", in_quotes(path_of(entry.key)), did_you_mean(entry.key, known)));
    else if (entry.kind == Kind::null)
      note_empty(entry, path_of(entry.key), *problems_);
  }
}

std::optional<ValueReader> MapReader::find(const std::string& key) const {
  const KeyDescription& described = described_->at(key);
  const CaseNode* found = node_ ? node_->find(key) : nullptr;
  if (!found || found->kind == Kind::null) return std::nullopt;
  return ValueReader(*found, path_of(key), &described, *problems_);
}

bool MapReader::has(const std::string& key) const {
  described_->at(key);  // throws
  return node_ && node_->find(key);
}

std::optional<std::size_t> MapReader::alternative() const {
  const auto is_there = [&](std::string_view key) { return has(std::string(key)); };
  std::set<std::string_view> there;
  for (const auto& keys : described_->one_of) std::ranges::copy_if(keys, std::inserter(there, there.end()), is_there);
  for (std::size_t i = 0; i < described_->one_of.size(); ++i)
    if (std::set(described_->one_of[i].begin(), described_->one_of[i].end()) == there) return i;
  return std::nullopt;
}

std::int64_t MapReader::whole(const std::string& key, std::int64_t fallback, std::int64_t least,
                              std::int64_t largest) const {
  return read(key, fallback, [&](const ValueReader& value) { return value.whole(least, largest); });
}

std::int64_t MapReader::whole(const std::string& key) const {
  return read(key, parsed<std::int64_t>(described_->at(key)), [](const ValueReader& value) { return value.whole(); });
}

double MapReader::number(const std::string& key, const NumberRule& rule) const {
  return read(key, number_by_default(key), [&](const ValueReader& value) { return value.number(rule); });
}

double MapReader::number_by_default(const std::string& key) const { return parsed<double>(described_->at(key)); }

double MapReader::number(const std::string& key) const { return number(key, described_->at(key).rule); }

bool MapReader::flag(const std::string& key) const {
  return read(key, described_->at(key).default_value == "true", [](const ValueReader& value) { return value.flag(); });
}

std::string MapReader::choice(const std::string& key, std::string fallback) const {
  return read(key, std::move(fallback), [&](const ValueReader& value) { return value.choice(); });
}

std::string MapReader::choice(const std::string& key) const {
  return choice(key, std::string(described_->at(key).default_value));
}

}  // namespace femcg::solver

#include "solver/case/case_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

using PlaceOf = std::function<Place(const YAML::Mark&)>;

constexpr std::size_t largest_file = 16 << 20;  // bytes; a mesh given for a case is larger
constexpr int most_nodes = 1'000'000;           // an alias of aliases grows without end
constexpr int deepest_node = 100;

/// yaml-cpp's nodes into ours.
class Converter {
 public:
  explicit Converter(PlaceOf place_of) : place_of_(std::move(place_of)) {}

  CaseNode convert(const YAML::Node& from, int depth = 0) {
    CaseNode node;
    node.place = place_of_(from.Mark());
    if (depth > deepest_node || ++nodes_ > most_nodes)
      throw InputError(at_place(node.place, "the values are nested too deeply, or an alias contains itself"));
    if (const std::string& tag = from.Tag(); !tag.empty() && tag != "?" && tag != "!")
      throw InputError(at_place(node.place, "the tag " + in_quotes(tag) + " has no meaning here; remove it"));
    if (from.IsScalar()) {
      node.kind = CaseNode::Kind::scalar;
      node.text = from.Scalar();
    } else if (from.IsSequence()) {
      node.kind = CaseNode::Kind::list;
      for (const YAML::Node& item : from) node.children.push_back(convert(item, depth + 1));
    } else if (from.IsMap()) {
      node.kind = CaseNode::Kind::map;
      for (const auto& entry : from) {
        if (!entry.first.IsScalar() && !entry.first.IsNull())
          throw InputError(at_place(place_of_(entry.first.Mark()), "a key must be a plain word"));
        node.children.push_back(convert(entry.second, depth + 1));
        node.children.back().key = entry.first.IsScalar() ? entry.first.Scalar() : "~";
        node.children.back().key_place = place_of_(entry.first.Mark());
      }
    }
    return node;
  }

 private:
  PlaceOf place_of_;
  int nodes_ = 0;
};

/// The place of the first tab among the blanks that a line begins with, up to a line; both count from 0.
std::optional<YAML::Mark> indenting_tab(const std::string& text, int last_line) {
  std::istringstream stream(text);
  std::string line;
  YAML::Mark mark;
  for (mark.line = 0; mark.line <= last_line && std::getline(stream, line); ++mark.line) {
    const std::size_t tab = line.find_first_not_of(' ');
    mark.column = static_cast<int>(tab);
    if (tab != std::string::npos && line[tab] == '\t' && line.find_first_not_of(" \t\r") != std::string::npos)
      return mark;
  }
  return std::nullopt;
}

/// yaml-cpp's complaint in a user's words.
std::string explained(const YAML::Exception& error) {
  const auto says = [&](std::string_view part) { return error.msg.find(part) != std::string::npos; };
  std::string text = "this is not valid YAML: ";
  if (dynamic_cast<const YAML::DeepRecursion*>(&error)) return text + "the values are nested too deeply";
  if (says("EOF in scalar")) return text + "a quote is never closed";
  if (says("end of sequence flow")) return text + "a '[' is not closed here or above";
  if (says("end of map flow")) return text + "a '{' is not closed here or above";
  return text + error.msg + (says("illegal map value") ? " (a text that holds ': ' needs quotes)" : "");
}

CaseNode parse(const std::string& text, const PlaceOf& place_of) {
  std::vector<YAML::Node> documents;
  try {
    // yaml-cpp notices an open quote only where the text ends within a line, hence the comment.
    documents = YAML::LoadAll(text + "\n#");
    if (documents.empty()) return {};
    if (documents.size() > 1)
      throw InputError(at_place(place_of(documents[1].Mark()), "a second document begins; a case is one document"));
    return Converter(place_of).convert(documents.front());
  } catch (const YAML::Exception& error) {
    if (const auto tab = indenting_tab(text, error.mark.line))
      throw InputError(at_place(place_of(*tab), "a tab indents this line; YAML takes blanks only"));
    throw InputError(at_place(place_of(error.mark), explained(error)));
  }
}

std::string contents(const std::filesystem::path& file) {
  const std::string name = file.string();
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) throw InputError(name + ": there is no such file");
  if (std::filesystem::is_directory(status)) throw InputError(name + ": this is a directory; give a case file in it");
  std::ifstream stream(file, std::ios::binary);
  std::string text(largest_file + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad()) throw InputError(name + ": the file cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > largest_file)
    throw InputError(name + ": this is too large for a case file (16 MiB at most); is it the mesh?");
  if (text.find('\0') != std::string::npos) throw InputError(name + ": this is a binary file, not a case in YAML");
  return text;
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream stream(path + ".");
  for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
  return parts;
}

/// The item of a list that a part of a path numbers, from 0.
CaseNode& item_of(CaseNode& list, const std::string& part, const Place& place) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc() || end != part.data() + part.size() || index >= list.children.size())
    throw InputError(at_place(place, fmt::format("{} is no item of a list of {}; items are numbered from 0",
                                                 in_quotes(part), list.children.size())));
  return list.children[index];
}

CaseNode& entry_of(CaseNode& map, const std::string& part, const Place& place) {
  if (CaseNode* found = map.find(part)) return *found;
  CaseNode entry;
  entry.key = part;
  entry.key_place = entry.place = place;
  return map.children.emplace_back(std::move(entry));
}

}  // namespace

const CaseNode* CaseNode::find(const std::string& wanted) const {
  const auto found = std::ranges::find(children, wanted, &CaseNode::key);
  return kind == Kind::map && found != children.end() ? &*found : nullptr;
}

CaseNode* CaseNode::find(const std::string& wanted) { return const_cast<CaseNode*>(std::as_const(*this).find(wanted)); }

CaseNode read_tree(const std::filesystem::path& file) {
  const std::string name = file.string();
  const auto place_of = [&](const YAML::Mark& mark) {
    return mark.is_null() ? name : fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
  };
  CaseNode tree = parse(contents(file), place_of);
  if (tree.kind == CaseNode::Kind::null) throw InputError(name + ": the case is empty; it needs a mesh at least");
  if (tree.kind != CaseNode::Kind::map)
    throw InputError(at_place(tree.place, "a case is a map of keys to values, such as 'degree: 2'"));
  return tree;
}

std::string flow_text(const CaseNode& node) {
  const auto joined = [&](const char* open, const char* close, const auto& text_of) {
    std::string text = open;
    for (const CaseNode& child : node.children) text += (text == open ? "" : ", ") + text_of(child);
    return text + close;
  };
  const auto quoted = [](const std::string& text) {
    std::string safe = "'";
    for (const char c : text) safe += c == '\'' ? std::string("''") : std::string(1, c);
    return safe + "'";
  };
  const auto plain = [&](const std::string& text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-*/^.()_";
    const bool is_plain = !text.empty() && text.front() != '-' && text.front() != '*' &&
                          text.find_first_not_of(letters) == std::string::npos;
    return is_plain ? text : quoted(text);
  };
  switch (node.kind) {
    case CaseNode::Kind::null:
      return "~";
    case CaseNode::Kind::scalar:
      return plain(node.text);
    case CaseNode::Kind::list:
      return joined("[", "]", flow_text);
    case CaseNode::Kind::map:
      return joined("{", "}", [&](const CaseNode& child) { return plain(child.key) + ": " + flow_text(child); });
  }
  return "";
}

void apply_override(CaseNode& tree, const Override& override) {
  const Place place = override.place.empty() ? "--set " + override.key : override.place;
  CaseNode value;
  if (override.literal) {
    value.kind = CaseNode::Kind::scalar;
    value.text = override.value;
  } else {
    value = parse(override.value, [&](const YAML::Mark&) { return place; });
  }
  value.place = place;

  CaseNode* node = &tree;
  for (const std::string& part : split(override.key)) {
    if (part.empty())
      throw InputError(at_place(place, "a key is missing; write --set key.path=value, such as --set degree=2"));
    if (node->kind == CaseNode::Kind::scalar && node->key == "operator") {
      // `operator: csr` is short for `operator: {name: csr}`.
      CaseNode name = *node;
      name.key = "name";
      node->kind = CaseNode::Kind::map;
      node->children = {std::move(name)};
    }
    if (node->kind == CaseNode::Kind::scalar)
      throw InputError(at_place(
          place, fmt::format("{} is {} and has no {}", in_quotes(node->key), in_quotes(node->text), in_quotes(part))));
    if (node->kind == CaseNode::Kind::list) {
      node = &item_of(*node, part, place);
      continue;
    }
    node->kind = CaseNode::Kind::map;
    node = &entry_of(*node, part, place);
  }
  value.key = node->key;
  value.key_place = node->key_place;
  *node = std::move(value);
}

}  // namespace femcg::solver

#include "solver/case/case_tree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <utility>

#include "mesh/gmsh/check/file_kinds.hpp"
#include "solver/case/yaml_reader.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

constexpr std::size_t largest_file = 1'000'000;  // bytes
constexpr std::size_t largest_value = 64'000;
constexpr std::size_t most_parts = 50;    // of a key
constexpr std::size_t longest_key = 100;  // in messages

/// Contents of a file, up to slightly more than the largest size. Reads a pipe to its end; empty if nobody writes to
/// it.
std::string text_of(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  std::string text;
  std::array<char, 1 << 14> block;
  ssize_t got = descriptor < 0 ? -1 : 1;
  while (got > 0 && text.size() <= largest_file) {
    got = ::read(descriptor, block.data(), block.size());
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
    pollfd more{descriptor, POLLIN, 0};
    if (got < 0 && errno == EAGAIN) got = ::poll(&more, 1, -1);
  }
  if (descriptor >= 0) ::close(descriptor);
  if (got < 0) throw InputError(file.string() + ": the file cannot be read");
  return text;
}

std::string contents(const std::filesystem::path& file) {
  const std::string name = file.string();
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) throw InputError(name + ": there is no such file");
  if (std::filesystem::is_directory(status)) throw InputError(name + ": this is a directory; give a case file in it");
  if (mesh::has_known_ending(file))
    throw InputError(fmt::format("{0}: this is a {1} file, not a case; femcg init {0} writes a case with it", name,
                                 mesh::ending_of(file)));
  std::string text = text_of(file);
  if (text.empty() && std::filesystem::is_fifo(status)) throw InputError(name + ": nobody writes to this pipe");
  if (text.size() > largest_file)
    throw InputError(name + ": this is too large for a case file (1 MB at most); is it the mesh?");
  if (text.find('\0') != std::string::npos) throw InputError(name + ": this is a binary file, not a case in YAML");
  return text;
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream stream(path + ".");
  for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
  return parts;
}

/// Item of a list that a part of a path selects by index, from 0.
CaseNode& item_of(CaseNode& list, const std::string& part, const Place& place) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc() || end != part.data() + part.size() || index >= list.children.size())
    throw InputError(at_place(place, fmt::format("{} is no item of a list of {}; items are numbered from 0",
                                                 in_quotes(part), list.children.size())));
  return list.children[index];
}

/// Removes the key of an override from the tree.
void remove_key(CaseNode& tree, const std::vector<std::string>& parts, const std::string& key, const Place& place) {
  CaseNode* node = &tree;
  CaseNode* parent = nullptr;
  for (const std::string& part : parts) {
    parent = node;
    node = parent->kind == CaseNode::Kind::list ? &item_of(*parent, part, place) : parent->find(part);
    if (node == nullptr)
      throw InputError(
          at_place(place, fmt::format("the case has no {} that could be removed; write --set key.path=value "
                                      "to give one, such as --set degree=2",
                                      in_quotes(on_one_line(key, longest_key)))));
  }
  parent->children.erase(parent->children.begin() + (node - parent->children.data()));
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
  CaseNode tree = read_yaml(contents(file), [&](int line, int column) {
    return line == 0 ? name : fmt::format("{}:{}:{}", name, line, column);
  });
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
  const Place place = override.place.empty() ? "--set " + on_one_line(override.key, longest_key) : override.place;
  if (override.value.size() > largest_value)
    throw InputError(at_place(place, fmt::format("the value has {} characters, and a value has {} at most",
                                                 override.value.size(), largest_value)));
  CaseNode value;
  if (override.literal) {
    value.kind = CaseNode::Kind::scalar;
    value.text = override.value;
  } else {
    value = read_yaml(override.value, [&](int, int) { return place; });
  }
  value.place = place;

  CaseNode* node = &tree;
  const std::vector<std::string> parts = split(override.key);
  if (parts.size() > most_parts)
    throw InputError(
        at_place(place, fmt::format("the key has {} parts, and a key has {} at most", parts.size(), most_parts)));
  if (override.place.empty() && override.value.empty() && !override.key.empty())
    return remove_key(tree, parts, override.key, place);
  for (const std::string& part : parts) {
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

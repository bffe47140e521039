#include "solver/case/yaml_reader.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

constexpr std::size_t most_values = 500'000;  // nested aliases can expand without bound
constexpr std::size_t deepest_value = 100;

Place placed(const PlaceOf& place_of, const YAML::Mark& mark) {
  return mark.is_null() ? place_of(0, 0) : place_of(mark.line + 1, mark.column + 1);
}

/// Line of the text from a column on; line and column count from 0. Empty if there is no such position.
std::string_view line_at(std::string_view text, int line, int column) {
  for (; line > 0; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  return text.substr(std::min(text.size(), static_cast<std::size_t>(std::max(column, 0))));
}

/// Builds the tree from yaml-cpp's events, so that limits on its size apply while it grows.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const PlaceOf& place_of) : text_(text), place_of_(place_of) {}

  CaseNode take() { return std::move(root_); }

  /// yaml-cpp takes a stray ',' for an endless sequence of empty documents.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    const std::string_view rest = line_at(text_, mark.line, mark.column);
    if (rest.starts_with("---") || rest.empty())
      fail(mark, "a second document begins; a case is one document, and a value one value");
    fail(mark, fmt::format("{} stands behind the end of the value", in_quotes(rest)));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(CaseNode::Kind::null, mark, "", anchor);
    end();
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    begin(CaseNode::Kind::scalar, mark, tag, anchor).text = text;
    end();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(CaseNode::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(CaseNode::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { end(); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto named = anchors_.find(anchor);
    if (named == anchors_.end()) fail(mark, "an alias contains itself");
    values_ += named->second.values;
    check_size(mark, open_.size() + named->second.depth);
    CaseNode copy = named->second.node;
    copy.place = placed(place_of_, mark);
    open_.push_back({std::move(copy), mark, YAML::NullAnchor, values_, named->second.depth, std::nullopt});
    end();
  }

 private:
  /// A value whose end has not been read yet.
  struct Open {
    CaseNode node;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    std::size_t values_before;
    std::size_t depth;            ///< of the tree below
    std::optional<CaseNode> key;  ///< of a map: key of the next value
  };
  struct Anchored {
    CaseNode node;
    std::size_t values, depth;
  };

  [[noreturn]] void fail(const YAML::Mark& mark, std::string_view sentence) const {
    throw InputError(at_place(placed(place_of_, mark), sentence));
  }

  void check_size(const YAML::Mark& mark, std::size_t depth) const {
    if (depth > deepest_value) fail(mark, "the values are nested too deeply");
    if (values_ > most_values)
      fail(mark, fmt::format("the values are more than {}; a case needs far fewer (an alias repeats what it names)",
                             most_values));
  }

  CaseNode& begin(CaseNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    const std::size_t before = values_++;
    check_size(mark, open_.size());
    if (!tag.empty() && tag != "?" && tag != "!")
      fail(mark, "the tag " + in_quotes(tag) + " has no meaning here; remove it");
    open_.push_back({{}, mark, anchor, before, 0, std::nullopt});
    CaseNode& node = open_.back().node;
    node.kind = kind;
    node.place = placed(place_of_, mark);
    return node;
  }

  /// Passes the innermost open value to its parent.
  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.anchor != YAML::NullAnchor)
      anchors_.insert_or_assign(done.anchor, Anchored{done.node, values_ - done.values_before, done.depth});
    if (open_.empty()) {
      root_ = std::move(done.node);
      return;
    }
    Open& around = open_.back();
    around.depth = std::max(around.depth, done.depth + 1);
    if (around.node.kind == CaseNode::Kind::map && !around.key) {
      if (done.node.kind != CaseNode::Kind::scalar && done.node.kind != CaseNode::Kind::null)
        fail(done.mark, "a key must be a plain word");
      around.key = std::move(done.node);
      return;
    }
    if (around.key) {
      done.node.key = around.key->kind == CaseNode::Kind::scalar ? std::move(around.key->text) : "~";
      done.node.key_place = std::move(around.key->place);
      around.key.reset();
    }
    around.node.children.push_back(std::move(done.node));
  }

  std::string_view text_;
  const PlaceOf& place_of_;
  CaseNode root_;
  std::vector<Open> open_;  ///< outermost first
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t values_ = 0;
  int documents_ = 0;
};

/// Position of the first tab in the indentation of a line, up to `last_line`; lines and columns count from 0.
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

/// yaml-cpp's message, reworded for users.
std::string explained(const YAML::Exception& error, std::string_view text) {
  const auto says = [&](std::string_view part) { return error.msg.find(part) != std::string::npos; };
  const std::string_view line = line_at(text, error.mark.line, 0);
  const std::size_t question = line.find('?');
  const bool chooses = question != std::string::npos && line.find(':', question) != std::string::npos;
  const std::string quotes = chooses ? " (an expression with '?' and ':' needs quotes)" : "";
  std::string sentence = "this is not valid YAML: ";
  if (dynamic_cast<const YAML::DeepRecursion*>(&error)) return sentence + "the values are nested too deeply";
  if (says("EOF in scalar")) return sentence + "a quote is never closed";
  if (says("end of sequence flow")) return sentence + "a '[' is not closed here or above" + quotes;
  if (says("end of map flow")) return sentence + "a '{' is not closed here or above" + quotes;
  const std::string_view rest = line_at(text, error.mark.line, error.mark.column);
  if (says("end of map not found") && !rest.empty())
    return sentence + in_quotes(rest) + " stands where a key or the end of the map is expected" + quotes;
  if (says("end of sequence not found") && !rest.empty())
    return sentence + in_quotes(rest) + " stands where '- ' or the end of the list is expected" + quotes;
  if (!quotes.empty()) return sentence + error.msg + quotes;
  return sentence + error.msg + (says("illegal map value") ? " (a text that holds ': ' needs quotes)" : "");
}

/// Replaces every line end by '\n', the only one that yaml-cpp counts. Throws InputError for characters that some
/// editors, but not YAML, treat as line ends.
std::string with_plain_line_ends(const std::string& text, const PlaceOf& place_of) {
  struct Other {
    std::string_view bytes, name;
  };
  constexpr std::array others{Other{"\u2028", "U+2028"}, Other{"\u2029", "U+2029"}, Other{"\u0085", "U+0085"}};
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r')
      plain += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n')
      plain += '\n';
  }
  for (const Other& other : others)
    if (const std::size_t at = plain.find(other.bytes); at != std::string::npos) {
      const auto line = std::count(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      const std::size_t start = at == 0 ? std::string::npos : plain.rfind('\n', at - 1);
      throw InputError(at_place(
          place_of(static_cast<int>(line) + 1, static_cast<int>(at - (start + 1)) + 1),
          fmt::format("the line separator {} is no line end in YAML; write plain line ends (LF)", other.name)));
    }
  return plain;
}

}  // namespace

CaseNode read_yaml(const std::string& text, const PlaceOf& place_of) {
  const std::string plain = with_plain_line_ends(text, place_of);
  TreeBuilder builder(plain, place_of);
  try {
    // yaml-cpp notices an open quote only if the text ends within a line, hence the comment.
    std::istringstream stream(plain + "\n#");
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    if (const auto tab = indenting_tab(plain, error.mark.line))
      throw InputError(at_place(placed(place_of, *tab), "a tab indents this line; YAML takes blanks only"));
    throw InputError(at_place(placed(place_of, error.mark), explained(error, plain)));
  }
  return builder.take();
}

}  // namespace femcg::solver

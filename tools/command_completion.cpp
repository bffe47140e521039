#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "mesh/gmsh/check/file_kinds.hpp"
#include "mesh/gmsh/length_unit.hpp"
#include "operators/catalogue.hpp"
#include "solver/case/case.hpp"
#include "solver/case/case_keys.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "tools/command_reference.hpp"
#include "tools/commands.hpp"

namespace femcg::tools {

namespace {

using solver::KeyDescription;
using solver::ValueKind;
using Words = std::vector<std::string>;

const Words& shells() {
  static const Words names{"bash", "zsh", "fish"};
  return names;
}

/// Possible completions of a value on the command line.
struct Values {
  Words words = {};
  Words suffixes = {};  ///< of files
  bool folder = false, keys = false;
};

template <class Row>
Words names_of(std::span<const Row> rows) {
  Words names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

Words devices() { return {"auto", "cpu", "cuda", "cuda:0", "cuda:1"}; }

Words with(Words words, const std::string& another) {
  words.insert(words.begin(), another);
  return words;
}

Words suffixes_of_meshes() {
  Words suffixes;
  for (const std::string_view ending : mesh::geometry_endings) suffixes.emplace_back(ending.substr(1));
  for (const std::string_view ending : mesh::mesh_endings) suffixes.emplace_back(ending.substr(1));
  return suffixes;
}

Values values_of(const std::string& command, const OptionReference& option) {
  if (option.name == "CASE") return {.suffixes = {"yaml", "yml"}};
  if (option.name == "TOPIC") return {.words = list_topics()};
  if (option.name == "SHELL") return {.words = shells()};
  if (option.name == "FILE" && command == "matrix") return {.suffixes = {"mtx"}};
  if (option.name == "FILE" && command == "predict") return {.suffixes = {"yaml", "yml", "mtx"}};
  if (option.name == "FILE" && command == "report") return {.suffixes = {"json"}};
  if (option.name == "FILE") return {.suffixes = with(suffixes_of_meshes(), "yaml")};
  if (option.is_argument) return {.suffixes = suffixes_of_meshes()};
  if (option.name == "--set") return {.keys = true};
  if (option.name == "--operator")
    return {.words = command == "compare"
                         ? names_of(operators::catalogue())
                         : with(names_of(operators::catalogue()), std::string(solver::automatic_operator))};
  if (option.name == "--operators") return {.words = with(names_of(operators::catalogue()), "all")};
  if (option.name == "--preconditioners") return {.words = names_of(solver::preconditioners())};
  if (option.name == "--device") return {.words = devices()};
  if (option.name == "--precision" && command == "predict") return {.words = {"double", "single"}};
  if (option.name == "--precision") return {.words = {"double", "single", "single,double"}};
  if (option.name == "--order" && command == "mesh") return {.words = {"1", "2", "3", "4"}};
  if (option.name == "--order") return {.words = {"given", "reverse-cuthill-mckee"}};
  if (option.name == "--unit") return {.words = names_of(std::span<const mesh::LengthUnit>(mesh::length_units))};
  if (option.name == "--baseline") return {.suffixes = {"json"}};
  if (option.name == "--plugin") return {.suffixes = {"so"}};
  if (option.name == "--output") return {.folder = true};
  return {};
}

/// Values that --set may assign to a key, as far as they can be listed.
Words settings_of(const KeyDescription& key) {
  switch (key.kind) {
    case ValueKind::flag:
      return {"true", "false"};
    case ValueKind::word:
      return key.words;
    case ValueKind::device:
      return devices();
    case ValueKind::operator_: {
      Words names = names_of(operators::catalogue());
      names.insert(names.end(), key.words.begin(), key.words.end());
      return names;
    }
    case ValueKind::preconditioner:
      return names_of(solver::preconditioners());
    case ValueKind::whole:
      if (key.rule.largest - key.rule.least < 20) {
        Words numbers;
        for (auto n = static_cast<int>(key.rule.least); n <= static_cast<int>(key.rule.largest); ++n)
          numbers.push_back(fmt::format("{}", n));
        return numbers;
      }
      [[fallthrough]];
    default:
      return key.default_value.empty() ? Words{} : Words{std::string(key.default_value)};
  }
}

/// Keys for --set, followed by '=', or by '.' if a user-chosen name follows.
Words settable_keys() {
  Words keys;
  for (const auto& [path, key] : solver::all_case_keys()) {
    if (path.find("..") != std::string::npos || key->kind == ValueKind::map) continue;
    keys.push_back(path + (key->kind == ValueKind::names || key->kind == ValueKind::sweep ? "." : "="));
  }
  return keys;
}

Words settings() {
  Words all;
  for (const auto& [path, key] : solver::all_case_keys())
    if (path.find("..") == std::string::npos)
      for (const std::string& value : settings_of(*key)) all.push_back(path + "=" + value);
  return all;
}

std::string joined(const Words& words) { return fmt::format("{}", fmt::join(words, " ")); }

Words option_names(const CommandReference& command) {
  Words names;
  for (const OptionReference& option : command.options)
    if (!option.is_argument) names.push_back(option.name);
  return names;
}

Words command_names(const std::vector<CommandReference>& commands) {
  Words names;
  for (const CommandReference& command : commands)
    if (!command.name.empty()) names.push_back(command.name);
  return names;
}

// --- bash -----------------------------------------------------------------------------------------------------------

/// Cases of `case "$command $option"` that complete the value.
std::string bash_values(const std::string& pattern, const Values& values) {
  if (values.keys) return fmt::format("    {}) set=1 ;;\n", pattern);
  if (values.folder) return fmt::format("    {}) folders=1 ;;\n", pattern);
  if (!values.suffixes.empty()) return fmt::format("    {}) suffixes='{}' ;;\n", pattern, joined(values.suffixes));
  return fmt::format("    {}) words='{}' ;;\n", pattern, joined(values.words));
}

std::string bash(const std::vector<CommandReference>& commands) {
  std::string text = R"(# Completion of femcg for bash; made by femcg completion bash.
#   source <(femcg completion bash)

_femcg() {
  # Words as the user sees them: COMP_WORDS has been cut at '=' and ':', which keys and devices have.
  local line=${COMP_LINE:0:COMP_POINT} typed words='' suffixes='' folders='' set='' suffix
  read -ra typed <<<"$line"
  [[ $line != *[[:space:]] ]] || typed+=('')
  local count=${#typed[@]}
  local current=${typed[count - 1]} before='' command=''
  ((count < 2)) || before=${typed[count - 2]}
  ((count < 3)) || command=${typed[1]}
  if [[ $current == --*=* ]]; then
    before=${current%%=*}
    current=${current#*=}
  fi
  case "$command $before" in
)";
  for (const CommandReference& command : commands)
    for (const OptionReference& option : command.options)
      if (!option.value.empty())
        text += bash_values(fmt::format("'{} {}'", command.name, option.name), values_of(command.name, option));
  text += "    *) case \"$command\" in\n";
  for (const CommandReference& command : commands) {
    const Words names = command.name.empty() ? command_names(commands) : Words{};
    std::string files, words = joined(names);
    for (const OptionReference& option : command.options)
      if (option.is_argument) {
        const Values values = values_of(command.name, option);
        files = joined(values.suffixes);
        words = joined(values.words);
      }
    text += fmt::format("      '{}') words='{}' suffixes='{}'; [[ $current != -* ]] || words='{}' ;;\n", command.name,
                        words, files, joined(option_names(command)));
  }
  text += fmt::format(R"(    esac ;;
  esac
  [[ $current != -* ]] || suffixes=''
  if [[ -n $set && $current == *=* ]]; then
    words='{}'
  elif [[ -n $set ]]; then
    words='{}'
    compopt -o nospace 2>/dev/null
  fi
  if [[ -z $set && -n $words && $current == *,* ]]; then
    local earlier=${{current%,*}},
    words=$earlier${{words// / $earlier}}
  fi
  COMPREPLY=()
  local reply
  while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(
    compgen -W "$words" -- "$current"
    for suffix in $suffixes; do compgen -f -X "!*.$suffix" -- "$current"; done
    [[ -z $folders && -z $suffixes ]] || compgen -d -- "$current"
  )
  [[ -z $folders && -z $suffixes ]] || compopt -o filenames 2>/dev/null
  # Readline replaces what stands behind the last '=' or ':' alone.
  local kept=${{current%"${{current##*[=:]}}"}}
  [[ -z $kept ]] || COMPREPLY=("${{COMPREPLY[@]#"$kept"}}")
}}

complete -F _femcg femcg
)",
                      joined(settings()), joined(settable_keys()));
  return text;
}

// --- zsh ------------------------------------------------------------------------------------------------------------

/// Text for '[...]' or after a ':' of _arguments, for single quotes.
std::string for_zsh(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string zsh_values(const Values& values) {
  if (values.keys) return "_femcg_set";
  if (values.folder) return "_files";
  // zsh would parse *.(mtx), with a single alternative, as qualifiers.
  if (values.suffixes.size() == 1) return fmt::format("_files -g \"*.{}\"", values.suffixes.front());
  if (!values.suffixes.empty()) return fmt::format("_files -g \"*.({})\"", fmt::join(values.suffixes, "|"));
  if (values.words.empty()) return " ";
  Words words;
  for (const std::string& word : values.words) words.push_back(for_zsh(word));
  return "(" + joined(words) + ")";
}

std::string zsh_arguments(const CommandReference& command) {
  std::string text;
  for (const OptionReference& option : command.options) {
    const std::string values = zsh_values(values_of(command.name, option));
    if (option.is_argument)
      text +=
          fmt::format(" \\\n        '{}:{}:{}'", command.name == "report" ? "*" : "", for_zsh(option.meaning), values);
    else
      text += fmt::format(" \\\n        '{}{}[{}]{}'", option.name == "--set" ? "*" : "", option.name,
                          for_zsh(option.meaning),
                          option.value.empty() ? "" : fmt::format(":{}:{}", for_zsh(option.value), values));
  }
  return text;
}

std::string zsh(const std::vector<CommandReference>& commands) {
  std::string text = fmt::format(R"(#compdef femcg
# Completion of femcg for zsh; made by femcg completion zsh. It is _femcg in a folder of $fpath.

_femcg_set() {{
  local -a keys=({}) settings=({})
  if [[ $PREFIX == *=* ]]; then
    compadd -- $settings
  else
    compadd -S '' -- $keys
  fi
}}

_femcg() {{
  local context state line
  local -a commands=(
)",
                                 joined(settable_keys()), joined(settings()));
  for (const CommandReference& command : commands)
    if (!command.name.empty()) text += fmt::format("    '{}:{}'\n", command.name, for_zsh(command.meaning));
  text +=
      "  )\n  _arguments -C '--help[print help]' '--version[print the version]' '1: :->command' '*:: :->argument'\n"
      "  case $state in\n    command) _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const CommandReference& command : commands)
    if (!command.name.empty()) text += fmt::format("      {}) _arguments{} ;;\n", command.name, zsh_arguments(command));
  text += R"(      esac ;;
  esac
}

if [[ $funcstack[1] == _femcg ]]; then
  _femcg "$@"
else
  compdef _femcg femcg
fi
)";
  return text;
}

// --- fish -----------------------------------------------------------------------------------------------------------

std::string for_fish(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return safe;
}

std::string fish_values(const Values& values) {
  if (values.keys) return fmt::format(" -x -a '{} {}'", joined(settable_keys()), for_fish(joined(settings())));
  if (values.folder) return " -x -a '(__fish_complete_directories)'";
  if (values.suffixes.empty()) return fmt::format(" -x -a '{}'", joined(values.words));
  std::string files;
  for (const std::string& suffix : values.suffixes) files += fmt::format(" (__fish_complete_suffix .{})", suffix);
  return fmt::format(" -k -x -a '{}'", files.substr(1));
}

std::string fish(const std::vector<CommandReference>& commands) {
  std::string text =
      "# Completion of femcg for fish; made by femcg completion fish.\n"
      "#   femcg completion fish | source\n\n"
      "complete -c femcg -f\n";
  for (const CommandReference& command : commands) {
    const std::string condition =
        command.name.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + command.name;
    if (!command.name.empty())
      text += fmt::format("complete -c femcg -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                          for_fish(command.meaning));
    for (const OptionReference& option : command.options) {
      const Values values = values_of(command.name, option);
      const std::string name = option.is_argument ? "" : " -l " + option.name.substr(2);
      const std::string choice = option.value.empty() && !option.is_argument ? "" : fish_values(values);
      text += fmt::format("complete -c femcg -n '{}'{}{} -d '{}'\n", condition, name, choice, for_fish(option.meaning));
    }
  }
  return text;
}

}  // namespace

const std::vector<std::string>& completion_shells() { return shells(); }

std::string completion(const std::vector<CommandReference>& commands, const std::string& shell) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  if (shell.empty()) throw solver::InputError("a shell is missing, such as femcg completion bash");
  throw solver::InputError(
      fmt::format("there is completion for {}, not for {}", solver::alternatives(shells()), solver::in_quotes(shell)));
}

}  // namespace femcg::tools

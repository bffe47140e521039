#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace femcg::tools {

/// An option or an argument of a command, as --help shows it.
struct OptionReference {
  std::string name;     ///< --set, or CASE for an argument
  std::string value;    ///< KEY=VALUE; empty for a flag and for an argument
  std::string meaning;  ///< without a full stop
  bool is_argument = false;
};

struct CommandReference {
  std::string name, meaning;
  std::vector<OptionReference> options;
};

/// Commands of the program, preceded by its own options under an empty name; the source of completion and the manual
/// page, consistent with --help.
std::vector<CommandReference> command_reference(const CLI::App& program);

/// Completion script for a shell: bash, zsh or fish. Throws InputError for any other.
std::string completion(const std::vector<CommandReference>& commands, const std::string& shell);

const std::vector<std::string>& completion_shells();

/// The manual page femcg.1.
std::string manual_page(const std::vector<CommandReference>& commands);

}  // namespace femcg::tools

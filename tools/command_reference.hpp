#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace femcg::tools {

/// An option or an argument of a command, as --help shows it.
struct OptionReference {
  std::string name;     ///< --set, or CASE of an argument
  std::string value;    ///< KEY=VALUE; empty for a flag and for an argument
  std::string meaning;  ///< without a full stop
  bool is_argument = false;
};

struct CommandReference {
  std::string name, meaning;
  std::vector<OptionReference> options;
};

/// The commands of the program, its own options under the empty name first. Completion and the manual page are made of
/// them, and --help shows the same.
std::vector<CommandReference> command_reference(const CLI::App& program);

/// What completes the command line in a shell: bash, zsh or fish. Throws InputError for another one.
std::string completion(const std::vector<CommandReference>& commands, const std::string& shell);

const std::vector<std::string>& completion_shells();

/// The manual page femcg.1, for man.
std::string manual_page(const std::vector<CommandReference>& commands);

}  // namespace femcg::tools

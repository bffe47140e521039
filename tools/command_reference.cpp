#include "tools/command_reference.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace femcg::tools {

namespace {

CommandReference reference_of(const CLI::App& command, const std::string& name) {
  CommandReference reference{name, command.get_description(), {}};
  for (const CLI::Option* option : command.get_options()) {
    const bool is_argument = option->get_positional();
    const bool is_flag = option->get_type_size_max() == 0;
    reference.options.push_back({is_argument ? option->get_name(true) : "--" + option->get_lnames().front(),
                                 is_argument || is_flag ? "" : option->get_type_name(), option->get_description(),
                                 is_argument});
  }
  // Arguments first, --help and --version last, in the usual order.
  std::ranges::stable_sort(reference.options, {}, [](const OptionReference& option) {
    return option.is_argument ? 0 : option.name == "--help" || option.name == "--version" ? 2 : 1;
  });
  return reference;
}

}  // namespace

std::vector<CommandReference> command_reference(const CLI::App& program) {
  std::vector<CommandReference> all{reference_of(program, "")};
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    all.push_back(reference_of(*command, command->get_name()));
  return all;
}

}  // namespace femcg::tools

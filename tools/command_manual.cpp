// The manual page, in the macros of man(7).
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "solver/case/case_keys.hpp"
#include "tools/command_reference.hpp"
#include "tools/commands.hpp"

namespace femcg::tools {

namespace {

/// Text escaped for roff, such that no line begins with a macro.
std::string roff(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else if (c == '\'')
      safe += "\\(aq";
    else if (c == '^' || c == '~')
      safe += c == '^' ? "\\(ha" : "\\(ti";
    else if (c == '`')
      safe += "\\(ga";
    else
      safe += c;
  }
  return safe.starts_with('.') ? "\\&" + safe : safe;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

/// A term with its meaning.
std::string item(const std::string& term, std::string_view meaning) {
  return fmt::format(".TP\n{}\n{}\n", term, roff(meaning));
}

/// True for an option that not every command has.
bool is_own_option(const OptionReference& option) {
  return !option.is_argument && option.name != "--help" && option.name != "--version";
}

std::string command_section(const CommandReference& command) {
  std::string heading = "femcg " + command.name, items;
  for (const OptionReference& option : command.options) {
    if (!option.is_argument && !is_own_option(option)) continue;
    if (option.is_argument) heading += " " + option.name;
    const std::string value = option.value.empty() ? "" : " " + italic(option.value);
    items += item(option.is_argument ? italic(option.name) : bold(option.name) + value, option.meaning);
  }
  return fmt::format(".SS {}\n{}\n{}", roff(heading), roff(command.meaning), items);
}

std::string keys_section() {
  std::string text;
  for (const auto& [path, key] : solver::all_case_keys()) {
    std::string shown = path;
    for (std::size_t at = shown.find(".."); at != std::string::npos; at = shown.find(".."))
      shown.replace(at, 2, ".NAME.");
    std::string meaning(key->meaning);
    if (!key->default_value.empty()) meaning += fmt::format("; default {}", key->default_value);
    if (!key->words.empty()) {
      meaning += "; one of";
      for (const std::string& word : key->words) meaning += " " + word;
    }
    if (key->kind == solver::ValueKind::whole)
      meaning += fmt::format("; from {} to {}", static_cast<std::int64_t>(key->rule.least),
                             static_cast<std::int64_t>(key->rule.largest));
    if (!key->unit.empty()) meaning += fmt::format(" (unit: {})", key->unit);
    text += item(bold(shown), meaning);
  }
  return text;
}

constexpr std::string_view after_keys = R"(.SH EXIT STATUS
.TP
.B 0
done and converged
.TP
.B 1
solved, but not converged; or an operator disagrees with the reference; or a comparison was interrupted
.TP
.B 2
the input is wrong: usage, case file, mesh or expression, or an option that does not fit the problem or the device
.TP
.B 3
the machine failed: memory, disk or device
.SH ENVIRONMENT
.TP
.B OMP_NUM_THREADS
threads on the CPU, where \fB\-\-threads\fR does not say how many
.TP
.B OMP_WAIT_POLICY
.I passive
has threads sleep while they wait, for machines that do other work
.TP
.B XDG_CACHE_HOME
where the copy bandwidth is kept for later runs; default
.I \(ti/.cache
.SH FILES
Results go to
.IR results/ CASE
in the current folder, unless
.B output.directory
or
.B \-\-output
says otherwise:
.IR case.yaml ", " result.json ", " residuals.csv " and " solution.vtu
of
.BR "femcg run" ,
.IR compare.json ", " compare.csv " and " report.html
of
.BR "femcg compare" .
.SH EXAMPLES
.TP
.B femcg init part.step && femcg check part.yaml && femcg run part.yaml
a case of a geometry: to start from, checked, solved
.TP
.B femcg run part.yaml \-\-set degree=3 \-\-set boundary.top.flux=800
the same with other values
.TP
.B femcg compare part.yaml \-\-operators csr,sell,matrix\-free
which operator is the fastest
.TP
.B source <(femcg completion bash)
completion in this shell
.SH SEE ALSO
.BR gmsh (1)
)";

}  // namespace

std::string manual_page(const std::vector<CommandReference>& commands) {
  std::string text = fmt::format(
      ".\\\" Made by femcg manual.\n.TH FEMCG 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\nfemcg \\- conjugate gradients "
      "for "
      "finite elements, with a pluggable operator\n.SH SYNOPSIS\n",
      version());
  for (const CommandReference& command : commands)
    if (!command.name.empty()) {
      std::string arguments;
      for (const OptionReference& option : command.options)
        if (option.is_argument) {
          const bool may_be_left_out = option.meaning.find("default") != std::string::npos;
          arguments += may_be_left_out ? " [" + italic(option.name) + "]" : " " + italic(option.name);
        }
      const bool has_options = std::ranges::any_of(command.options, is_own_option);
      text += fmt::format("{}.B femcg {}\n{}{}\n", command.name == commands[1].name ? "" : ".br\n", roff(command.name),
                          has_options ? "[\\fIoption\\fR ...]" : "\\&", arguments);
    }
  text +=
      ".SH DESCRIPTION\nSolves \\-div(diffusion grad u) = source on meshes from files, geometry or boxes, by conjugate "
      "gradients,\nand compares ways to compute their product y = A x. Results go to standard output, progress and "
      "messages to standard error.\n.SH COMMANDS\n";
  for (const CommandReference& command : commands)
    if (!command.name.empty()) text += command_section(command);
  text +=
      ".PP\nEvery command has\n.B \\-\\-help\nand\n.BR \\-\\-version .\n.SH CASE FILE\nA case is a file in YAML. Where "
      "a "
      "key stands in others, their names are joined by points, as in\n.BR \\-\\-set .\n.I NAME\nis a region, a group "
      "or "
      "a side of a box, a load or a probe.\n";
  return text + keys_section() + std::string(after_keys);
}

}  // namespace femcg::tools

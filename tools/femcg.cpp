// The program: reads the command line, calls what it names, and turns exceptions into exit statuses.
#include <fmt/format.h>
#include <omp.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <new>
#include <optional>
#include <system_error>

#include "solver/case.hpp"
#include "solver/error.hpp"
#include "solver/run.hpp"
#include "solver/sentence.hpp"
#include "tools/commands.hpp"

namespace {

using femcg::solver::ExitStatus;
using femcg::solver::InputError;
using femcg::solver::Override;

volatile std::sig_atomic_t interrupted = 0;

/// The first Ctrl-C asks the loops to end; the second has the system's own effect.
void stop_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

struct CommandLine {
  std::string case_file;
  std::string topic;
  std::vector<std::string> sets;
  std::optional<std::string> op, device, threads, output;
  bool quiet = false, no_progress = false;
};

void add_case_options(CLI::App& command, CommandLine& line) {
  command.add_option("CASE", line.case_file, "case file (YAML)");
  command.add_option("--set", line.sets, "KEY.PATH=VALUE wins over the file, e.g. --set mesh.box.cells=[128,128]")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--operator", line.op, "solver.operator; see femcg list operators")->type_name("NAME");
  command.add_option("--device", line.device, "solver.device: auto, cpu or cuda")->type_name("NAME");
  command.add_option("--threads", line.threads, "threads on the CPU (default: as many as it has)")->type_name("N");
  command.add_option("--output", line.output, "folder for the results, relative to the current one")->type_name("DIR");
  command.add_flag("--quiet", line.quiet, "no summary and no progress");
  command.add_flag("--no-progress", line.no_progress, "no live line on standard error");
}

std::vector<Override> overrides(const CommandLine& line) {
  std::vector<Override> list;
  if (line.op) list.push_back({"solver.operator", *line.op, "--operator"});
  if (line.device) list.push_back({"solver.device", *line.device, "--device", true});
  if (line.output) list.push_back({"output.directory", *line.output, "--output", true});
  for (const std::string& set : line.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos)
      throw InputError("--set: " + femcg::solver::in_quotes(set) + " has no '='; write --set key.path=value");
    list.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  return list;
}

void set_threads(const std::string& text) {
  constexpr int most_threads = 4096;
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1 || threads > most_threads)
    throw InputError(fmt::format("--threads must be a whole number from 1 to {}, not {}", most_threads,
                                 femcg::solver::in_quotes(text)));
  omp_set_num_threads(threads);
}

/// To standard output, at once. Throws std::system_error.
void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw std::system_error(errno, std::generic_category(), "standard output cannot be written");
}

/// Throws where something on the command line has no meaning.
void check_leftovers(const CLI::App& app) {
  const auto selected = app.get_subcommands();
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(command->get_name());
  const CLI::App& command = selected.empty() ? app : *selected.front();

  for (const std::string& rest : app.remaining(true)) {
    if (rest.starts_with("-") && rest != "--") {
      const std::string option = rest.substr(0, rest.find('='));
      std::vector<std::string> known;
      for (const CLI::Option* each : command.get_options())
        if (!each->get_lnames().empty()) known.push_back("--" + each->get_lnames().front());
      throw InputError("unknown option " + femcg::solver::in_quotes(option) +
                       femcg::solver::did_you_mean(option, known));
    }
    if (selected.empty())
      throw InputError("unknown command " + femcg::solver::in_quotes(rest) +
                       femcg::solver::did_you_mean(rest, commands));
    throw InputError("one argument too many: " + femcg::solver::in_quotes(rest));
  }
  if (selected.empty())
    throw InputError("a command is missing: " + femcg::solver::alternatives(commands) + "; see femcg --help");
}

ExitStatus run_or_check(bool solve, const CommandLine& line) {
  if (line.case_file.empty()) throw InputError("a case file is missing, such as femcg run CASE.yaml");
  if (line.threads) set_threads(*line.threads);
  const femcg::solver::Console console{.progress = !line.quiet && !line.no_progress && isatty(STDERR_FILENO) == 1,
                                       .quiet = line.quiet};
  const femcg::solver::Case resolved = femcg::solver::read_case(line.case_file, overrides(line));
  if (solve) return femcg::solver::run(resolved, console, [] { return interrupted != 0; });
  femcg::solver::check(resolved, console);
  if (!line.quiet) print(femcg::solver::to_yaml(resolved));
  return ExitStatus::done;
}

ExitStatus execute(int argc, char** argv) {
  CommandLine line;
  CLI::App app(
      "Conjugate gradients for finite elements, with a pluggable operator.\n\n"
      "Exit status: 0 done and converged, 1 not converged, 2 the input is wrong, 3 the machine failed.",
      "femcg");
  CLI::App& run = *app.add_subcommand("run", "solve a case, print a summary and write a results folder");
  CLI::App& check = *app.add_subcommand("check", "validate a case without solving; print it with every default");
  CLI::App& list = *app.add_subcommand("list", "show what this build offers");
  CLI::App& info = *app.add_subcommand("info", "show version, build, threads, devices and copy bandwidth");
  add_case_options(run, line);
  add_case_options(check, line);
  list.add_option("TOPIC", line.topic, femcg::solver::alternatives(femcg::tools::list_topics()) + "; default all");
  for (CLI::App* each : {&app, &run, &check, &list, &info}) {
    each->set_version_flag("--version", femcg::tools::version(), "print the version");
    each->allow_extras();  // ours to report, with the nearest known name
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return ExitStatus::done;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return ExitStatus::done;
  } catch (const CLI::ParseError& error) {
    throw InputError(error.what());
  }
  check_leftovers(app);
  if (info) print(femcg::tools::info());
  if (list) print(femcg::tools::list(line.topic));
  return run || check ? run_or_check(static_cast<bool>(run), line) : ExitStatus::done;
}

/// One line on standard error.
void complain(std::string sentence) {
  std::ranges::replace(sentence, '\n', ' ');
  std::fputs((sentence + "\n").c_str(), stderr);
}

/// Whether nobody reads standard output any more (femcg list | head -1), which is the reader's choice and no failure.
bool reader_left() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/// Everything printed has arrived, or the status says so.
ExitStatus flushed(ExitStatus status) {
  const bool failed = std::fflush(stdout) != 0;
  const int why = failed ? errno : EIO;
  if ((!failed && !std::ferror(stdout)) || status == ExitStatus::machine_failed || reader_left()) return status;
  complain("femcg: standard output cannot be written: " + std::generic_category().message(why));
  return ExitStatus::machine_failed;
}

/// Runs the program; whatever goes wrong becomes lines on standard error and a status.
ExitStatus guarded(int argc, char** argv) {
  try {
    return execute(argc, argv);
  } catch (const InputError& error) {
    for (const std::string& sentence : error.sentences()) complain(sentence);
    return ExitStatus::wrong_input;
  } catch (const femcg::solver::MachineError& error) {
    complain(std::string("femcg: ") + error.what());
  } catch (const std::bad_alloc&) {
    complain("femcg: out of memory; take a smaller mesh or degree, or an operator that stores less");
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe && reader_left()) return ExitStatus::done;
    complain(std::string("femcg: ") + error.what());
  } catch (const std::exception& error) {
    complain(std::string("femcg: ") + error.what());
  } catch (...) {
    complain("femcg: an unknown failure");
  }
  return ExitStatus::machine_failed;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a write that nobody reads fails, and is answered there
  stop_on_interrupt();
  return static_cast<int>(flushed(guarded(argc, argv)));
}

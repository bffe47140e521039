#include "tools/threads.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "operators/distributed/messages/launcher.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/terminal.hpp"

namespace femcg::tools {

namespace {

std::int64_t thread_count(const std::string& name, const std::string& text) {
  std::int64_t threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1)
    throw solver::InputError(fmt::format("{} must be a whole number from 1, not {}", name, solver::in_quotes(text)));
  return threads;
}

/// Entry for the outermost loops in a list with one per nesting level; blanks are allowed.
std::string first_of_list(const std::string& list) {
  std::string first = list.substr(0, list.find(','));
  std::erase_if(first, [](char c) { return c == ' ' || c == '\t'; });
  return first;
}

void note(const std::string& sentence) {
  if (operators::rank_of_launcher() == 0) solver::print_note(sentence);
}

/// Number of hardware threads per core.
int processors_of_core() {
  int active = 0;
  std::ifstream("/sys/devices/system/cpu/smt/active") >> active;
  return 1 + active;
}

}  // namespace

void choose_threads(const std::optional<std::string>& option) {
  const char* variable = std::getenv("OMP_NUM_THREADS");
  if (!option && (variable == nullptr || *variable == '\0')) return;
  const std::string name = option ? "--threads" : "OMP_NUM_THREADS";
  const std::int64_t threads = thread_count(name, option ? *option : first_of_list(variable));
  const int most = omp_get_num_procs();
  if (threads > most)
    note(fmt::format("{} asks for {} threads; this process has {}, and takes as many", name, threads,
                     most == 1 ? "one core" : fmt::format("{} cores", most)));
  omp_set_num_threads(static_cast<int>(std::min<std::int64_t>(threads, most)));
}

void note_binding() {
  const char* local = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  const std::int64_t processes = local != nullptr ? std::atoi(local) : 0, here = omp_get_num_procs();
  const std::int64_t all = sysconf(_SC_NPROCESSORS_ONLN);
  if (processes < 1 || here > processors_of_core() || processes * here >= all) return;
  const std::int64_t cores = all / processors_of_core();
  note(processes == 1
           ? fmt::format("mpirun binds this process to one of {} cores: mpirun --bind-to none lets it use all", cores)
           : fmt::format("mpirun binds each of {} processes to one of {} cores: mpirun --bind-to none, with "
                         "--threads {}, lets them use all",
                         processes, cores, cores / processes));
}

}  // namespace femcg::tools

#include "tools/threads.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::tools {

namespace {

using solver::InputError;

/// More help nobody, and each has a stack and a place in sums.
int most_threads() { return std::max(1024, 4 * omp_get_num_procs()); }

int thread_count(const std::string& name, const std::string& text) {
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1 || threads > most_threads())
    throw InputError(
        fmt::format("{} must be a whole number from 1 to {}, not {}", name, most_threads(), solver::in_quotes(text)));
  return threads;
}

/// The number for the outermost loops, of a list with one for each level of nesting; blanks are allowed.
std::string first_of_list(const std::string& list) {
  std::string first = list.substr(0, list.find(','));
  std::erase_if(first, [](char c) { return c == ' ' || c == '\t'; });
  return first;
}

/// Starts at once as many as OpenMP and the thread team will have beside this one, and ends them: libgomp's own failure
/// ends the program.
void require_startable(const std::string& name, int threads) {
  std::mutex mutex;
  std::condition_variable all_started;
  bool over = false;
  std::vector<std::jthread> started;
  std::string failure;
  try {
    while (static_cast<int>(started.size()) < 2 * (threads - 1))
      started.emplace_back([&] {
        std::unique_lock lock(mutex);
        all_started.wait(lock, [&] { return over; });
      });
  } catch (const std::exception& error) {
    failure = fmt::format("{} asks for {} threads, of which the system starts {}: {}", name, threads,
                          started.size() / 2 + 1, error.what());
  }
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  all_started.notify_all();
  started.clear();
  if (!failure.empty()) throw InputError(failure);
}

}  // namespace

void choose_threads(const std::optional<std::string>& option) {
  const char* variable = std::getenv("OMP_NUM_THREADS");
  if (!option && (variable == nullptr || *variable == '\0')) return;
  const std::string name = option ? "--threads" : "OMP_NUM_THREADS";
  const int threads = thread_count(name, option ? *option : first_of_list(variable));
  if (threads > omp_get_num_procs()) require_startable(name, threads);
  omp_set_num_threads(threads);
}

}  // namespace femcg::tools

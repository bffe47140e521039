#include "solver/report/run_page.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "solver/messages/terminal.hpp"
#include "solver/report/report_page.hpp"

extern char** environ;

namespace femcg::solver {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Base64 encoding (RFC 4648).
std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

ordered_json history_json(const std::string& name, const std::vector<Iteration>& history) {
  return {{"name", name}, {"points", residual_points(history)}};
}

/// femcg-plot in the program's folder, else on the PATH; empty if it is in neither.
fs::path plot_program() {
  constexpr const char* name = "femcg-plot";
  std::error_code ignored;
  std::vector<fs::path> folders{fs::read_symlink("/proc/self/exe", ignored).parent_path()};
  const char* path = std::getenv("PATH");
  std::istringstream list(path != nullptr ? path : "");
  for (std::string folder; std::getline(list, folder, ':');)
    if (!folder.empty()) folders.emplace_back(folder);
  for (const fs::path& folder : folders)
    if (!folder.empty() && ::access((folder / name).c_str(), X_OK) == 0) return folder / name;
  return {};
}

/// Runs the program without its standard output. Returns its standard error on one line if it fails, else "".
std::string failure_of(const std::vector<std::string>& command) {
  std::array<int, 2> said{};
  if (::pipe(said.data()) != 0) return "there is no pipe to it";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, said[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, said[0]);
  posix_spawn_file_actions_addclose(&actions, said[1]);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int status = ::posix_spawn(&child, words.front(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(said[1]);
  std::string text;
  for (std::array<char, 512> part; status == 0;) {
    const ssize_t count = ::read(said[0], part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (text.size() < 2000) text.append(part.data(), static_cast<std::size_t>(count));
  }
  ::close(said[0]);
  if (status != 0) return "it cannot be started";
  int end = 0;
  while (::waitpid(child, &end, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(end) && WEXITSTATUS(end) == 0) return "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return text.empty() ? "femcg-plot was ended" : text;
}

void write_page(const fs::path& directory, const std::string& records) {
  if (has_report_page())
    mesh::write_atomically(directory / result_page_file, report_page(records));
  else
    print_note(fmt::format("no {} was written: {}", result_page_file, report_page_stub()));
}

}  // namespace

std::string result_page_json(const Record& record, const std::string& png) {
  ordered_json json = to_json(record);
  json["history"] = ordered_json::array();
  if (record.loads.empty()) json["history"].push_back(history_json("", record.solve.history));
  for (const LoadRecord& load : record.loads) json["history"].push_back(history_json(load.name, load.solve.history));
  if (!png.empty()) json["picture"] = "data:image/png;base64," + base64(png);
  return to_lines(ordered_json::array({std::move(json)}));
}

void leave_out_page(mesh::FileGroup& files) {
  files.leave_out(std::string(result_page_file));
  files.leave_out(std::string(picture_file));
}

std::string draw_picture(const OutputChoice& output) {
  const auto no_picture = [](const std::string& why) {
    print_note(fmt::format("no {} was drawn: {}", picture_file, why));
    return std::string();
  };
  if (!output.vtu) return no_picture("output.vtu: false leaves nothing to draw");
  const fs::path program = plot_program();
  if (program.empty()) return no_picture("femcg-plot is neither beside the program nor on the PATH");
  const fs::path picture = output.directory / picture_file;
  if (const std::string why = failure_of({program, output.directory, "-o", picture}); !why.empty())
    return no_picture(why);
  std::ifstream stream(picture, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_result_page(const OutputChoice& output, const Record& record, const std::string& png) {
  write_page(output.directory, result_page_json(record, png));
}

void write_study_page(const StudyRecord& study) {
  write_page(study.directory, to_lines(ordered_json::array({to_json(study)})));
}

}  // namespace femcg::solver

#include "operators/plugins/plugins.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "operators/plugins/plugin_operator.hpp"

namespace femcg::operators {

namespace {

std::vector<std::filesystem::path>& files() {
  static std::vector<std::filesystem::path> loaded;
  return loaded;
}

std::atomic<bool> exit_expected = false;
std::string loading;
int status_on_exit = 0;

/// Nothing of femcg calls exit before it says so: a plug-in does then.
void explain_exit() {
  if (exit_expected) return;
  std::string names = loading;
  if (names.empty())
    for (const std::filesystem::path& file : files()) names += (names.empty() ? "" : " or ") + file.string();
  std::fputs(fmt::format("femcg: plug-in {} ended the program, by a call of exit\n", names).c_str(), stderr);
  std::fflush(nullptr);
  _exit(status_on_exit);
}

void watch_exits(const std::string& file, int status) {
  static const int once = std::atexit(explain_exit);
  static_cast<void>(once);
  loading = file;
  status_on_exit = status;
}

/// The loader's message, without the file that it begins with.
std::string last_failure(const std::string& file) {
  const char* said = dlerror();
  const std::string text = said != nullptr ? said : "the loader does not say why";
  return text.starts_with(file + ": ") ? text.substr(file.size() + 2) : text;
}

/// A library that is unloaded unless it turns out to be a plug-in.
class Library {
 public:
  explicit Library(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw PluginError(fmt::format("plug-in {} cannot be loaded: {}", file, last_failure(file)));
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void* find(const char* symbol) const { return dlsym(handle_, symbol); }
  void keep() { handle_ = nullptr; }

 private:
  void* handle_;
};

const femcg_plugin& plugin_of(const Library& library, const std::string& file) {
  constexpr const char* symbol = "femcg_plugin_entry";
  void* found = library.find(symbol);
  if (found == nullptr)
    throw PluginError(
        fmt::format("{} is no plug-in of femcg: it has no function {} (see femcg/plugin.h)", file, symbol));
  const femcg_plugin* plugin = reinterpret_cast<const femcg_plugin* (*)()>(found)();
  if (plugin == nullptr) throw PluginError(fmt::format("plug-in {}: {} returned null", file, symbol));
  constexpr int ours = FEMCG_PLUGIN_VERSION;
  if (plugin->version != ours)
    throw PluginError(
        fmt::format("plug-in {} has version {} of the interface, and this femcg has version {}: build it "
                    "with this femcg's femcg/plugin.h",
                    file, plugin->version, ours));
  if (plugin->operator_count < 1 || plugin->operators == nullptr)
    throw PluginError(fmt::format("plug-in {} has no operators", file));
  if (static_cast<std::size_t>(plugin->operator_count) > most_added_operators)
    throw PluginError(fmt::format("plug-in {} states {} operators: there are {} of plug-ins at most", file,
                                  plugin->operator_count, most_added_operators));
  return *plugin;
}

}  // namespace

void expect_exit() { exit_expected = true; }

void load_plugin(const std::filesystem::path& given, int status_of_exit) {
  if (given.empty()) throw PluginError("a plug-in without a name; name the file of a shared library");
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::canonical(given, failure);
  if (failure) throw PluginError(fmt::format("plug-in {}: {}", given.string(), failure.message()));
  if (std::ranges::find(files(), path) != files().end()) return;
  const std::string file = path.string();
  watch_exits(file, status_of_exit);
  Library library(file);
  const femcg_plugin& plugin = plugin_of(library, file);
  std::vector<OperatorDescription> rows;
  for (std::int32_t i = 0; i < plugin.operator_count; ++i) {
    rows.push_back(describe_plugin_operator(plugin.operators[i], path));
    const auto has_its_name = [&](const OperatorDescription& row) { return row.name == rows.back().name; };
    if (std::ranges::any_of(catalogue(), has_its_name) || std::ranges::count_if(rows, has_its_name) > 1)
      throw PluginError(fmt::format("plug-in {} calls an operator '{}', and there is one of that name already", file,
                                    rows.back().name));
  }
  if (!add_operators(std::move(rows)))
    throw PluginError(
        fmt::format("plug-in {}: there are {} operators of plug-ins at most", file, most_added_operators));
  files().push_back(path);
  library.keep();
  loading.clear();
}

const std::vector<std::filesystem::path>& loaded_plugins() { return files(); }

}  // namespace femcg::operators

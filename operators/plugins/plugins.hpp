#pragma once

#include <filesystem>
#include <stdexcept>
#include <vector>

namespace femcg::operators {

/// A plug-in that cannot be loaded: one sentence.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Adds the operators of a shared library (plugin.h) to the catalogue of this process; nothing where it was loaded
/// before. Code of the library runs; where that calls exit, now or later, the process ends with a sentence and the status
/// `status_of_exit`. Throws PluginError where there is no such file, it is no such library, or of another version of the
/// interface, it states more operators than there can be, or an operator lacks what it must have or has the name of
/// another one; the catalogue is as before then.
void load_plugin(const std::filesystem::path& file, int status_of_exit = 2);

/// To be called before the program itself ends by exit or a return from main.
void expect_exit();

/// The files that were loaded, with their whole paths, in that order.
const std::vector<std::filesystem::path>& loaded_plugins();

}  // namespace femcg::operators

#pragma once

#include <filesystem>

#include "operators/catalogue.hpp"
#include "operators/plugins/plugin.h"

namespace femcg::operators {

/// The row of an operator of a plug-in, which must outlive the row. Throws PluginError where it lacks what it must
/// have.
OperatorDescription describe_plugin_operator(const femcg_operator& from, const std::filesystem::path& file);

}  // namespace femcg::operators

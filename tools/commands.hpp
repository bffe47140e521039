#pragma once

#include <string>
#include <vector>

namespace femcg::tools {

/// What `femcg list` knows of.
const std::vector<std::string>& list_topics();

/// `femcg list TOPIC`: one line each, in columns; every topic, under its heading, where none is given. Throws
/// InputError for an unknown topic.
std::string list(const std::string& topic);

/// "femcg 0.1.0".
std::string version();

/// `femcg info`: version, how it was built, threads, devices, and the copy bandwidths that are kept; or measured now
/// and kept.
std::string info(bool measure);

}  // namespace femcg::tools

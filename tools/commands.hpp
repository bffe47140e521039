#pragma once

#include <string>
#include <vector>

namespace femcg::tools {

/// What `femcg list` knows of.
const std::vector<std::string>& list_topics();

/// `femcg list TOPIC`: one line each, in columns; every topic, under its heading, where none is given. Throws
/// InputError for an unknown topic.
std::string list(const std::string& topic);

/// `femcg init`: writes a case to start from, with comments, and the schema beside it where there is none, and answers
/// what to do next. `named` is the name of the case, or a geometry or mesh that the case is to be of; empty: case.yaml.
/// Throws InputError where there is such a case already, which stays as it is, or where there is no such geometry or
/// folder; std::system_error where nothing can be written.
std::string init(const std::string& named);

/// "femcg 0.1.0".
std::string version();

/// `femcg info`: version, how it was built, threads, devices, and the copy bandwidths that are kept; or measured now
/// and kept.
std::string info(bool measure);

}  // namespace femcg::tools

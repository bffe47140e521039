#pragma once

#include <string>
#include <vector>

namespace femcg::tools {

/// Topics of `femcg list`.
const std::vector<std::string>& list_topics();

/// `femcg list TOPIC`: one line per item, in columns; all topics with headings if none is given. Throws InputError for
/// an unknown topic.
std::string list(const std::string& topic);

/// `femcg init`: writes a commented case to start from, and the schema in the same folder unless there is one; returns
/// what to do next. `named`: name of the case, or a geometry or mesh for the case; empty: case.yaml. Throws InputError
/// if the case exists already, which is not changed, or if the geometry or folder does not exist; std::system_error if
/// nothing can be written.
std::string init(const std::string& named);

/// Version as text: "femcg 0.1.0".
std::string version();

/// `femcg info`: version, build, threads, devices, and the copy bandwidths, cached or, with `measure`, measured now and
/// cached.
std::string info(bool measure);

}  // namespace femcg::tools

#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string_view>

namespace femcg::mesh {

/// Writes a file whole or not at all: `write` fills a temporary in the same directory, which is flushed to the disk and
/// then renamed to `file`. The stream throws at the first failure, so `write` need not check it. Whatever is thrown,
/// the temporary is gone and an earlier `file` is as it was. Throws std::system_error, naming the file and the reason,
/// where the directory is missing or read-only, the disk is full, or `file` is something other than a regular file.
void write_atomically(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

/// The same with the content at hand.
void write_atomically(const std::filesystem::path& file, std::string_view content);

}  // namespace femcg::mesh

#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/gmsh/check/file_bytes.hpp"

namespace femcg::mesh {

/// Text of a deck in UTF-8, with included files in place: *INCLUDE and INPUT= of *NODE, *ELEMENT, sets and surfaces
/// (.inp), INCLUDE (.bdf, .nas). File names are relative to the folder of the deck, or else to that of the including
/// file. Text that is not UTF-8 is taken as Latin-1.
class WholeDeck {
 public:
  /// Throws std::runtime_error, "line 12: ...", if an included file cannot be read or includes itself.
  explicit WholeDeck(const std::filesystem::path& file);
  WholeDeck(const WholeDeck&) = delete;
  WholeDeck& operator=(const WholeDeck&) = delete;

  std::string_view text() const { return text_; }
  /// Translates a sentence "line 12: ..." on the text to the line and name of the original file.
  std::string in_words_of_files(const std::string& sentence) const;

 private:
  struct Piece {
    std::size_t line;     ///< in the text
    std::size_t of_file;  ///< in the original file
    std::string file;     ///< as included; "" for the deck itself
  };
  /// A file that is included in another one's text.
  struct Include {
    std::size_t begin, end, line;  ///< replaced byte range; its first line
    std::string file;
    std::string before;  ///< keyword line whose data the file holds
  };

  static std::vector<Include> includes_of_inp(std::string_view text);
  static std::vector<Include> includes_of_bdf(std::string_view text);
  std::vector<Include> includes_of(std::string_view text) const;
  void append(std::string_view text, const std::string& file, const std::filesystem::path& folder);
  void append_piece(std::string_view text, std::size_t of_file, const std::string& file);
  void append_file(const Include& include, const std::string& from, const std::filesystem::path& folder);

  std::filesystem::path folder_;
  std::string ending_;
  std::unique_ptr<FileBytes> bytes_;
  std::string made_;  ///< the assembled text, unless the file is used as it is
  std::string_view text_;
  std::size_t lines_ = 0;      ///< lines of made_
  std::vector<Piece> pieces_;  ///< in the order of their lines
  std::vector<std::filesystem::path> open_;
  std::size_t included_ = 0;
};

}  // namespace femcg::mesh

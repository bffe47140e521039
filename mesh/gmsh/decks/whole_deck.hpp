#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/gmsh/check/file_bytes.hpp"

namespace femcg::mesh {

/// The text of a deck in UTF-8, with the files that it includes in their places: *INCLUDE and INPUT= of *NODE,
/// *ELEMENT, sets and surfaces (.inp), INCLUDE (.bdf, .nas). Names of files are relative to the folder of the deck,
/// else to that of the file that includes them. A text that is not UTF-8 is taken for Latin-1.
class WholeDeck {
 public:
  /// Throws std::runtime_error, "line 12: ...", for an included file that cannot be read or includes itself.
  explicit WholeDeck(const std::filesystem::path& file);
  WholeDeck(const WholeDeck&) = delete;
  WholeDeck& operator=(const WholeDeck&) = delete;

  std::string_view text() const { return text_; }
  /// A sentence "line 12: ..." on the text, with the line and name of the file that it stands in.
  std::string in_words_of_files(const std::string& sentence) const;

 private:
  struct Piece {
    std::size_t line;     ///< of the text
    std::size_t of_file;  ///< the same line of the file
    std::string file;     ///< as it is included; "" for the deck itself
  };
  /// A file whose name stands in another one's text.
  struct Include {
    std::size_t begin, end, line;  ///< what it replaces; the first line of that
    std::string file;
    std::string before;  ///< a keyword whose data the file has
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
  std::string made_;  ///< where it is not the file as it is
  std::string_view text_;
  std::size_t lines_ = 0;      ///< of made_
  std::vector<Piece> pieces_;  ///< in the order of their lines
  std::vector<std::filesystem::path> open_;
  std::size_t included_ = 0;
};

}  // namespace femcg::mesh

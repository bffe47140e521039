#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::solver {

/// Text with control characters replaced by blanks, truncated to about `longest` bytes, with "..." after a cut.
std::string on_one_line(std::string_view text, std::size_t longest);

/// The user's text in quotes, fit for one line of a message.
std::string in_quotes(std::string_view text);

/// "place: sentence", or only the sentence if there is no place. Does not repeat the end of the place.
std::string at_place(const std::string& place, std::string_view sentence);

/// "a, b or c".
std::string alternatives(const std::vector<std::string>& words);

/// Text after an unknown name: "; did you mean 'degree'?" if a known name is close (Damerau-Levenshtein), else "; known
/// are a, b or c".
std::string did_you_mean(std::string_view unknown, const std::vector<std::string>& known);

/// The same for a part of the mesh, always with all known parts and the command that shows them.
std::string did_you_mean_part(std::string_view unknown, const std::vector<std::string>& known);

}  // namespace femcg::solver

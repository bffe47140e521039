#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::solver {

/// A text with blanks for control characters, cut to about as many bytes as are allowed, with "..." behind the cut.
std::string on_one_line(std::string_view text, std::size_t longest);

/// The user's own text in quotes, fit for one line of a message.
std::string in_quotes(std::string_view text);

/// "place: sentence", or the sentence alone where there is no place. What the place ends with is not said twice.
std::string at_place(const std::string& place, std::string_view sentence);

/// "a, b or c".
std::string alternatives(const std::vector<std::string>& words);

/// Text after an unknown name: "; did you mean 'degree'?" where a known name is near (Damerau-Levenshtein), else ";
/// known are a, b or c".
std::string did_you_mean(std::string_view unknown, const std::vector<std::string>& known);

/// The same for a part of the mesh, with all that there are in either case, and who shows them.
std::string did_you_mean_part(std::string_view unknown, const std::vector<std::string>& known);

}  // namespace femcg::solver

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace femcg::solver {

/// The user's own text in quotes, fit for one line of a message: control characters become blanks, long text is cut.
std::string in_quotes(std::string_view text);

/// "place: sentence", or the sentence alone where there is no place.
std::string at_place(const std::string& place, std::string_view sentence);

/// "a, b or c".
std::string alternatives(const std::vector<std::string>& words);

/// What to say after an unknown name: "; did you mean 'degree'?" where a known name is near (Damerau-Levenshtein), else
/// "; known are a, b or c".
std::string did_you_mean(std::string_view unknown, const std::vector<std::string>& known);

}  // namespace femcg::solver

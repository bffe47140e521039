#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace femcg::solver {

/// Characters in a line of the terminal that standard output is; 100 where it is none.
std::size_t terminal_width();

/// A text that changes nothing about a terminal: titles, names and what files say may hold control characters (also
/// those of two bytes in UTF-8), which become '?'. Line ends and tabs stay.
std::string printable(std::string_view text);

/// To standard output, at once, as far as it is printable. Throws std::system_error.
void print(std::string_view text);

/// "note: sentence" to standard error, likewise, on a line.
void print_note(std::string_view sentence);

}  // namespace femcg::solver

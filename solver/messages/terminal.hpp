#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace femcg::solver {

/// Width of the terminal on standard output in characters; 100 if it is no terminal.
std::size_t terminal_width();

/// Text without effects on a terminal: titles, names and file contents may have control characters (also of two bytes
/// in UTF-8), which become '?'. Keeps line ends and tabs.
std::string printable(std::string_view text);

/// Prints text to standard output immediately, made printable. Throws std::system_error.
void print(std::string_view text);

/// Prints "note: sentence" to standard error in the same way, on a line of its own.
void print_note(std::string_view sentence);

}  // namespace femcg::solver

#include "solver/messages/sentence.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>

#include "solver/messages/error.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/records/record.hpp"

using femcg::solver::csv_field;
using femcg::solver::in_quotes;
using femcg::solver::InputError;
using femcg::solver::printable;

TEST_CASE("quoted text is cut between characters of UTF-8") {
  CHECK(in_quotes("a\tb\x7f") == "'a b '");
  CHECK(in_quotes(std::string(60, 'a')) == "'" + std::string(60, 'a') + "'");
  CHECK(in_quotes(std::string(61, 'a')) == "'" + std::string(60, 'a') + "...'");
  CHECK(in_quotes(std::string(59, 'a') + "é") == "'" + std::string(59, 'a') + "...'");
  CHECK(in_quotes(std::string(58, 'a') + "éb") == "'" + std::string(58, 'a') + "é...'");
  CHECK(in_quotes(std::string(57, 'a') + "\U0001F600") == "'" + std::string(57, 'a') + "...'");
}

TEST_CASE("bytes that are no UTF-8 are quoted too, from memory that holds nothing else") {
  for (const std::size_t size : {59, 60, 61, 64, 200}) {
    const auto bytes = std::make_unique<char[]>(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = '\x80';
    const std::string shown = in_quotes(std::string_view(bytes.get(), size));
    CHECK(shown == "'" + std::string(size <= 60 ? size : 57, '\x80') + (size <= 60 ? "'" : "...'"));
  }
}

TEST_CASE("sentences are of one line each, whatever the user's names hold") {
  const InputError error({"in.yaml:1:1: a\nb", std::string(10'000, 'a')});
  CHECK(error.sentences()[0] == "in.yaml:1:1: a b");
  CHECK(error.sentences()[1] == std::string(2000, 'a') + "...");
  CHECK(error.what() == error.sentences()[0] + "\n" + error.sentences()[1]);
  const InputError many(std::vector<std::string>(150, "a"));
  CHECK(many.sentences().size() == 101);
  CHECK(many.sentences().back() == "and 50 more");
}

TEST_CASE("nothing of a text reaches a terminal as a command") {
  CHECK(printable("a\033[2Jb\x07\r\x7f") == "a?[2Jb???");
  CHECK(printable("\xC2\x9B"
                  "31m") == "?31m");  // ESC [ as one character
  CHECK(printable("W\u00e4rme \u2264 \u00a0\n\t1") == "W\u00e4rme \u2264 \u00a0\n\t1");
  CHECK(printable("\xC2") == "\xC2");
}

TEST_CASE("a field of a CSV file is no formula") {
  CHECK(csv_field("=1+1") == "\"'=1+1\"");
  CHECK(csv_field("@SUM(A1)") == "\"'@SUM(A1)\"");
  CHECK(csv_field("-a") == "\"'-a\"");
  CHECK(csv_field("+a,\"b\"") == "\"'+a,\"\"b\"\"\"");
  for (const std::string plain : {"-1.5e-3", "-0", "a=b", "", "1"}) CHECK(csv_field(plain) == plain);
  CHECK(csv_field("a,b") == "\"a,b\"");
}

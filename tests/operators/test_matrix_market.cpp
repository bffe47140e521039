// Matrix Market files compared with Eigen's reader and matrices written by hand; every defect is reported with its
// line.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <Eigen/Sparse>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <unsupported/Eigen/SparseExtra>
#include <vector>

#include "operators/stored/io/line_reader.hpp"
#include "operators/stored/io/matrix_market.hpp"
#include "tests/locations.hpp"
#include "tests/threads.hpp"

namespace {

using namespace femcg::operators;
using femcg::tests::Threads;
namespace fs = std::filesystem;

const fs::path matrices = femcg::tests::source_directory() / "tests/matrices";

/// A file with this content, for the lifetime of the object.
class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(fs::temp_directory_path() / fmt::format("femcg_test_matrix_market_{}.mtx", ::getpid())) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  TextFile(const TextFile&) = delete;
  ~TextFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

MatrixFile read_text(const std::string& text) { return read_matrix_market(TextFile(text).path()); }

std::string content(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// True if offsets are valid and columns ascend within each row.
bool well_formed(const CsrMatrix<double>& matrix) {
  if (matrix.row_offsets.size() != matrix.rows + 1 || matrix.row_offsets[0] != 0) return false;
  if (matrix.columns.size() != matrix.nonzeros() || matrix.values.size() != matrix.nonzeros()) return false;
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
      if (matrix.columns[k] < 0 || matrix.columns[k] >= matrix.rows) return false;
      if (k > matrix.row_offsets[i] && matrix.columns[k] <= matrix.columns[k - 1]) return false;
    }
  return true;
}

Eigen::MatrixXd dense(const CsrMatrix<double>& matrix) {
  REQUIRE(well_formed(matrix));
  Eigen::MatrixXd full = Eigen::MatrixXd::Zero(matrix.rows, matrix.rows);
  for (std::int32_t i = 0; i < matrix.rows; ++i)
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      full(i, matrix.columns[k]) = matrix.values[k];
  return full;
}

/// Entries in the file as read by Eigen, without those implied by symmetry.
Eigen::MatrixXd read_by_eigen(const fs::path& file) {
  Eigen::SparseMatrix<double> matrix;
  REQUIRE(Eigen::loadMarket(matrix, file.string()));
  return Eigen::MatrixXd(matrix);
}

/// Error for a text; its line must be that in the sentence.
std::string error_of(const std::string& text) {
  try {
    read_text(text);
  } catch (const MatrixMarketError& error) {
    const std::string sentence = error.what();
    CHECK(sentence.starts_with(fmt::format("{}: ", error.line())));
    return sentence;
  }
  return "no error";
}

const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string right_header = "'%%MatrixMarket matrix coordinate real general' or the like";

/// A matrix with entries at random places, some duplicated, between comments and blank lines.
std::string large_text(std::int32_t rows, std::int64_t entries, unsigned seed) {
  std::mt19937 random(seed);
  std::string text = fmt::format("{}{} {} {}\n", general, rows, rows, entries);
  for (std::int64_t e = 0; e < entries; ++e) {
    if (e % 1000 == 500) text += "% a comment\n\n";
    fmt::format_to(std::back_inserter(text), "{} {} {}\n", random() % rows + 1, random() % rows + 1,
                   (random() % 2000001 - 1e6) * 1e-6);
  }
  return text;
}

}  // namespace

TEST_CASE("general, symmetric and skew-symmetric files are what Eigen reads") {
  const MatrixFile laplace = read_matrix_market(matrices / "laplace.mtx");
  const Eigen::MatrixXd lower = read_by_eigen(matrices / "laplace.mtx");
  CHECK(dense(laplace.matrix) == Eigen::MatrixXd(lower.selfadjointView<Eigen::Lower>()));
  CHECK(laplace.symmetry == MatrixSymmetry::symmetric);
  CHECK(laplace.stored_entries == 96);
  CHECK(laplace.matrix.nonzeros() == 156);

  const MatrixFile skew = read_matrix_market(matrices / "skew.mtx");
  const Eigen::MatrixXd below = read_by_eigen(matrices / "skew.mtx");
  CHECK(dense(skew.matrix) == Eigen::MatrixXd(below - below.transpose()));
  CHECK(skew.symmetry == MatrixSymmetry::skew_symmetric);
  CHECK(skew.matrix.nonzeros() == 2 * skew.stored_entries);

  const MatrixFile integer = read_matrix_market(matrices / "integer.mtx");
  CHECK(dense(integer.matrix) == read_by_eigen(matrices / "integer.mtx"));
  CHECK(integer.field == MatrixField::integer);
  CHECK_FALSE(integer.pattern());
}

TEST_CASE("all the freedom of the format") {
  const MatrixFile file = read_matrix_market(matrices / "free_format.mtx");
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(5, 5);
  expected.diagonal() << 1, 10.5, 1.5e-2, -2.8e2, 12;
  expected(0, 3) = 6;
  expected(3, 1) = 250.5;
  expected(3, 4) = 33.32;
  CHECK(dense(file.matrix) == expected);
  CHECK(file.stored_entries == 10);
  CHECK(file.matrix.nonzeros() == 9);  // two entries are summed, and the zero is retained
  CHECK(std::string(name(file.field)) == "real");
  CHECK(std::string(name(file.symmetry)) == "general");
  CHECK(read_text("\xEF\xBB\xBF%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n").matrix.nonzeros() == 1);
}

TEST_CASE("a pattern has ones, which duplicates add up, mirrored too") {
  const MatrixFile file =
      read_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 5\n3 1\n1 1\n3 1\n2 2\n3 3\n");
  Eigen::Matrix3d expected;
  expected << 1, 0, 2, 0, 1, 0, 2, 0, 1;
  CHECK(dense(file.matrix) == expected);
  CHECK(file.pattern());
}

TEST_CASE("arrays go column by column, the symmetric ones from the diagonal down, the skew ones from below it") {
  Eigen::Matrix3d expected;
  expected << 1, 4, 7, 2, 5, 8, 3, 6, 9;
  const std::string array = "%%MatrixMarket matrix array ";
  CHECK(dense(read_text(array + "real general\n3 3\n1\n2\n3\n4\n5\n6\n7\n8\n9\n").matrix) == expected);
  expected << 1, 2, 3, 2, 4, 5, 3, 5, 0;
  const MatrixFile file = read_text(array + "integer symmetric\n3 3\n1\n2\n3\n%\n4\n5\n0");
  CHECK(dense(file.matrix) == expected);
  CHECK(file.matrix.nonzeros() == 9);
  CHECK(file.stored_entries == 6);
  expected << 0, -1, -2, 1, 0, -3, 2, 3, 0;
  CHECK(dense(read_text(array + "real skew-symmetric\n3 3\n1\n2\n3\n").matrix) == expected);
  CHECK(error_of(array + "real general\n2 2\n1\n2\n3\n4\n5\n") ==
        "7: the size line promises 4 entries, and this is one more: '5'");
  CHECK(error_of(array + "real general\n2 2\n1\n2 3\n") == "4: a line of this file holds one value, not '2 3'");
  CHECK(error_of(array + "real general\n2 2 4\n1\n") ==
        "2: the first line behind the comments is 'rows columns', not '2 2 4'");
}

TEST_CASE("a large array is cut into pieces at the right place") {
  for (const char* symmetry : {"general", "symmetric", "skew-symmetric"}) {
    constexpr int n = 400;
    std::string text = fmt::format("%%MatrixMarket matrix array real {}\n{} {}\n", symmetry, n, n);
    const int from = symmetry[0] == 'g' ? -n : symmetry[1] == 'y' ? 0 : 1;
    for (int j = 0; j < n; ++j)
      for (int i = std::max(0, j + from); i < n; ++i) fmt::format_to(std::back_inserter(text), "{}\n", i * 1000.0 + j);
    const Eigen::MatrixXd full = dense(read_text(text).matrix);
    const double sign = symmetry[1] == 'k' ? -1 : 1;
    int wrong = 0;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const bool mirrored = from >= 0 && i < j;
        const double expected = mirrored ? sign * (j * 1000.0 + i) : i == j && from == 1 ? 0 : i * 1000.0 + j;
        wrong += full(i, j) == expected ? 0 : 1;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("no rows, one row, no entries") {
  CHECK(read_text(general + "0 0 0\n").matrix.rows == 0);
  CHECK(read_text("%%MatrixMarket matrix array real general\n0 0").matrix.nonzeros() == 0);
  CHECK(dense(read_text(symmetric + "1 1 1\n1 1 -3").matrix)(0, 0) == -3);
  const MatrixFile empty = read_text(general + "1000 1000 0");
  CHECK(dense(empty.matrix).isZero());
  CHECK(empty.matrix.nonzeros() == 0);
}

TEST_CASE("numbers at the limits of double precision") {
  const Eigen::MatrixXd values = dense(read_text(general + "2 2 4\n1 1 1e-400\n1 2 -1e290\n2 1 1e-290\n"
                                                           "2 2 0.00000000000000000000000000000000000000001e-300\n")
                                           .matrix);
  CHECK(values(0, 0) == 0);
  CHECK(values(0, 1) == -1e290);
  CHECK(values(1, 0) == 1e-290);
  CHECK(values(1, 1) == 0);
  // Tiny entries are valid next to larger ones.
  CHECK(dense(read_text(general + "1 1 2\n1 1 4.9406564584124654e-324\n1 1 1").matrix)(0, 0) == 1);
}

TEST_CASE("entries with which products overflow or lose digits are refused by their line, sums of duplicates too") {
  CHECK(error_of(general + "2 2 2\n1 1 1\n2 2 1e308\n") ==
        "4: the entry (2, 2) becomes 1e+308, and above 1e+290 products overflow; scale the matrix");
  CHECK(error_of(general + "% a\n2 2 4\n\n1 1 1e290\n2 2 1\n% b\n  \n1 1 -1\n1 1 1e290\n") ==
        "10: the entry (1, 1) becomes 2e+290, and above 1e+290 products overflow; scale the matrix");
  CHECK(error_of(general + "1 1 3\n1 1 1e308\n1 1 1e308\n1 1 -1e308\n")
            .starts_with("3: the entry (1, 1) becomes inf, and above"));
  CHECK(error_of(symmetric + "2 2 3\n2 2 1\n1 1 1\n2 1 -1e300\n")
            .starts_with("5: the entry (1, 2) becomes -1e+300, and above"));
  CHECK(error_of(general + "2 2 2\n1 1 1\n2 2 -1e-320\n") ==
        "4: row 2 has no entry above 1e-320, and below 1e-290 products lose digits; scale the matrix, or write 0");
  CHECK(error_of("%%MatrixMarket matrix array real general\n2 2\n1\n% b\n1e-300\n1\n-1e-299\n")
            .starts_with("7: row 2 has no entry above 1e-299, and below"));
}

TEST_CASE("defects of the header") {
  CHECK(error_of("") == "1: the file is empty");
  CHECK(error_of("\n\n") == "1: a Matrix Market file begins with " + right_header + ", not with ''");
  CHECK(error_of("5 5 1\n1 1 1\n") == "1: a Matrix Market file begins with " + right_header + ", not with '5 5 1'");
  CHECK(error_of("\x1f\x8b\x08\x08") == "1: the file is compressed; unpack it first, with gunzip or tar");
  CHECK(error_of(std::string("\x89HDF\r\n\x1a\n\0\0", 10)).starts_with("1: a Matrix Market file begins with "));
  CHECK(error_of(std::string("\x7f\0ELF\x02\n", 7)) ==
        "1: this is a binary file; a Matrix Market file is text and begins with " + right_header);
  CHECK(error_of("%%MatrixMarket matrix coordinate real\n") ==
        "1: the header has five words, " + right_header + ", not '%%MatrixMarket matrix coordinate real'");
  CHECK(error_of("%%MatrixMarket vector coordinate real general\n") == "1: the file holds a 'vector' and not a matrix");
  CHECK(error_of("%%MatrixMarket matrix sparse real general\n") ==
        "1: the third word of the header is coordinate or array, not 'sparse'");
  CHECK(error_of("%%MatrixMarket matrix coordinate float general\n") ==
        "1: the fourth word of the header is real, integer or pattern, not 'float'");
  CHECK(error_of("%%MatrixMarket matrix coordinate real upper\n") ==
        "1: the fifth word of the header is general, symmetric or skew-symmetric, not 'upper'");
  CHECK(error_of("%%MatrixMarket matrix coordinate Complex general\n") ==
        "1: the matrix is complex, and femcg has real matrices only");
  CHECK(error_of("%%MatrixMarket matrix coordinate real Hermitian\n") ==
        "1: the matrix is hermitian, and femcg has real matrices only; a real one is symmetric");
  CHECK(error_of("%%MatrixMarket matrix array pattern general\n") ==
        "1: an array has values: its field is real or integer, not pattern");
  CHECK(error_of("%%MatrixMarket matrix coordinate pattern skew-symmetric\n") ==
        "1: a pattern has no signs, so that it is general or symmetric, not skew-symmetric");
}

TEST_CASE("defects of the size line") {
  CHECK(error_of(general + "% only comments\n") ==
        "2: the file ends before the line with its size, 'rows columns entries'");
  CHECK(error_of(general + "%\n\n5 5\n") ==
        "4: the first line behind the comments is 'rows columns entries', not '5 5'");
  CHECK(error_of(general + "5 5 5 5\n") ==
        "2: the first line behind the comments is 'rows columns entries', not '5 5 5 5'");
  CHECK(error_of(general + "-5 5 1\n") == "2: the number of rows is a whole number from 0 on, not '-5'");
  CHECK(error_of(general + "5 5.0 1\n") == "2: the number of columns is a whole number from 0 on, not '5.0'");
  CHECK(error_of(general + "5 5 many\n") == "2: the number of entries is a whole number from 0 on, not 'many'");
  CHECK(error_of(general + "4 5 1\n") == "2: the matrix is 4 x 5, and femcg needs a square one");
  CHECK(error_of(general + "2147483648 2147483648 1\n") ==
        "2: '2147483648' rows are more than the 2147483647 that femcg can hold");
  CHECK(error_of(general + "1 1 99999999999999999999\n") ==
        "2: '99999999999999999999' entries are more than the 9223372036854775807 that femcg can hold");
}

TEST_CASE("defects of the entries") {
  const auto error = [](const std::string& entries) { return error_of(general + "3 3 2\n1 1 1\n" + entries); };
  CHECK(error("") ==
        "3: the file ends after 1 of the 2 entries that its size line promises: it is cut short, or the size line is "
        "wrong");
  CHECK(error("% two lines\n\n").starts_with("5: the file ends after 1 of the 2 entries"));
  CHECK(error("2 2 2\n\n3 3 3\n1 1 1\n") == "6: the size line promises 2 entries, and this is one more: '3 3 3'");
  CHECK(error("0 1 1\n") == "4: row 0 is outside of 1 to 3");
  CHECK(error("1 4 1\n") == "4: column 4 is outside of 1 to 3");
  CHECK(error("-1 4 1\n") == "4: row -1 is outside of 1 to 3");
  CHECK(error("99999999999999999999 4 1\n") == "4: row 99999999999999999999 is outside of 1 to 3");
  CHECK(error("1 x 1\n") == "4: 'x' is not a column, a whole number from 1 to 3");
  CHECK(error("1.5 1 1\n") == "4: '1.5' is not a row, a whole number from 1 to 3");
  CHECK(error("1 1 one\n") == "4: 'one' is not a number");
  CHECK(error("1 1 1,5\n") == "4: '1,5' is not a number");
  CHECK(error("1 1 --1\n") == "4: '--1' is not a number");
  CHECK(error("1 1 +-1\n") == "4: '+-1' is not a number");
  CHECK(error("1 1 +\n") == "4: '+' is not a number");
  CHECK(error("1 1 1.5D+03x\n") == "4: '1.5D+03x' is not a number");
  CHECK(error("1 1 nan\n") == "4: 'nan' is not a finite number");
  CHECK(error("1 1 -inf\n") == "4: '-inf' is not a finite number");
  CHECK(error("1 1 -1e400\n") == "4: '-1e400' is too large for double precision (1.8e308)");
  CHECK(error("1 1\n") == "4: a line of this file holds row, column and value, not '1 1'");
  CHECK(error("1 1") ==
        "4: a line of this file holds row, column and value, not '1 1', with which the file ends: it may be cut short");
  CHECK(error("1 1 1 0\n") == "4: a line of this file holds row, column and value, not '1 1 1 0'");
  CHECK(error("1 1 1 % why\n") == "4: a line of this file holds row, column and value, not '1 1 1 % why'");
  CHECK(error(std::string("1 1 \0\xff\n", 7)) == "4: '?\?' is not a number");
  CHECK(error("1 1 " + std::string(99, '7') + "x\n") == "4: '" + std::string(40, '7') + "...' is not a number");

  const std::string integer = "%%MatrixMarket matrix coordinate integer general\n2 2 1\n";
  CHECK(error_of(integer + "1 1 1.5\n") == "3: '1.5' is not an integer, as the header promises; change it to 'real'");
  CHECK(error_of(integer + "1 1 9223372036854775808\n") ==
        "3: '9223372036854775808' is too large for an integer of 64 bits");
  CHECK(error_of("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n") ==
        "3: a line of this file holds row and column, not '1 1 1'");
  CHECK(error_of(symmetric + "3 3 2\n1 1 1\n1 2 1\n") ==
        "4: entry (1, 2) is above the diagonal; a symmetric file holds those below, which imply it");
  CHECK(error_of("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 2 1\n") ==
        "3: entry (2, 2) is on the diagonal, which is 0 in a skew-symmetric matrix, but here 1");
}

TEST_CASE("Fortran's exponents are read, and zeros on the diagonal of a skew-symmetric matrix") {
  const MatrixFile skew =
      read_text("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 3\n1 1 0\n2 1 -1.5D+01\n2 2 0.0d0\n");
  CHECK(skew.matrix.nonzeros() == 4);
  CHECK(skew.matrix.values[1] == 15);
}

TEST_CASE("a size line that promises far more than the file holds costs nothing") {
  CHECK(error_of(general + "3 3 9000000000000000000\n1 1 1\n") ==
        "3: the file ends after 1 of the 9000000000000000000 entries that its size line promises: it is cut short, or "
        "the size line is wrong");
  CHECK(error_of("%%MatrixMarket matrix array real general\n2147483647 2147483647\n1\n")
            .starts_with("3: the file ends after 1 of the 4611686014132420609 entries"));
}

TEST_CASE("files that cannot be read") {
  CHECK_THROWS_WITH_AS(read_matrix_market(matrices / "nowhere.mtx"), "there is no such file", MatrixMarketError);
  CHECK_THROWS_WITH_AS(read_matrix_market(matrices), "this is a folder, not a file", MatrixMarketError);
}

TEST_CASE("a large file is the same to the bit on any number of threads, and its first error is found") {
  std::string text = large_text(3000, 400000, 11);  // 22000 duplicated places
  const MatrixFile first = [&] {
    const Threads one(1);
    return read_text(text);
  }();
  CHECK(well_formed(first.matrix));
  CHECK(first.matrix.nonzeros() < first.stored_entries);
  std::int64_t line = 200000;
  for (std::size_t at : {text.size() / 2, text.size() - text.size() / 5}) {
    at = text.find('\n', at) + 1;
    line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    text.insert(at, "1 1 q\n");
  }
  const std::int64_t first_defect =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find('q')), '\n') + 1;
  CHECK(first_defect < line);
  for (const int count : {1, 2, 3, 7}) {
    const Threads threads(count);
    const MatrixFile again = read_text(large_text(3000, 400000, 11));
    REQUIRE(again.matrix.nonzeros() == first.matrix.nonzeros());
    CHECK(std::memcmp(again.matrix.row_offsets.data(), first.matrix.row_offsets.data(),
                      first.matrix.row_offsets.bytes()) == 0);
    CHECK(std::memcmp(again.matrix.columns.data(), first.matrix.columns.data(), first.matrix.columns.bytes()) == 0);
    CHECK(std::memcmp(again.matrix.values.data(), first.matrix.values.data(), first.matrix.values.bytes()) == 0);
    CHECK(error_of(text) == fmt::format("{}: 'q' is not a number", first_defect));
  }
}

TEST_CASE("a random matrix is what Eigen reads") {
  const TextFile file(large_text(500, 20000, 3));
  // Eigen reads blank lines as entries.
  std::string text = content(file.path());
  for (std::size_t at = 0; (at = text.find("\n\n")) != std::string::npos;) text.erase(at, 1);
  const MatrixFile ours = read_text(text);
  const TextFile without_blank_lines(text);
  const Eigen::MatrixXd theirs = read_by_eigen(without_blank_lines.path());
  CHECK((dense(ours.matrix) - theirs).cwiseAbs().maxCoeff() < 1e-14);
}

TEST_CASE("lines are whole whatever the size of the blocks") {
  const TextFile file("one\n\nthree\r\nfour, which is long\nfive");
  for (std::int64_t block = 20; block < 45; ++block) {
    LineReader reader(file.path(), block);
    for (const std::string_view expected : {"one", "", "three\r", "four, which is long", "five"})
      CHECK(reader.next_line() == expected);
    CHECK(reader.line() == 5);
    CHECK_FALSE(reader.next_line().has_value());
    CHECK_FALSE(reader.next_line().has_value());
    CHECK(reader.next_block().empty());

    LineReader again(file.path(), block);
    CHECK(again.next_line() == "one");
    std::string rest;
    for (std::string_view lines = again.next_block(); !lines.empty(); lines = again.next_block()) rest += lines;
    CHECK(rest == "\nthree\r\nfour, which is long\nfive");
  }
  LineReader short_blocks(file.path(), 12);
  CHECK_THROWS_WITH_AS(while (short_blocks.next_line()){}, "4: this line does not end within 12 bytes",
                       MatrixMarketError);
}

TEST_CASE("whatever a file holds, it is read or refused in one sentence") {
  std::vector<std::string> sound;
  for (const char* file : {"free_format.mtx", "laplace.mtx", "skew.mtx", "integer.mtx"})
    sound.push_back(content(matrices / file));
  sound.push_back("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
  sound.push_back("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 2\n3 3\n3 1\n");
  const std::string likely = "0123456789+-.eE %\n\r\t";
  std::mt19937 random(2024);
  int read = 0, refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = sound[random() % sound.size()];
    for (unsigned change = random() % 4 + 1; change > 0 && !text.empty(); --change) {
      const std::size_t at = random() % text.size();
      const char byte = random() % 2 ? likely[random() % likely.size()] : static_cast<char>(random() % 256);
      switch (random() % 8) {
        case 0:
          text.resize(at);
          break;
        case 1:
          text.erase(at, 1);
          break;
        case 2:
          text.insert(at, 1, byte);
          break;
        case 3:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
          break;
        default:
          text[at] = byte;
      }
    }
    try {
      if (!well_formed(read_text(text).matrix)) FAIL_CHECK(text);
      ++read;
    } catch (const MatrixMarketError& error) {
      const std::string sentence = error.what();
      if (error.line() < 1 || sentence.find('\n') != std::string::npos) FAIL_CHECK(sentence);
      ++refused;
    }
  }
  CHECK(read > 200);
  CHECK(refused > 1000);
}

TEST_CASE("a matrix that is written and read has the same bits") {
  CsrMatrix<double> matrix;
  matrix.rows = 3;
  matrix.row_offsets = Vector<std::int64_t>(4);
  matrix.columns = Vector<std::int32_t>(7);
  matrix.values = Vector<double>(7);
  const std::vector<std::int64_t> offsets{0, 2, 5, 7};
  const std::vector<std::int32_t> columns{0, 1, 0, 1, 2, 1, 2};
  const std::vector<double> values{
      1.0 / 3, -1e-17, -1e-17, 2e20 / 7, -std::nextafter(1.0, 2.0), -std::nextafter(1.0, 2.0), 0.1};
  std::ranges::copy(offsets, matrix.row_offsets.data());
  std::ranges::copy(columns, matrix.columns.data());
  std::ranges::copy(values, matrix.values.data());
  std::ostringstream text;
  write_matrix_market(text, matrix);
  const MatrixFile read = read_text(text.str());
  CHECK(read.symmetry == MatrixSymmetry::symmetric);
  CHECK(read.stored_entries == 5);
  CHECK(std::ranges::equal(read.matrix.row_offsets.span(), offsets));
  CHECK(std::ranges::equal(read.matrix.columns.span(), columns));
  CHECK(std::ranges::equal(read.matrix.values.span(), values));

  const std::vector<double> b{1.0 / 3, -2}, c{0, std::nextafter(1.0, 2.0)};
  std::ostringstream both;
  write_matrix_market(both, std::vector<std::span<const double>>{b, c});
  const std::vector<double> by_rows{b[0], c[0], b[1], c[1]};
  CHECK(std::ranges::equal(read_text(both.str()).matrix.values.span(), by_rows));
}

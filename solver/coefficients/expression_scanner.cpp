#include "solver/coefficients/expression_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "solver/messages/sentence.hpp"

namespace femcg::solver {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_variable(std::string_view name) { return name == "x" || name == "y" || name == "z"; }

bool is_function(std::string_view name) {
  return std::ranges::any_of(function_definitions(), [&](const FunctionDefinition& f) { return f.name == name; });
}

std::vector<std::string> known_names() {
  std::vector<std::string> names{"x", "y", "z", "pi", "and", "or", "not"};
  for (const FunctionDefinition& definition : function_definitions()) names.emplace_back(definition.name);
  return names;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  ScannedExpression scan() {
    while (skip_blanks()) {
      if (is_digit(here()) || here() == '.')
        number();
      else if (is_letter(here()))
        name();
      else
        sign();
    }
    if (result_.tokens.empty()) throw std::invalid_argument("an expression is missing: the text is empty");
    if (!brackets_.empty())
      throw std::invalid_argument(
          fmt::format("the '(' at character {} is never closed", result_.positions[brackets_.back()]));
    return std::move(result_);
  }

 private:
  char here() const { return text_[at_]; }

  bool skip_blanks() {
    while (at_ < text_.size() && is_blank(here())) ++at_;
    return at_ < text_.size();
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw std::invalid_argument(fmt::format("{} at character {}", what, at_ + 1));
  }

  void take(std::size_t length) { take(length, std::string(text_.substr(at_, length))); }

  void take(std::size_t length, const std::string& token) {
    const bool call = token == "(" && !result_.tokens.empty() && is_function(result_.tokens.back());
    if (!result_.tokens.empty() && !call) result_.text += ' ';
    result_.starts.push_back(result_.text.size());
    result_.positions.push_back(at_ + 1);
    result_.tokens.push_back(token);
    result_.text += token;
    at_ += length;
  }

  /// Number of letters and digits from here on, after a first character.
  std::size_t word_length() const {
    std::size_t length = 1;
    while (at_ + length < text_.size() && (is_letter(text_[at_ + length]) || is_digit(text_[at_ + length]))) ++length;
    return length;
  }

  void refuse_not_finite() const {
    const std::string_view word = text_.substr(at_, word_length());
    if (const std::string_view what = not_finite_words(word); !what.empty())
      fail(fmt::format("{} is {}, and a value must be finite,", in_quotes(word), what));
  }

  void number() {
    refuse_not_finite();
    double value = 0;
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value, std::chars_format::general);
    const auto length = static_cast<std::size_t>(end - first);
    if (error == std::errc::result_out_of_range)
      fail("the number " + in_quotes(text_.substr(at_, length)) + " is out of the range of double precision");
    if (error != std::errc()) fail("a lone '.'");
    take(length);
  }

  void name() {
    refuse_not_finite();
    const std::size_t length = word_length();
    const std::string_view name = text_.substr(at_, length);
    if (name == "and") return take(length, "&&");
    if (name == "or") return take(length, "||");
    if (is_variable(name))
      result_.constant = false;
    else if (is_function(name)) {
      const std::size_t next = text_.find_first_not_of(" \t\n\r", at_ + length);
      if (next == std::string_view::npos || text_[next] != '(')
        fail("the function " + in_quotes(name) + " stands without its brackets");
    } else if (name != "pi" && name != negation_word) {
      throw std::invalid_argument(fmt::format("unknown name {} at character {}{}", in_quotes(name), at_ + 1,
                                              did_you_mean(name, known_names())));
    }
    take(length);
  }

  void sign() {
    static constexpr std::array<std::string_view, 6> pairs{"<=", ">=", "==", "!=", "&&", "||"};
    if (std::ranges::find(pairs, text_.substr(at_, 2)) != pairs.end()) return take(2);
    if (here() == '&' || here() == '|' || here() == '!')
      fail(fmt::format("'{}' has no meaning (conditions are combined by and, or, not)", here()));
    if (text_.substr(at_, 2) == "**") fail("'**' is not a power, which is written x^2 or pow(x, 2),");
    switch (here()) {
      case '(':
        return open();
      case ')':
        return close();
      case ',':
        return comma();
      case '=':
        fail("'=' assigns, which has no meaning here (to compare, write ==),");
      case '+':
      case '-':
      case '*':
      case '/':
      case '^':
      case '<':
      case '>':
      case '?':
      case ':':
        return take(1);
      default:
        fail(in_quotes(text_.substr(at_, character_length())) + " has no meaning");
    }
  }

  void open() {
    brackets_.push_back(result_.tokens.size());
    take(1);
  }

  void close() {
    if (brackets_.empty()) fail("a ')' without its '('");
    brackets_.pop_back();
    take(1);
  }

  void comma() {
    const bool inside_call =
        !brackets_.empty() && brackets_.back() > 0 && is_function(result_.tokens[brackets_.back() - 1]);
    if (!inside_call) fail("several values where one is meant (decimals take a point, not a comma): ','");
    take(1);
  }

  /// Number of bytes of the UTF-8 character here.
  std::size_t character_length() const {
    std::size_t length = 1;
    while (at_ + length < text_.size() && (static_cast<unsigned char>(text_[at_ + length]) & 0xC0) == 0x80) ++length;
    return length;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::size_t> brackets_;  // token numbers of the open brackets
  ScannedExpression result_;
};

}  // namespace

std::string_view not_finite_words(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('.')) text.remove_prefix(1);
  const std::string word = lower_case(text);
  if (word == "nan") return "not a number";
  return word == "inf" || word == "infinity" ? "infinity" : "";
}

ScannedExpression scan_expression(std::string_view text) { return Scanner(text).scan(); }

const std::vector<FunctionDefinition>& function_definitions() {
  using operators::PointOperation;
  static const std::vector<FunctionDefinition> definitions{
      {"sin", "sine of an angle in radians", +[](double a) { return std::sin(a); }, PointOperation::sine},
      {"cos", "cosine of an angle in radians", +[](double a) { return std::cos(a); }, PointOperation::cosine},
      {"tan", "tangent of an angle in radians", +[](double a) { return std::tan(a); }, PointOperation::tangent},
      {"asin", "inverse sine, -pi/2 to pi/2", +[](double a) { return std::asin(a); }, PointOperation::arc_sine},
      {"acos", "inverse cosine, 0 to pi", +[](double a) { return std::acos(a); }, PointOperation::arc_cosine},
      {"atan", "inverse tangent, -pi/2 to pi/2", +[](double a) { return std::atan(a); }, PointOperation::arc_tangent},
      {"atan2", "atan2(y, x): angle of the point (x, y), -pi to pi",
       +[](double a, double b) { return std::atan2(a, b); }, PointOperation::arc_tangent_2},
      {"sinh", "hyperbolic sine", +[](double a) { return std::sinh(a); }, PointOperation::hyperbolic_sine},
      {"cosh", "hyperbolic cosine", +[](double a) { return std::cosh(a); }, PointOperation::hyperbolic_cosine},
      {"tanh", "hyperbolic tangent", +[](double a) { return std::tanh(a); }, PointOperation::hyperbolic_tangent},
      {"exp", "exponential function", +[](double a) { return std::exp(a); }, PointOperation::exponential},
      {"log", "natural logarithm", +[](double a) { return std::log(a); }, PointOperation::logarithm},
      {"log2", "logarithm to base 2", +[](double a) { return std::log2(a); }, PointOperation::logarithm_2},
      {"log10", "logarithm to base 10", +[](double a) { return std::log10(a); }, PointOperation::logarithm_10},
      {"sqrt", "square root", +[](double a) { return std::sqrt(a); }, PointOperation::square_root},
      {"cbrt", "cube root", +[](double a) { return std::cbrt(a); }, PointOperation::cube_root},
      {"pow", "pow(a, b): a to the power b, as a^b", +[](double a, double b) { return std::pow(a, b); },
       PointOperation::power},
      {"hypot", "hypot(a, b): sqrt(a^2 + b^2)", +[](double a, double b) { return std::hypot(a, b); },
       PointOperation::hypotenuse},
      {"abs", "absolute value", +[](double a) { return std::abs(a); }, PointOperation::absolute},
      {"sign", "-1, 0 or 1", +[](double a) { return static_cast<double>((a > 0) - (a < 0)); }, PointOperation::sign},
      {"floor", "largest whole number that is not above", +[](double a) { return std::floor(a); },
       PointOperation::floor},
      {"ceil", "least whole number that is not below", +[](double a) { return std::ceil(a); }, PointOperation::ceiling},
      {"step", "0 below zero, else 1", +[](double a) { return a < 0 ? 0.0 : 1.0; }, PointOperation::step},
      {"if", "if(c, a, b): a where c is not 0, else b, as c ? a : b",
       +[](double c, double a, double b) { return c != 0 ? a : b; }, PointOperation::select},
      {"min", "least of one or more values", +[](const double* a, int n) { return *std::min_element(a, a + n); },
       PointOperation::least},
      {"max", "largest of one or more values", +[](const double* a, int n) { return *std::max_element(a, a + n); },
       PointOperation::greatest},
  };
  return definitions;
}

}  // namespace femcg::solver

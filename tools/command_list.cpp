#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "mesh/element/cell_shape.hpp"
#include "operators/catalogue.hpp"
#include "solver/coefficients/expression.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tools/commands.hpp"

namespace femcg::tools {

namespace {

using Row = std::vector<std::string>;

/// Left-aligned columns, two blanks apart.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string_view ingredient(operators::Needs needs) {
  switch (needs) {
    case operators::Needs::matrix:
      return "matrix";
    case operators::Needs::element_matrices:
      return "element matrices";
    case operators::Needs::form:
      return "mesh";
  }
  return "";
}

std::string options_text(std::span<const operators::OptionDescription> options) {
  std::string text;
  for (const operators::OptionDescription& option : options)
    text += fmt::format("{}{}: {} ({})", text.empty() ? "" : "; ", option.name, option.values, option.default_value);
  return text.empty() ? "-" : text;
}

std::vector<Row> operator_rows() {
  std::vector<Row> rows{{"name", "devices", "made from", "stores", "source", "options: values (default)"}};
  for (const operators::OperatorDescription& row : operators::catalogue()) {
    std::string devices = row.host() ? "cpu" : "";
    if (row.cuda) devices += devices.empty() ? "cuda" : " cuda";
    rows.push_back({std::string(row.name), devices, std::string(ingredient(row.needs)), std::string(row.stores),
                    std::string(row.source), options_text(row.options)});
  }
  return rows;
}

std::vector<Row> cell_rows() {
  std::vector<Row> rows{{"name", "dimension", "degree", "quadrature n", "dofs (source)"}};
  for (const mesh::CellShape shape : mesh::all_cell_shapes) {
    const bool tensor = mesh::is_tensor(shape);
    rows.push_back({std::string(mesh::name(shape)), fmt::format("{}", mesh::dimension(shape)),
                    fmt::format("1 to {}", mesh::max_degree),
                    tensor ? fmt::format("n^{} Gauss points", mesh::dimension(shape)) : "exact to degree 2(n - 1)",
                    tensor ? "Lagrange at Gauss-Lobatto points" : "Lagrange at recursive points (Isaac 2020)"});
  }
  return rows;
}

std::vector<Row> preconditioner_rows() {
  std::vector<Row> rows{{"name", "is", "source", "options: values (default)"}};
  for (const solver::PreconditionerDescription& known : solver::preconditioners())
    rows.push_back(
        {std::string(known.name), std::string(known.meaning), std::string(known.source), options_text(known.options)});
  return rows;
}

std::vector<Row> function_rows() {
  std::vector<Row> rows{{"name", "is"}};
  for (const solver::ExpressionFunction& function : solver::expression_functions())
    rows.push_back({function.name, function.meaning});
  rows.push_back({"x y z pi", "coordinates, and the circle's constant"});
  rows.push_back({"+ - * / ^", "-2^2 is -4, 2^3^2 is 2^(3^2)"});
  rows.push_back({"< <= == != >= >", "1 where it holds, else 0; join them with and (&&), or (||), not"});
  rows.push_back({"c ? a : b", "a where c is not 0, else b"});
  return rows;
}

struct Topic {
  std::string name;
  std::vector<Row> (*rows)();
};

const std::vector<Topic>& topics() {
  static const std::vector<Topic> list{{"operators", operator_rows},
                                       {"cells", cell_rows},
                                       {"preconditioners", preconditioner_rows},
                                       {"functions", function_rows}};
  return list;
}

}  // namespace

const std::vector<std::string>& list_topics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> of_topics;
    for (const Topic& topic : topics()) of_topics.push_back(topic.name);
    return of_topics;
  }();
  return names;
}

std::string list(const std::string& wanted) {
  std::string text;
  for (const Topic& topic : topics()) {
    if (topic.name == wanted) return table(topic.rows());
    text += fmt::format("{}{}\n\n{}", text.empty() ? "" : "\n", topic.name, table(topic.rows()));
  }
  if (wanted.empty()) return text;
  throw solver::InputError("unknown topic " + solver::in_quotes(wanted) + solver::did_you_mean(wanted, list_topics()));
}

}  // namespace femcg::tools

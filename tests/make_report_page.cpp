// Reads records from standard input and writes the report page of femcg compare to standard output, for
// tests/test_report.py.
#include <iostream>
#include <iterator>

#include "solver/report/report_page.hpp"

int main() {
  if (!femcg::solver::has_report_page()) {
    std::cerr << femcg::solver::report_page_stub() << '\n';
    return 1;
  }
  const std::string json{std::istreambuf_iterator<char>(std::cin), {}};
  std::cout << femcg::solver::report_page(json);
}

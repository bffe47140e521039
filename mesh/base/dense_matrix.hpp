#pragma once

// Eigen's dense matrix by name alone, for headers that many files include and that only pass it on: whoever includes
// Eigen takes two seconds more to compile.

namespace Eigen {
template <typename Scalar, int Rows, int Columns, int Options, int MostRows, int MostColumns>
class Matrix;
}

namespace femcg::mesh {

using DenseMatrix = Eigen::Matrix<double, -1, -1, 0, -1, -1>;  ///< Eigen::MatrixXd

}  // namespace femcg::mesh

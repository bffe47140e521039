#pragma once

// Forward declaration of Eigen's dense matrix, for headers that many files include and that only pass the type on:
// including Eigen adds two seconds to a compilation.

namespace Eigen {
template <typename Scalar, int Rows, int Columns, int Options, int MostRows, int MostColumns>
class Matrix;
}

namespace femcg::mesh {

using DenseMatrix = Eigen::Matrix<double, -1, -1, 0, -1, -1>;  ///< Eigen::MatrixXd

}  // namespace femcg::mesh

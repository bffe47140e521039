#pragma once

// Common parts of formats that store the entries of a matrix in a layout of their own: a format gives its arrays and
// the positions of entries, from which memory, estimates, conversion and the operator follow.
//
//   template <std::floating_point T> struct MyFormat {
//     MyFormat(const CsrMatrix<T>& matrix, Device device, const Options& given);  // lists on the host, no entries
//     static void arrays(auto& self, auto&& visit);   // visit(name, vector, size) for every array that it holds
//     void move_entries(const Entries<T>& from, auto&& move);   // move(threads, map, columns, values)
//     std::int64_t read_bytes(Device device) const;   // of its arrays, by one product
//     std::int32_t rows;  std::int64_t nonzeros, entries;       // entries: with padding
//     static constexpr std::string_view name;                   // of the operator
//     std::map<std::string, std::string> chosen() const;
//     auto work() const;                              // on the host: the work before a row, see parallel_rows.hpp
//     double multiply_rows(const T* x, T* y, std::int64_t first, std::int64_t last, bool with_energy) const;
//     ByRows by_rows() const;                         // for several vectors, see columns_by_rows.hpp
//   };
//
// The constructor uses the lengths of rows only, so that an estimate can be made before the matrix exists.

#include <algorithm>
#include <concepts>
#include <map>
#include <string>
#include <string_view>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/catalogue.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/common/multi_vector_by_rows.hpp"
#include "operators/stored/common/stored_diagonal.hpp"
#include "operators/stored/common/stored_footprint.hpp"

namespace femcg::operators {

/// The entries of a matrix in compressed rows, as plain pointers.
template <class T>
struct Entries {
  std::int64_t rows;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;

  constexpr std::int64_t length(std::int64_t row) const { return row < rows ? offsets[row + 1] - offsets[row] : 0; }
  /// Index of entry k of a row; behind the row's end the complement of the index of its last entry, or of a neighbour's
  /// if it has none. Rows beyond the last are empty. The matrix must have an entry.
  constexpr std::int64_t place(std::int64_t row, std::int64_t k) const {
    const std::int64_t end = offsets[row < rows ? row + 1 : rows], at = (row < rows ? offsets[row] : end) + k;
    return at < end ? at : ~(end > 0 ? end - 1 : 0);
  }
};

template <std::floating_point T>
Entries<T> entries_of(const CsrMatrix<T>& matrix) {
  return {matrix.rows, matrix.row_offsets.data(), matrix.columns.data(), matrix.values.data()};
}

/// Calls move(from, to) for each entry that `threads` threads move, see below.
template <class Map, class Move>
void for_moves_on_host(std::int64_t threads, const Map& map, const Move& move) {
  for_row_blocks(threads, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    std::int64_t most = 0;
    for (std::int64_t thread = first; thread < last; ++thread) most = std::max(most, map.count(thread));
    for (std::int64_t k = 0; k < most; ++k)
      for (std::int64_t thread = first; thread < last; ++thread)
        if (k < map.count(thread)) move(map.from(thread, k), map.to(thread, k));
  });
}

/// Moves entries on the host, as `threads` threads would: entry k of a thread, k < count(thread), to a new index. `Map`
/// is
/// plain data with constexpr functions
///   std::int64_t count(std::int64_t thread) const;
///   std::int64_t from(std::int64_t thread, std::int64_t k) const;
///   std::int64_t to(std::int64_t thread, std::int64_t k) const;
/// If `from` is the complement of an index, the entry is padding, with that entry's column and value 0. A block of rows
/// is moved by the thread that multiplies it, so that its pages are placed by first touch.
template <class Map, std::floating_point T>
void move_on_host(std::int64_t threads, const Map& map, const Entries<T>& source, Vector<std::int32_t>& columns,
                  Vector<T>& values) {
  for_moves_on_host(threads, map, [&](std::int64_t from, std::int64_t to) {
    columns[to] = source.columns[from < 0 ? ~from : from];
    values[to] = from < 0 ? T(0) : source.values[from];
  });
}
/// The same for a format that stores columns in another way.
template <class Map, std::floating_point T>
void move_values_on_host(std::int64_t threads, const Map& map, const Entries<T>& source, Vector<T>& values) {
  for_moves_on_host(threads, map,
                    [&](std::int64_t from, std::int64_t to) { values[to] = from < 0 ? T(0) : source.values[from]; });
}

/// The arrays of a format, for allocation and for estimates.
template <class Format>
std::vector<StoredArray> arrays_of(const Format& format) {
  std::vector<StoredArray> arrays;
  Format::arrays(format, [&](std::string_view name, const auto& vector, std::int64_t size) {
    arrays.push_back({std::string(name), size, size * static_cast<std::int64_t>(sizeof *vector.data())});
  });
  return arrays;
}

/// Copies a format's lists from the host to a device, and allocates the arrays that are still empty there.
template <class Format>
void allocate_on(Format& format, Device device) {
  Format::arrays(format, [&](std::string_view, auto& vector, std::int64_t size) {
    using Array = std::remove_reference_t<decltype(vector)>;
    if (vector.size() != size)
      vector = Array(size, device);
    else if (device != Device::host)
      vector = copied(vector, device);
  });
}

template <class Format>
Footprint footprint_of(const Format& format, Device device) {
  return stored_footprint<typename Format::Value>(format.rows, format.nonzeros, format.entries,
                                                  total_bytes(arrays_of(format)), format.read_bytes(device));
}

/// Base of a stored format's operators on either device.
template <class Format>
class StoredOperator : public Operator<typename Format::Value> {
 public:
  using T = typename Format::Value;

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  std::map<std::string, std::string> chosen() const override { return format_.chosen(); }
  Footprint footprint() const override { return footprint_of(format_, this->device()); }

 protected:
  /// `format` has its lists; the derived class moves its entries.
  StoredOperator(Format format, const CsrMatrix<T>& matrix, Device device)
      : Operator<T>(matrix.rows, device), format_(std::move(format)), diagonal_(diagonal_of(matrix)) {
    allocate_on(format_, device);
  }
  Format& format() { return format_; }
  const Format& format() const { return format_; }

 private:
  Format format_;
  Vector<T> diagonal_;  ///< on the host
};

template <class Format>
class StoredOnHost final : public StoredOperator<Format> {
 public:
  using T = typename Format::Value;

  StoredOnHost(Format format, const CsrMatrix<T>& matrix)
      : StoredOperator<Format>(std::move(format), matrix, Device::host) {
    const Entries<T> source = entries_of(matrix);
    this->format().move_entries(source, [&](std::int64_t threads, const auto& map, auto& columns, auto& values) {
      move_on_host(threads, map, source, columns, values);
    });
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const Format& a = this->format();
    const auto rows_times_vector = [&](std::int64_t first, std::int64_t last) {
      return a.multiply_rows(x.data(), y.data(), first, last, energy != nullptr);
    };
    const double sum = a.rows > 0 ? sum_over_row_blocks(a.rows, a.work(), rows_times_vector) : 0.0;
    if (energy != nullptr) *energy->data() = sum;
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    multiply_multi_vector_by_rows(this->format().by_rows(), this->format().work(), x, y, energies);
  }
};

}  // namespace femcg::operators

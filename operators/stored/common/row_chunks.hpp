#pragma once

// A stored matrix in chunks of rows, each in a memory block of its own: a chunk is a matrix of the format with fewer
// rows, and columns of the whole. All functions run on the host; the user of the chunks places their memory.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "operators/stored/assembled/value_words.hpp"
#include "operators/stored/common/residence.hpp"
#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators {

/// Rows [first, last) of a matrix, and the bytes they take.
struct RowRange {
  std::int32_t first = 0, last = 0;
  std::int64_t bytes = 0;
  bool on_gpu = false;  ///< stays there
};

/// Plan of a matrix in chunks: bytes that stay on the GPU, and buffers for the others.
struct ChunkPlan {
  std::int64_t gpu_bytes = 0;     ///< of the chunks that stay
  std::int64_t host_bytes = 0;    ///< of the others, which are copied in each product
  std::int64_t buffer_bytes = 0;  ///< of each buffer for copies; 0 without buffers
  std::int64_t largest = 0;       ///< bytes of a chunk
};

/// Budget of a matrix on the GPU: `bytes` for chunks and buffers together.
struct ChunkBudget {
  std::int64_t bytes;
  std::int64_t least_streamed;  ///< least number of streamed chunks, even if they would fit
  bool is_asked_for = false;    ///< true if it is option gpu_memory
};
/// Number of buffers: two suffice, as a copy takes much longer than the product with a chunk.
constexpr int chunk_buffers = 2;

/// The budget from the options, less `reserved` bytes. If rows are to be streamed, at least as many chunks as buffers
/// are.
ChunkBudget chunk_budget(const Residence& residence, std::int64_t reserved);

/// Bytes of a chunk: small enough that two buffers are a sixteenth of the budget and a matrix has eight chunks; large
/// enough for the link, as a copy takes some microseconds to start.
std::int64_t chunk_target(const ChunkBudget& budget, std::int64_t matrix_bytes);

/// Ranges of rows of about `target` bytes, by bytes_before(row), the bytes of the rows before; multiples of 256 rows,
/// so that chunks begin where warps, slices and the like do.
constexpr std::int32_t chunk_row_multiple = 256;
template <class BytesBefore>
std::vector<RowRange> cut_rows(std::int32_t rows, std::int64_t target, const BytesBefore& bytes_before) {
  std::vector<RowRange> ranges;
  for (std::int32_t first = 0; first < rows;) {
    std::int64_t low = 1, high = (std::int64_t{rows} - first + chunk_row_multiple - 1) / chunk_row_multiple;
    while (low < high) {  // the most multiples within the target
      const std::int64_t middle = (low + high + 1) / 2;
      const std::int64_t end = std::min<std::int64_t>(rows, first + middle * chunk_row_multiple);
      if (bytes_before(end) - bytes_before(first) <= target)
        low = middle;
      else
        high = middle - 1;
    }
    const auto last = static_cast<std::int32_t>(std::min<std::int64_t>(rows, first + low * chunk_row_multiple));
    ranges.push_back({first, last});
    first = last;
  }
  return ranges;
}

/// Marks the chunks that stay on the GPU: the first ones, as many as fit besides the buffers. Throws OutOfMemory if the
/// buffers do not fit, or std::invalid_argument if the budget is the user's. If all chunks are empty, all stay.
ChunkPlan place_chunks(std::vector<RowRange>& chunks, const ChunkBudget& budget);

/// Row offsets of the rows [range) of a matrix, without entries.
template <std::floating_point T>
CsrMatrix<T> lengths_of_rows(const CsrMatrix<T>& matrix, const RowRange& range) {
  CsrMatrix<T> rows;
  rows.rows = range.last - range.first;
  rows.row_offsets = Vector<std::int64_t>(rows.rows + std::int64_t{1});
  const std::int64_t begin = matrix.row_offsets[range.first];
  for (std::int32_t row = 0; row <= rows.rows; ++row)
    rows.row_offsets[row] = matrix.row_offsets[range.first + row] - begin;
  return rows;
}

/// Row offsets of a matrix, without entries, as a matrix of another precision.
template <std::floating_point To, std::floating_point From>
CsrMatrix<To> lengths_in(const CsrMatrix<From>& matrix) {
  CsrMatrix<To> rows;
  rows.rows = matrix.rows;
  rows.row_offsets = copied(matrix.row_offsets, Device::host);
  return rows;
}

/// Alignment in bytes of the arrays of a format, which are contiguous.
constexpr std::int64_t array_alignment = 256;
template <class Format>
std::int64_t bytes_of_layout(const Format& format) {
  std::int64_t bytes = 0;
  for (const StoredArray& array : arrays_of(format))
    bytes += (array.bytes + array_alignment - 1) / array_alignment * array_alignment;
  return bytes;
}

/// Places the arrays of a format in memory of a device, of bytes_of_layout; with `with_lists` copies its lists there.
template <class Format>
void place_arrays(Format& format, char* memory, Device device, bool with_lists) {
  Format::arrays(format, [&](std::string_view, auto& vector, std::int64_t size) {
    using Array = std::remove_reference_t<decltype(vector)>;
    using Number = std::remove_reference_t<decltype(*vector.data())>;
    auto* const place = reinterpret_cast<Number*>(memory);
    const std::int64_t bytes = size * static_cast<std::int64_t>(sizeof(Number));
    if (with_lists && vector.size() == size) std::copy_n(vector.data(), size, place);
    memory += (bytes + array_alignment - 1) / array_alignment * array_alignment;
    vector = Array(place, size, device);
  });
}

/// The options for every chunk of a matrix: what a format would choose by the rows that it is given is chosen once by
/// all rows.
template <class Format>
Options options_of_chunks(const CsrMatrix<typename Format::Value>& matrix, const Options& given) {
  if constexpr (requires { Format::options_of_chunks(matrix, given); })
    return Format::options_of_chunks(matrix, given);
  else
    return given;
}

/// The chunks of a matrix. Besides the functions of stored_format.hpp a format may have
///   static Options options_of_chunks(const CsrMatrix<Value>&, const Options&);   // see above
///   void look_at(const Entries<Value>&, std::int32_t columns);  // its arrays may get smaller once columns are known
///   void fill(const Entries<Value>&);               // in the place of move_entries, on the host
template <class Format>
class RowChunks {
 public:
  using T = typename Format::Value;

  /// Makes the lists, as far as row lengths determine them.
  RowChunks(const CsrMatrix<T>& matrix, const Options& given, const ChunkBudget& budget)
      : matrix_(matrix), budget_(budget), given_(operators::options_of_chunks<Format>(matrix, given)) {
    const auto bytes_before = [&](std::int64_t row) {
      return matrix.row_offsets[row] * std::int64_t{sizeof(T) + sizeof(std::int32_t)} + row * std::int64_t{8};
    };
    const std::int64_t target = chunk_target(budget, bytes_before(matrix.rows));
    for (const RowRange& range : cut_rows(matrix.rows, target, bytes_before)) add(range, target);
    plan_ = place_chunks(ranges_, budget_);
  }

  /// Inspects the entries, and plans again if chunks become smaller.
  void look_at_entries() {
    if constexpr (requires(Format & format, const Entries<T>& entries) { format.look_at(entries, 0); }) {
      for (std::size_t i = 0; i < formats_.size(); ++i) {
        const CsrMatrix<T> lengths = lengths_of_rows(matrix_, ranges_[i]);
        formats_[i].look_at(entries(ranges_[i], lengths), matrix_.rows);
        ranges_[i].bytes = bytes_of_layout(formats_[i]);
      }
      plan_ = place_chunks(ranges_, budget_);
    }
  }

  /// Places chunk i in host memory, and moves its entries there.
  void fill(std::size_t i, char* memory) {
    Format& format = formats_[i];
    const CsrMatrix<T> lengths = lengths_of_rows(matrix_, ranges_[i]);
    const Entries<T> source = entries(ranges_[i], lengths);
    place_arrays(format, memory, Device::host, true);
    if constexpr (requires { format.fill(source); })
      format.fill(source);
    else
      format.move_entries(source, [&](std::int64_t threads, const auto& map, auto& columns, auto& values) {
        move_on_host(threads, map, source, columns, values);
      });
  }
  /// Places chunk i, once filled, in a copy of that memory.
  void place(std::size_t i, char* memory, Device device) { place_arrays(formats_[i], memory, device, false); }

  std::size_t count() const { return ranges_.size(); }
  const RowRange& range(std::size_t i) const { return ranges_[i]; }
  const Format& format(std::size_t i) const { return formats_[i]; }
  const ChunkPlan& plan() const { return plan_; }
  std::size_t streamed() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(ranges_, [](const RowRange& range) { return !range.on_gpu; }));
  }

 private:
  Entries<T> entries(const RowRange& range, const CsrMatrix<T>& lengths) const {
    const std::int64_t begin = matrix_.row_offsets[range.first];
    return {lengths.rows, lengths.row_offsets.data(), matrix_.columns.data() + begin, matrix_.values.data() + begin};
  }
  /// Adds a chunk, or halves of it if padding makes it too large.
  void add(const RowRange& range, std::int64_t target) {
    Format format(lengths_of_rows(matrix_, range), Device::cuda, given_);
    const std::int64_t bytes = bytes_of_layout(format), multiples = (range.last - range.first) / chunk_row_multiple;
    if (bytes <= target + target / 4 || multiples < 2) {
      ranges_.push_back({range.first, range.last, bytes});
      formats_.push_back(std::move(format));
      return;
    }
    const auto middle = static_cast<std::int32_t>(range.first + multiples / 2 * chunk_row_multiple);
    add({range.first, middle}, target);
    add({middle, range.last}, target);
  }

  const CsrMatrix<T>& matrix_;  ///< needed until all chunks are filled
  ChunkBudget budget_;
  Options given_;
  std::vector<RowRange> ranges_;
  std::vector<Format> formats_;
  ChunkPlan plan_;
};

/// Storage estimate of the chunks.
template <class Format>
StorageEstimate estimate_of(const RowChunks<Format>& chunks) {
  const ChunkPlan& plan = chunks.plan();
  StorageEstimate estimate;
  estimate.arrays = {
      {"chunks on the GPU", static_cast<std::int64_t>(chunks.count() - chunks.streamed()), plan.gpu_bytes}};
  if (plan.buffer_bytes > 0) estimate.arrays.push_back({"buffers", chunk_buffers, chunk_buffers * plan.buffer_bytes});
  estimate.on_host = plan.host_bytes;
  estimate.in_chunks = true;
  estimate.making_on_host = plan.gpu_bytes > 0 ? plan.largest : 0;
  return estimate;
}

/// Footprint of the chunks: stored bytes by location, and bytes moved. x and y are of type U; values may be narrower.
template <std::floating_point U, class Format>
Footprint footprint_of(const RowChunks<Format>& chunks, std::int32_t rows) {
  using Value = typename Format::Value;
  const StorageEstimate bytes = estimate_of(chunks);
  std::int64_t nonzeros = 0, entries = 0, read = 0;
  for (std::size_t i = 0; i < chunks.count(); ++i) {
    nonzeros += chunks.format(i).nonzeros;
    entries += chunks.format(i).entries;
    read += chunks.format(i).read_bytes(Device::cuda);
  }
  Footprint footprint = stored_footprint<Value>(rows, nonzeros, entries, bytes.stored() + bytes.on_host, read);
  footprint.host_bytes = footprint.link_bytes = bytes.on_host;
  return with_vectors_of<U, Value>(footprint, rows);
}

/// Properties of the chunks for Operator::chosen.
template <class Format>
std::map<std::string, std::string> chosen_of(const RowChunks<Format>& chunks) {
  std::map<std::string, std::string> chosen = chunks.format(0).chosen();
  for (std::size_t i = 1; i < chunks.count(); ++i)
    for (const auto& [option, value] : chunks.format(i).chosen())
      if (chosen[option] != value) chosen[option] = "by chunk";
  chosen["resident"] = chunks.streamed() > 0 ? "streamed" : "all";
  chosen["chunks"] = std::to_string(chunks.count());
  chosen["chunks on the GPU"] = std::to_string(chunks.count() - chunks.streamed());
  return chosen;
}

}  // namespace femcg::operators

#pragma once

// The operator of a stored format on the GPU with a matrix in chunks (row_chunks.hpp): chunks that fit stay on the GPU;
// the others are copied from page-locked host memory in each product, into the buffer that the last chunk but one has
// left, while the previous chunk is multiplied (Ortega et al. 2013). The first copies run concurrently with the
// products of the chunks that stay.
//
// A chunk's kernels are the format's own, with the whole of x and the chunk's part of y. x'Ax takes a kernel of its own
// over x and y, two words a row, in a fixed order for any chunks, since the kernels of a chunk know its rows only.
//
// Moves the streamed chunks over the host's link, sizeof(T) + 2 or 4 bytes per nonzero and a few per row, and 2
// sizeof(T) a row for x'Ax in the GPU's memory, besides what the format moves there.

#include <cassert>

#include "operators/backend/cuda/chunk_copies.cuh"
#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/stored/common/row_chunks.hpp"
#include "operators/stored/common/stored_diagonal.hpp"

namespace femcg::operators::cuda {

/// T: of the vectors. `Launches` is made from one chunk's format while its lists are on the host, and has
///   void multiply(const Format&, const Vector<T>& x, Vector<T>& y) const;            // y of the format's rows
///   void multiply_columns(const Format&, const Columns<T>& x, Columns<T>& y) const;
template <std::floating_point T, class Format, class Launches>
class ChunkedOnGpu final : public Operator<T> {
 public:
  using Value = typename Format::Value;
  static_assert(ChunkCopies::buffers == chunk_buffers);

  /// For a matrix with rows. Throws OutOfMemory if GPU and host have no room for it.
  ChunkedOnGpu(const CsrMatrix<Value>& matrix, Vector<T> diagonal, const Options& given, const ChunkBudget& budget)
      : Operator<T>(matrix.rows, Device::cuda), diagonal_(std::move(diagonal)), chunks_(matrix, given, budget) {
    vector_kernels<T>(Device::cuda);  // for x'Ax: must be made outside of CUDA graphs
    chunks_.look_at_entries();
    const ChunkPlan& plan = chunks_.plan();
    launches_.emplace(chunks_.format(0));
    staying_ = Vector<char>(plan.gpu_bytes, Device::cuda);
    if (plan.buffer_bytes > 0) copies_ = std::make_unique<ChunkCopies>(plan.buffer_bytes);
    fill();
    footprint_ = footprint_of<T>(chunks_, matrix.rows);
    chosen_ = chosen_of(chunks_);
  }

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  bool runs_concurrently() const override { return false; }
  std::map<std::string, std::string> chosen() const override { return chosen_; }
  Footprint footprint() const override { return footprint_; }

 private:
  void fill() {
    Vector<char> on_host(chunks_.plan().gpu_bytes > 0 ? chunks_.plan().largest : 0);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < chunks_.count(); ++i) {
      const RowRange& range = chunks_.range(i);
      if (range.on_gpu) {
        chunks_.fill(i, on_host.data());
        copy_bytes(on_host.data(), Device::host, staying_.data() + at, Device::cuda, range.bytes);
        chunks_.place(i, staying_.data() + at, Device::cuda);
        at += range.bytes;
      } else {
        PageLocked& memory = streamed_.emplace_back(range.bytes);
        chunks_.fill(i, memory.data());
        chunks_.place(i, copies_->buffer(std::ssize(streamed_) - 1), Device::cuda);
      }
    }
  }

  /// Calls multiply(format, range) for every chunk once it is in the GPU's memory, those that stay first.
  template <class Multiply>
  void for_chunks(const Multiply& multiply) const {
    const std::int64_t streamed = std::ssize(streamed_),
                       staying = static_cast<std::int64_t>(chunks_.count()) - streamed;
    const auto send = [&](std::int64_t chunk) {
      if (chunk < streamed)
        copies_->send(chunk, streamed_[static_cast<std::size_t>(chunk)].data(),
                      chunks_.range(static_cast<std::size_t>(staying + chunk)).bytes);
    };
    if (streamed > 0) copies_->begin();
    for (std::int64_t chunk = 0; chunk < ChunkCopies::buffers; ++chunk) send(chunk);
    for (std::int64_t i = 0; i < staying; ++i)
      multiply(chunks_.format(static_cast<std::size_t>(i)), chunks_.range(static_cast<std::size_t>(i)));
    for (std::int64_t chunk = 0; chunk < streamed; ++chunk) {
      copies_->await(chunk);
      const auto i = static_cast<std::size_t>(staying + chunk);
      multiply(chunks_.format(i), chunks_.range(i));
      copies_->release(chunk);
      send(chunk + ChunkCopies::buffers);
    }
  }

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    for_chunks([&](const Format& format, const RowRange& range) {
      Vector<T> of_chunk(y.data() + range.first, range.last - range.first, Device::cuda);
      launches_->multiply(format, x, of_chunk);
    });
    if (energy != nullptr) vector_kernels<T>(Device::cuda).dot(x, y, *energy);
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    for_chunks([&](const Format& format, const RowRange& range) {
      Vector<T> entries(y.data() + std::int64_t{range.first} * y.stride(),
                        std::int64_t{range.last - range.first} * y.stride(), Device::cuda);
      MultiVector<T> of_chunk(std::move(entries), y.count());
      launches_->multiply_multi_vector(format, x, of_chunk);
    });
    if (energies == nullptr) return;
    MultiScalar results(energies, y.stride(), Device::cuda);
    multi_vector_kernels<T>(Device::cuda).dot(x, y, results);
  }

  Vector<T> diagonal_;  ///< on the host
  RowChunks<Format> chunks_;
  std::optional<Launches> launches_;
  Vector<char> staying_;
  std::vector<PageLocked> streamed_;     ///< the chunks that do not stay, in order
  std::unique_ptr<ChunkCopies> copies_;  ///< destroyed first: waits for its copies from streamed_
  Footprint footprint_;
  std::map<std::string, std::string> chosen_;
};

}  // namespace femcg::operators::cuda

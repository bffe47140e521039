// The persistent kernel of persistent_rows.cu with rows distributed over processes: the data that each kernel needs of
// the others.

#include "operators/distributed/gpu/gpu_persistent_cg.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/distributed/gpu/peer_memory.cuh"
#include "operators/persistent/persistent_rows.cuh"

namespace femcg::operators {

namespace {

using cuda::MultiGpuReduction;
using cuda::PersistentPeers;
using cuda::SentEntry;
using cuda::SentRange;
using cuda::TaggedValue;

/// The rows of a process on its GPU, in the order of its vectors.
template <class T>
struct DividedRows {
  using Value = T;
  std::int32_t rows, entries_of_u;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;

  struct Row {
    std::int64_t begin;
    std::int32_t count, number;
  };
  __device__ Row find(std::int32_t row) const {
    return {offsets[row], static_cast<std::int32_t>(offsets[row + 1] - offsets[row]), row};
  }
  __device__ std::int32_t column(const Row& row, std::int32_t k) const { return columns[row.begin + k]; }
  __device__ T value(const Row& row, std::int32_t k) const { return values[row.begin + k]; }
};

/// The rows and columns of a matrix in the order of the vectors.
template <class T>
CsrMatrix<T> in_ordering(const CsrMatrix<T>& matrix, std::span<const std::int32_t> ordering,
                         std::span<const std::int32_t> places) {
  CsrMatrix<T> ordered;
  ordered.rows = matrix.rows;
  ordered.row_offsets = Vector<std::int64_t>(matrix.row_offsets.size());
  ordered.columns = Vector<std::int32_t>(matrix.columns.size());
  ordered.values = Vector<T>(matrix.values.size());
  ordered.row_offsets[0] = 0;
  const auto row_at = [&](std::int32_t entry) { return ordering.empty() ? entry : ordering[entry]; };
  for (std::int32_t entry = 0; entry < matrix.rows; ++entry)
    ordered.row_offsets[entry + 1] =
        ordered.row_offsets[entry] + matrix.row_offsets[row_at(entry) + 1] - matrix.row_offsets[row_at(entry)];
  for_each_row(matrix.rows, [&](std::int64_t i) {
    const std::int32_t row = row_at(static_cast<std::int32_t>(i));
    std::int64_t at = ordered.row_offsets[i];
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k, ++at) {
      const std::int32_t column = matrix.columns[k];
      ordered.columns[at] = column < matrix.rows ? places[column] : column;
      ordered.values[at] = matrix.values[k];
    }
  });
  return ordered;
}

/// Entries that another process needs of this one, for its halo buffer from index `to` on.
struct Request {
  int process;
  std::int32_t to;
  std::vector<std::int32_t> entries;
};

template <class T>
std::vector<Request> requests(const Communicator& communicator, const CompleteRows<T>& rows,
                              std::span<const std::int32_t> places) {
  std::vector<int> ranks;
  std::vector<std::vector<std::int64_t>> wanted;  // first index in the halo buffer, then global indices
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (rank == communicator.rank()) continue;
    ranks.push_back(rank);
    const auto begin = std::ranges::lower_bound(rows.ghosts, rows.firsts[rank]),
               end = std::ranges::lower_bound(rows.ghosts, rows.firsts[rank + 1]);
    wanted.push_back({begin - rows.ghosts.begin()});
    wanted.back().insert(wanted.back().end(), begin, end);
  }
  const auto theirs = communicator.exchanged(std::span<const int>(ranks), wanted);
  std::vector<Request> found;
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    Request& request =
        found.emplace_back(ranks[k], static_cast<std::int32_t>(theirs[k].front()), std::vector<std::int32_t>());
    for (std::size_t i = 1; i < theirs[k].size(); ++i)
      request.entries.push_back(places[rows.unknowns[theirs[k][i] - rows.firsts[communicator.rank()]]]);
  }
  return found;
}

template <std::floating_point T>
class GpuLoop final : public PersistentCg<T> {
 public:
  GpuLoop(const Communicator& communicator, const IndexMap& map, const CompleteRows<T>& rows,
          std::span<const std::int32_t> ordering, GpuExchange<T>& exchange)
      : communicator_(communicator),
        exchange_(exchange),
        first_shared_(map.first_shared),
        own_shared_(map.owned - map.first_shared),
        shared_(zeros_on_gpu<T>(map.size() - map.first_shared)) {
    std::vector<std::int32_t> places(static_cast<std::size_t>(map.owned));
    for (std::int32_t entry = 0; entry < map.owned; ++entry) places[ordering.empty() ? entry : ordering[entry]] = entry;
    const CsrMatrix<T> ordered = in_ordering(rows.matrix, ordering, places);
    const Vector<std::int64_t> offsets = copied(ordered.row_offsets, Device::cuda);
    const Vector<std::int32_t> columns = copied(ordered.columns, Device::cuda);
    const Vector<T> values = copied(ordered.values, Device::cuda);
    const DividedRows<T> on_gpu{map.owned, map.owned + static_cast<std::int32_t>(rows.ghosts.size()), offsets.data(),
                                columns.data(), values.data()};
    cuda::RowsOfBlocks of_blocks = cuda::lay_out<T>(on_gpu, places);
    if (communicator.sum(of_blocks.windowed ? 0.0 : 1.0) > 0) return;
    auto packed = cuda::pack_rows<std::uint16_t, T>(on_gpu, of_blocks.layout, of_blocks.order);
    share_memory(packed.blocks, std::ssize(rows.ghosts));
    if (communicator.sum(opened_ ? 0.0 : 1.0) > 0) return;
    peers_.owned = map.owned;
    list_sent(requests(communicator, rows, places), of_blocks.layout, copied(packed.of_row, Device::host));
    loop_ = cuda::make_persistent_loop<T>(std::move(packed), peers_);
    if (communicator.sum(loop_ ? 0.0 : 1.0) > 0) loop_.reset();
    synchronize(Device::cuda);  // before the rows are freed
  }
  ~GpuLoop() override {
    if (std::uncaught_exceptions() > 0) return;
    cudaStreamSynchronize(cuda::stream());
    opened_memory_.clear();
    communicator_.sum(0.0);  // peers have closed this process's memory before it is freed
  }

  /// True if the kernel can run; the same on all processes.
  bool is_there() const { return loop_ != nullptr; }

  void iterate(std::int64_t iterations, SingleReduction<T>& vectors, const InverseDiagonal* inverse_diagonal,
               Vector<T>& x, Vector<T>& r, Vector<double>& scalars) const override {
    loop_->iterate(iterations, vectors, inverse_diagonal, x, r, scalars);
    // Ghosts of x by a sum of the owners' values and zeros. Shared unknowns have the same index in any ordering.
    T* of_x = x.data() + first_shared_;
    copy_bytes(of_x, Device::cuda, shared_.data(), Device::cuda, own_shared_ * std::int64_t{sizeof(T)});
    exchange_.send(shared_.data());
    exchange_.receive({shared_.data(), shared_.size(), 0, 0, nullptr, x.data(), of_x}, {});
  }

 private:
  /// Allocates the memory that other processes write to, and opens theirs.
  void share_memory(std::int64_t blocks, std::int64_t ghosts) {
    MultiGpuReduction& reduction = peers_.reduction;
    reduction.processes = communicator_.size();
    reduction.rank = communicator_.rank();
    const auto counts = communicator_.gathered(std::vector{static_cast<std::int32_t>(blocks)});
    for (int rank = 0; rank < reduction.processes; ++rank) {
      reduction.blocks_of[rank] = counts[rank].front();
      reduction.most = std::max(reduction.most, counts[rank].front());
    }
    const std::int64_t parts = MultiGpuReduction::count(reduction.processes, reduction.most);
    mine_.emplace((parts + ghosts) * std::int64_t{sizeof(TaggedValue)});
    const std::string handle = mine_->handle();
    for (const std::string& other : communicator_.gathered(handle)) {
      const auto rank = static_cast<int>(std::ssize(opened_memory_));
      const cuda::PeerMemory& peer = opened_memory_.emplace_back(rank == reduction.rank ? "" : other);
      auto* numbers = reinterpret_cast<TaggedValue*>(rank == reduction.rank ? mine_->data() : peer.data());
      opened_ = opened_ && numbers != nullptr;
      reduction.given[rank] = numbers;
      peers_.u[rank] = numbers + parts;
    }
  }

  /// Lists for each block the entries that other processes need.
  void list_sent(const std::vector<Request>& requests, const RowLayout& layout,
                 const Vector<cuda::PersistentRow>& of_rows) {
    std::vector<std::int32_t> block_of(static_cast<std::size_t>(peers_.owned)), place_of(block_of.size());
    for (std::size_t b = 0; b < layout.blocks.size(); ++b)
      for (std::int32_t i = 0; i < layout.blocks[b].rows; ++i) {
        const cuda::PersistentRow row = of_rows[layout.blocks[b].first_row + i];
        block_of[row.number] = static_cast<std::int32_t>(b);
        place_of[row.number] = row.place;
      }
    std::vector<std::vector<SentEntry>> of_blocks(layout.blocks.size());
    for (const Request& request : requests)
      for (std::size_t i = 0; i < request.entries.size(); ++i) {
        const std::int32_t entry = request.entries[i];
        of_blocks[block_of[entry]].push_back(
            {place_of[entry], request.process, request.to + static_cast<std::int32_t>(i)});
      }
    std::vector<SentRange> ranges;
    std::vector<SentEntry> sent;
    for (const std::vector<SentEntry>& entries : of_blocks) {
      ranges.push_back({static_cast<std::int32_t>(sent.size()), static_cast<std::int32_t>(entries.size())});
      sent.insert(sent.end(), entries.begin(), entries.end());
    }
    ranges_ = cuda::sent(ranges);
    sent_ = cuda::sent(sent);
    peers_.ranges = ranges_.data();
    peers_.sent = sent_.data();
  }

  const Communicator& communicator_;
  GpuExchange<T>& exchange_;
  std::int64_t first_shared_, own_shared_;
  mutable Vector<T> shared_;  ///< shared entries of x, 0 for ghosts
  std::optional<cuda::SharedMemory> mine_;
  std::vector<cuda::PeerMemory> opened_memory_;
  bool opened_ = true;
  PersistentPeers peers_{};
  Vector<SentRange> ranges_;
  Vector<SentEntry> sent_;
  std::unique_ptr<PersistentCg<T>> loop_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<PersistentCg<T>> make_gpu_persistent_cg(const Communicator& communicator, const IndexMap& map,
                                                        const CompleteRows<T>& rows,
                                                        std::span<const std::int32_t> ordering,
                                                        GpuExchange<T>& exchange, PersistentFor systems) {
  const bool takes = cuda::takes_persistent_cg(rows.matrix.rows, rows.matrix.nonzeros(), sizeof(T), systems);
  if (communicator.sum(takes ? 0.0 : 1.0) > 0) return nullptr;
  auto loop = std::make_unique<GpuLoop<T>>(communicator, map, rows, ordering, exchange);
  if (!loop->is_there()) return nullptr;
  return loop;
}

template std::unique_ptr<PersistentCg<double>> make_gpu_persistent_cg(const Communicator&, const IndexMap&,
                                                                      const CompleteRows<double>&,
                                                                      std::span<const std::int32_t>,
                                                                      GpuExchange<double>&, PersistentFor);
template std::unique_ptr<PersistentCg<float>> make_gpu_persistent_cg(const Communicator&, const IndexMap&,
                                                                     const CompleteRows<float>&,
                                                                     std::span<const std::int32_t>, GpuExchange<float>&,
                                                                     PersistentFor);

}  // namespace femcg::operators

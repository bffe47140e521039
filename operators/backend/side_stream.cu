#include "operators/backend/side_stream.hpp"

#include "operators/backend/stream_scope.cuh"

namespace femcg::operators {

struct SideStream::Stream {
  Stream() {
    int least = 0, greatest = 0;
    cuda::check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities");
    cuda::check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "making a stream");
    for (cudaEvent_t* event : {&begun, &done})
      cuda::check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "making an event");
  }
  ~Stream() {
    if (stream != nullptr) cudaStreamSynchronize(stream);
    if (begun != nullptr) cudaEventDestroy(begun);
    if (done != nullptr) cudaEventDestroy(done);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t stream{};
  cudaEvent_t begun{}, done{};
};

SideStream::SideStream() : stream_(std::make_unique<Stream>()) {}
SideStream::~SideStream() = default;

void SideStream::begin(const std::function<void()>& work) {
  cuda::check(cudaEventRecord(stream_->begun, cuda::stream()), "recording an event");
  cuda::check(cudaStreamWaitEvent(stream_->stream, stream_->begun, 0), "waiting for an event");
  const cuda::StreamScope scope(stream_->stream);
  work();
  cuda::check(cudaEventRecord(stream_->done, stream_->stream), "recording an event");
}

void SideStream::join() { cuda::check(cudaStreamWaitEvent(cuda::stream(), stream_->done, 0), "waiting for an event"); }

}  // namespace femcg::operators

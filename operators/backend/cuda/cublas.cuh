#pragma once

// cuBLAS, for kernels where it is the best. Operators include this header instead of the library's.

#include <cublas_v2.h>
#include <dlfcn.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "operators/backend/launch.cuh"
#include "operators/backend/vector.hpp"

namespace femcg::operators::cuda {

/// A function of the library, of its declared type. Throws std::runtime_error if it cannot be loaded.
template <class Function>
Function* found(void* library, const char* name) {
  void* function = library != nullptr ? dlsym(library, name) : nullptr;
  if (function == nullptr) throw std::runtime_error(std::string("cuBLAS cannot be loaded: ") + dlerror());
  return reinterpret_cast<Function*>(function);
}

/// cuBLAS, loaded on first use: loading takes half a second, which other operators need not wait for.
class Cublas {
  void* library_ = dlopen(("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR)).c_str(), RTLD_NOW | RTLD_LOCAL);

 public:
  static const Cublas& get() {
    static const Cublas loaded;
    return loaded;
  }
  static void check(cublasStatus_t status, const char* doing) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(doing) + ": " + get().describe(status));
  }

#define FEMCG_CUBLAS(name, symbol) decltype(symbol)* name = found<decltype(symbol)>(library_, #symbol)
  FEMCG_CUBLAS(describe, cublasGetStatusString);
  FEMCG_CUBLAS(create, cublasCreate_v2);
  FEMCG_CUBLAS(destroy, cublasDestroy_v2);
  FEMCG_CUBLAS(set_stream, cublasSetStream_v2);
  FEMCG_CUBLAS(set_pointer_mode, cublasSetPointerMode_v2);
  FEMCG_CUBLAS(set_workspace, cublasSetWorkspace_v2);
  FEMCG_CUBLAS(ddot, cublasDdot_v2_64);
  FEMCG_CUBLAS(sdot, cublasSdot_v2_64);
  FEMCG_CUBLAS(daxpy, cublasDaxpy_v2_64);
  FEMCG_CUBLAS(saxpy, cublasSaxpy_v2_64);
  FEMCG_CUBLAS(ddgmm, cublasDdgmm_64);
  FEMCG_CUBLAS(sdgmm, cublasSdgmm_64);
  FEMCG_CUBLAS(dgeam, cublasDgeam_64);
  FEMCG_CUBLAS(sgeam, cublasSgeam_64);
  FEMCG_CUBLAS(dgemms, cublasDgemmStridedBatched_64);
  FEMCG_CUBLAS(sgemms, cublasSgemmStridedBatched_64);
#undef FEMCG_CUBLAS
};

/// The variant of a cuBLAS function for T.
template <class T, class Double, class Single>
constexpr auto of_precision(Double in_double, Single in_single) {
  if constexpr (std::is_same_v<T, double>)
    return in_double;
  else
    return in_single;
}

/// A cuBLAS handle on stream(), with its own workspace, so that its calls can be captured in a CUDA graph.
class CublasHandle {
 public:
  CublasHandle(cublasPointerMode_t pointers, std::int64_t workspace_bytes) : workspace_(workspace_bytes, Device::cuda) {
    const Cublas& cublas = Cublas::get();
    cublasHandle_t made{};
    Cublas::check(cublas.create(&made), "starting cuBLAS");
    handle_.reset(made);
    Cublas::check(cublas.set_stream(made, stream()), "starting cuBLAS");
    Cublas::check(cublas.set_pointer_mode(made, pointers), "starting cuBLAS");
    Cublas::check(cublas.set_workspace(made, workspace_.data(), workspace_.bytes()), "starting cuBLAS");
  }
  cublasHandle_t get() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(cublasHandle_t handle) const { Cublas::get().destroy(handle); }
  };

  Vector<char> workspace_;  // outlives the handle
  std::unique_ptr<cublasContext, Destroy> handle_;
};

}  // namespace femcg::operators::cuda

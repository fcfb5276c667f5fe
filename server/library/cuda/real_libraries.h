// NVIDIA's cuBLAS, cuBLASLt, cuDNN, cuFFT, cuRAND, cuSPARSE and cuSOLVER, opened at run time: one binary runs with or without them. Their handles are one a stream at a time: cuBLAS's
// results depend on what else its handle does, and its own workspace is used in its stream's order.
//
// The calling thread has the GPU's context bound (its primary one, which the libraries use, too). Any thread, several at a time, but one at a time with one handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/range.h"
#include "schemas/base/result.h"
#include "schemas/blas/lt_transform.h"
#include "schemas/dnn/check.h"
#include "schemas/fft/transform.h"
#include "schemas/rand/generation.h"
#include "schemas/sparse/call.h"
#include "schemas/solver/functions.h"
#include "schemas/systems/call.h"

struct CUstream_st;

namespace rouse::library::cuda {

// Paths here are opened instead: other versions, or doubles.
inline constexpr const char* kBlasVariable = "ROUSE_LIBCUBLAS";
inline constexpr const char* kLtVariable = "ROUSE_LIBCUBLASLT";
inline constexpr const char* kDnnVariable = "ROUSE_LIBCUDNN";
inline constexpr const char* kFftVariable = "ROUSE_LIBCUFFT";
inline constexpr const char* kRandVariable = "ROUSE_LIBCURAND";
inline constexpr const char* kSparseVariable = "ROUSE_LIBCUSPARSE";
inline constexpr const char* kSolverVariable = "ROUSE_LIBCUSOLVER";

// Device memory for libraries to work in, beside any program's. Any thread.
class WorkMemory {
 public:
  virtual ~WorkMemory() = default;
  virtual Result<std::uint64_t> take(std::uint64_t bytes) = 0;
  virtual void give(std::uint64_t address, std::uint64_t bytes) = 0;
  // Bytes from one address to another, of the device's or of the executor's own, behind what the stream has: it has happened when it returns.
  virtual Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, CUstream_st* stream);
};

// What each handle of cuDNN has of it from its first plan on: programs ask our client how much a plan needs, and are told none. Always there,
// or the call fails, so that which plan is run, and the bits of its results, do not depend on who else is there. The classic API needs none.
inline constexpr std::uint64_t kWorkspaceBytes = std::uint64_t{32} << 20;
// What the library chooses first may need more, which a program of its own would have given it; up to this a handle takes it when a plan needs it. Where
// there is none left, the plan is the first that what the handle has is enough for.
inline constexpr std::uint64_t kMostWorkspaceBytes = std::uint64_t{256} << 20;

// Memory of the device to work in.
struct Workspace {
  std::uint64_t address = 0, bytes = 0;
};

struct BlasApi;
struct LtApi;
struct DnnApi;
struct RecurrentApi;
struct FftApi;
struct SparseApi;
struct RandApi;
struct SolverApi;
struct SystemApi;
struct Handle;  // of cuBLAS, and what is set in it; of cuDNN, cuSPARSE and cuSOLVER; plans of cuFFT; generators of cuRAND

// What a call is but for where its memory lies: its bytes, of which words that are addresses in `windows` count only as far as they are aligned. What a library does for the
// first time for a call (make a plan, compile, load kernels) it has done for others of that kind.
std::uint64_t kindOf(std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters, std::initializer_list<AddressRange> windows);

// Whether a call may wait for the GPU before it returns, each time, as an iteration does that ends by its numbers: it is made where nobody waits for it.
bool mayWait(std::uint32_t library, std::uint32_t function);

// A library's functions, once they have been found. Who comes meanwhile waits for that library, and for no other.
template <class Api>
class Opened {
 public:
  // Returns at once where they are there; after an error it is tried again the next time.
  template <class Find>
  Status load(Find&& find) {
    if (there_.load(std::memory_order_acquire)) return {};
    const std::lock_guard lock(mutex_);
    if (api_) return {};
    auto found = find();
    if (!found) return found.error();
    api_ = std::move(*found);
    there_.store(true, std::memory_order_release);
    return {};
  }
  bool there() const { return there_.load(std::memory_order_acquire); }
  const Api* operator->() const { return api_.get(); }
  const Api& operator*() const { return *api_; }

 private:
  std::mutex mutex_;
  std::unique_ptr<Api> api_;
  std::atomic<bool> there_{false};
};

// Of one GPU. Handles are made when there is none to be used again, which takes milliseconds and device memory.
class RealLibraries {
 public:
  RealLibraries();
  ~RealLibraries();
  RealLibraries(const RealLibraries&) = delete;

  // What handles from now on have to work in; without, plans work in what programs give them.
  void workIn(std::unique_ptr<WorkMemory> memory);

  // Of the node's cuDNN, as it tells it itself; 0: there is none.
  static std::uint32_t dnnVersion();

  // Ends all handles, while the context is still there. Waits for the GPU, as cuBLAS's own destruction does. Without it they are the driver's
  // to clean up.
  void end();

  // A stream's own until it is given back, when the stream has ended. notSupported, with what to do about it, where the library is not there.
  // `library`: whose call it is taken for.
  Result<Handle*> take(CUstream_st* stream, std::uint32_t library = blas::kLibrary);
  void give(Handle* handle);

  // Whether such a call has been made with the handle. `knows`: it has.
  bool known(const Handle& handle, std::uint64_t kind) const;
  void knows(Handle& handle, std::uint64_t kind) const;

  // wire::LibraryCall's parameters, checked (named_memory.h). Queues; what the library refuses is an error (errorOf(), refusals.h) that names function and status.
  Status call(Handle& handle, std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters);

 private:
  Status callBlas(Handle& handle, blas::Function function, const blas::Call& call);
  Status callLt(Handle& handle, const blas::LtMatmul& call);
  Status callLtTransform(Handle& handle, const blas::LtTransform& call);
  Status callDnn(Handle& handle, std::span<const std::byte> parameters);
  Status callRecurrent(Handle& handle, std::span<const std::byte> parameters);
  Status callFft(Handle& handle, const fft::Transform& transform);
  Status callRand(Handle& handle, std::span<const std::byte> parameters);
  Status callSparse(Handle& handle, sparse::Function function, const sparse::Call& call);
  // The largest of these areas, or a larger one from now on. `what`: for messages.
  Result<std::uint64_t> areaOf(std::vector<Workspace>& areas, std::uint64_t bytes, const char* what);
  Status callSolver(Handle& handle, solver::Function function, const solver::Call& call);
  Status callSystem(Handle& handle, systems::Function function, const systems::Call& call);
  // Makes cuBLAS's own handle, in its stream.
  Status readyBlas(Handle& handle);
  // Makes cuDNN's own handle, in its stream.
  Status readyDnn(Handle& handle);
  // whole: the program's graph, no step of it; its plan may take more memory.
  Status runGraph(Handle& handle, const dnn::Parts& parts, Workspace own, bool classic, bool whole);
  // That handle's memory of so many bytes, or the most that it has.
  Workspace workspaceOf(Handle& handle, std::uint64_t bytes);

  std::unique_ptr<WorkMemory> memory_;
  Opened<BlasApi> blas_;
  Opened<LtApi> lt_;
  Opened<DnnApi> dnn_;
  Opened<RecurrentApi> recurrent_;
  Opened<FftApi> fft_;
  Opened<RandApi> rand_;
  Opened<SparseApi> sparse_;
  Opened<SolverApi> solver_;
  Opened<SystemApi> systems_;
  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Handle>> all_;
  std::vector<Handle*> free_;
};

}  // namespace rouse::library::cuda

#include "client-shim/cusparse/pivots.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <mutex>
#include <vector>

namespace rouse::cusparse {
namespace {

struct Retired {
  sparse::Answer* memory;
  std::uint64_t mark;  // with it the last answer comes
};

struct Memory {
  std::mutex mutex;
  std::vector<Retired> retired;
  std::uint64_t marks = 0;
};
Memory& memory() {
  static Memory* const all = new Memory;  // programs call from destructors of their own
  return *all;
}

sparse::Answer answerAt(const sparse::Answer* from) {
  sparse::Answer answer;
  std::memcpy(&answer, from, sizeof answer);
  return answer;
}

// Of an object that has ended, once nothing writes it any more; else fresh. Null: there is none left.
sparse::Answer* takeMemory() {
  {
    const std::lock_guard lock(memory().mutex);
    for (Retired& each : memory().retired) {
      if (answerAt(each.memory).mark != each.mark) continue;
      sparse::Answer* const taken = each.memory;
      each = memory().retired.back();
      memory().retired.pop_back();
      return taken;
    }
  }
  return static_cast<sparse::Answer*>(client::libraryHost()->allocateShared(sizeof(sparse::Answer)));
}

}  // namespace

cusparseStatus_t watchPivot(InfoDescriptor& info, sparse::Call& call) {
  if (info.pivot == nullptr) {
    info.pivot = takeMemory();
    if (info.pivot == nullptr) return CUSPARSE_STATUS_ALLOC_FAILED;
    const sparse::Answer none{-1, 0};
    std::memcpy(info.pivot, &none, sizeof none);
  }
  {
    const std::lock_guard lock(memory().mutex);
    info.mark = ++memory().marks;
  }
  call.answer = addressOf(info.pivot);
  call.answerMark = info.mark;
  return CUSPARSE_STATUS_SUCCESS;
}

void forgetPivot(InfoDescriptor& info) {
  if (info.pivot == nullptr) return;
  const std::lock_guard lock(memory().mutex);
  memory().retired.push_back({info.pivot, info.mark});
  info.pivot = nullptr;
}

cusparseStatus_t tellPivot(cusparseHandle_t handle, const void* info, int* position) {
  return with(handle, [&](Handle& found) {
    auto* const state = find<InfoDescriptor>(info, Kind::info);
    if (state == nullptr || position == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    int row = -1;
    if (state->pivot != nullptr) {
      if (cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(found.stream)) != cudaSuccess) return CUSPARSE_STATUS_EXECUTION_FAILED;
      row = static_cast<int>(answerAt(state->pivot).number);
    }
    if (!found.scalarsInMemory) *position = row;
    else if (cudaMemcpy(position, &row, sizeof row, cudaMemcpyHostToDevice) != cudaSuccess) return CUSPARSE_STATUS_EXECUTION_FAILED;
    return row == -1 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
  });
}

}  // namespace rouse::cusparse

// CUDA Runtime API, "Error Handling".
#include <algorithm>
#include <utility>

#include "client-shim/core/access_check.h"
#include "client-shim/core/process.h"
#include "client-shim/core/session.h"
#include "client-shim/cudart/entry.h"
#include "client-shim/cudart/error_texts.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/thread_state.h"
#include "schemas/base/cuda_error.h"

namespace rouse::cudart::impl {
namespace {

const ErrorText* find(cudaError_t error) {
  const auto* found = std::lower_bound(kErrorTexts.begin(), kErrorTexts.end(), error,
                                       [](const ErrorText& text, cudaError_t code) { return text.code < code; });
  return found != kErrorTexts.end() && found->code == error ? found : nullptr;
}

constexpr const char* kUnrecognized = "unrecognized error code";

}  // namespace

// Also of an error that leaves the device unusable: the next call that needs the device has it again.
cudaError_t cudaGetLastError() { return std::exchange(threadState.lastError, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return threadState.lastError; }

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* text = find(error);
  return text != nullptr ? text->name : kUnrecognized;
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* text = find(error);
  return text != nullptr ? text->description : kUnrecognized;
}

}  // namespace rouse::cudart::impl

namespace rouse::cudart {

// Work that is not done yet is an answer, not an error.
void reportError(const char* function, cudaError_t error) {
  if (error == cudaErrorNotReady || !client::Process::get().attached()) return;
  if (client::AccessCheck* const check = client::Process::get().session().check())
    check->apiError(function, error, impl::cudaGetErrorName(error), impl::cudaGetErrorString(error));
}

}  // namespace rouse::cudart

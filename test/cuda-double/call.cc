#include "test/cuda-double/call.h"

#include <string_view>

#include "test/cuda-double/context.h"
#include "test/cuda-double/simulation.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double {

thread_local bool inHostFunction = false;

void Call::arguments(std::initializer_list<Argument> arguments) {
  text_ = function_;
  text_ += '(';
  for (const Argument& argument : arguments) {
    if (text_.back() != '(') text_ += ", ";
    text_ += argument.text();
  }
  text_ += ')';
}

void Call::required(std::initializer_list<Required> pointers) {
  for (const Required& pointer : pointers) {
    if (pointer.pointer == nullptr && null_ == nullptr) null_ = pointer.name;
  }
}

CUresult Call::before() {
  const auto refuse = [&](CUresult result, std::string_view rule, const std::string& what) {
    mayRun_ = false;
    return violation(result, rule, what);
  };
  if (needs_ != Needs::nothing) {
    if (inHostFunction)
      return refuse(CUDA_ERROR_NOT_PERMITTED, "call-from-host-function", "a host function calls CUDA");
    if (!state().initialized())
      return refuse(CUDA_ERROR_NOT_INITIALIZED, "not-initialized", "cuInit has not been called");
  }
  if (simulation::unknownCall() == function_) {
    mayRun_ = false;
    return CUDA_ERROR_UNKNOWN;
  }
  CUresult failed = CUDA_SUCCESS;
  if (needs_ == Needs::context) {
    if (currentContext == nullptr) return refuse(CUDA_ERROR_INVALID_CONTEXT, "no-context", "no context is current");
    const auto context = state().contexts.find(currentContext, "context");
    if (context == nullptr) {
      mayRun_ = false;
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    const std::string_view name = function_;
    for (const char* part : {"Destroy", "Unregister", "Unload", "Synchronize"}) releases_ |= name.find(part) != name.npos;
    failed = context->takeError();
  }
  if (null_ != nullptr) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "null-argument", std::string(null_) + " is null");
  }
  return failed;
}

void Call::after(CUresult result) {
  const char* name = errorName(result);
  recordCall(function_, text_ + " = " + (name != nullptr ? name : std::to_string(result)));
}

}  // namespace rouse::cuda_double

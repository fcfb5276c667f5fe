// One call of a driver function: what the generated entry points are made of.
#pragma once

#include <cuda.h>

#include <initializer_list>
#include <string>
#include <type_traits>

#include "test/cuda-double/record.h"

namespace rouse::cuda_double {

enum class Needs { nothing, driver, context };

class Argument {
 public:
  template <class T>
  Argument(const char* name, const T& value) : text_(std::string(name) + "=" + show(value)) {}
  const std::string& text() const { return text_; }

 private:
  template <class T>
  static std::string show(const T& value) {
    if constexpr (std::is_pointer_v<T>) {
      return hex((unsigned long long)value);
    } else if constexpr (std::is_enum_v<T>) {
      return std::to_string(static_cast<long long>(value));
    } else if constexpr (std::is_same_v<T, unsigned long long>) {  // CUdeviceptr and handles of memory
      return hex(value);
    } else {
      return std::to_string(value);
    }
  }
  std::string text_;
};

struct Required {
  const char* name;
  const void* pointer;
  template <class T>
  Required(const char* name, T* pointer) : name(name), pointer((const void*)pointer) {}
};

// Lives as long as the call.
class Call {
 public:
  Call(const char* function, Needs needs) : function_(function), needs_(needs) { currentCall = function; }
  ~Call() { currentCall = nullptr; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void arguments(std::initializer_list<Argument> arguments);
  void required(std::initializer_list<Required> pointers);
  template <class Implementation>
  CUresult run(Implementation&& implementation) {
    CUresult result = before();
    if (result == CUDA_SUCCESS || releases_) {
      const CUresult own = mayRun_ ? implementation() : CUDA_SUCCESS;
      if (result == CUDA_SUCCESS) result = own;
    }
    after(result);
    return result;
  }

 private:
  CUresult before();
  void after(CUresult result);

  const char* function_;
  Needs needs_;
  bool releases_ = false;  // frees or waits, even in a context that has failed
  bool mayRun_ = true;
  const char* null_ = nullptr;
  std::string text_;
};

// Set on the threads that run host functions, which must not call the driver.
extern thread_local bool inHostFunction;

}  // namespace rouse::cuda_double

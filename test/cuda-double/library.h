// A module of code, as cuLibrary… and cuModule… know it, and its kernels. Both kinds of handles are the same here.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <string>
#include <mutex>
#include <span>
#include <vector>

#include "memory/device.h"

namespace rouse::cuda_double {

class Context;
class Gpu;
class Library;

struct Kernel {
  std::weak_ptr<Library> library;
  std::uint32_t index = 0;
  std::uint32_t maxDynamicShared = 0;
  bool largeClusters = false;
  const memory::KernelDescription* description = nullptr;  // the library's
};

// Any thread.
class Library : public std::enable_shared_from_this<Library> {
 public:
  // `code` is a fatbin, one as nvcc wraps it, a cubin or PTX text; it says itself where it ends.
  // `log`: what the driver's compiler says; may be null.
  static CUresult load(Gpu& gpu, const void* code, Context* owner, CUlibrary& handle, std::string* log = nullptr);
  static CUresult unload(CUlibrary handle, bool module);
  ~Library();

  const memory::ModuleDescription& description() const { return image_ != nullptr ? image_->description() : kNothing; }
  // Of code that cannot be used: drivers take it as a library without kernels, and say so when its module is asked for.
  CUresult failure() const { return failure_; }
  const std::vector<CUkernel>& kernels() const { return kernels_; }
  // The module in this context, made at first use as drivers do. Null when there is no memory for its variables.
  std::shared_ptr<memory::ModuleInstance> in(Context& context);
  CUresult variable(Context& context, const char* name, bool managed, CUdeviceptr* address, size_t* bytes);
  bool isModule() const { return owner_ != nullptr; }
  bool ofContext(const Context& context) const { return owner_ == &context; }
  // The context ends.
  void leave(Context& context);

 private:
  struct Instance {
    std::shared_ptr<memory::ModuleInstance> module;
    CUdeviceptr memory = 0;
    std::vector<std::uint64_t> addresses;
  };
  Instance* instanceIn(Context& context);

  static const memory::ModuleDescription kNothing;
  Gpu* gpu_ = nullptr;
  Context* owner_ = nullptr;  // of a module; libraries have none
  CUresult failure_ = CUDA_SUCCESS;
  std::shared_ptr<memory::Image> image_;
  std::vector<CUkernel> kernels_;
  std::mutex mutex_;
  std::map<Context*, Instance> instances_;
};

}  // namespace rouse::cuda_double

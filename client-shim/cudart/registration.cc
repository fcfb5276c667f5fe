// What nvcc's generated code calls: registration before main (crt/host_runtime.h), and from a kernel's host stub to its
// handle.
#include "client-shim/core/log.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

CodeModule* moduleOf(void** handle) { return ModuleRegistry::get().findModule(handle); }

}  // namespace

void** __cudaRegisterFatBinary(void* fatCubin) {
  const auto* wrapper = static_cast<const FatbinWrapper*>(fatCubin);
  if (wrapper == nullptr || wrapper->magic != FatbinWrapper::kMagic) {
    client::log(client::LogLevel::error, "__cudaRegisterFatBinary: no fatbin wrapper (magic %#x, expected %#x)",
                wrapper != nullptr ? static_cast<unsigned>(wrapper->magic) : 0U, FatbinWrapper::kMagic);
    return nullptr;
  }
  return reinterpret_cast<void**>(ModuleRegistry::get().add(std::make_unique<CodeModule>(wrapper)));
}

// Nothing waits for the end of a registration: modules are loaded at their first use.
void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** fatCubinHandle) {
  if (CodeModule* module = moduleOf(fatCubinHandle)) ModuleRegistry::get().remove(module);
}

void __cudaRegisterFunction(void** fatCubinHandle, const char* hostFun, char*, const char* deviceName, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  CodeModule* module = moduleOf(fatCubinHandle);
  if (module != nullptr && hostFun != nullptr && deviceName != nullptr) {
    ModuleRegistry::get().addFunction(module, hostFun, deviceName);
  }
}

void __cudaRegisterVar(void** fatCubinHandle, char* hostVar, char*, const char* deviceName, int, size_t, int, int) {
  CodeModule* module = moduleOf(fatCubinHandle);
  if (module != nullptr && hostVar != nullptr && deviceName != nullptr) {
    ModuleRegistry::get().addSymbol(module, hostVar, nullptr, deviceName);
  }
}

void __cudaRegisterManagedVar(void** fatCubinHandle, void** hostVarPtrAddress, char*, const char* deviceName, int,
                              size_t, int, int) {
  CodeModule* module = moduleOf(fatCubinHandle);
  if (module != nullptr && hostVarPtrAddress != nullptr && deviceName != nullptr) {
    ModuleRegistry::get().addSymbol(module, hostVarPtrAddress, hostVarPtrAddress, deviceName);
  }
}

// A device variable without storage that stands for a variable of the host, on systems whose devices read pageable
// memory; ours say they do not (cudaDevAttrPageableMemoryAccess). The module fails to load with the variable's name.
void __cudaRegisterHostVar(void**, const char* deviceName, char*, size_t) {
  client::log(client::LogLevel::warn, "device variable %s stands for a host variable: not supported",
              deviceName != nullptr ? deviceName : "(null)");
}

// Called before the host's first access to a managed variable: gives it its place and value.
char __cudaInitModule(void** fatCubinHandle) {
  CodeModule* module = moduleOf(fatCubinHandle);
  if (module == nullptr || attach() != cudaSuccess) return 0;
  if (!module->hasManagedVariables()) return 1;
  client::Module* loaded = nullptr;
  const cudaError_t error = module->load(currentDevice(), &loaded);
  if (error != cudaSuccess) threadState.lastError = error;
  return error == cudaSuccess ? 1 : 0;
}

cudaError_t cudaGetKernel(cudaKernel_t* kernelPtr, const void* entryFuncAddr) {
  Function* function = ModuleRegistry::get().findFunction(entryFuncAddr);
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  *kernelPtr = reinterpret_cast<cudaKernel_t>(function);
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernelPtr, const void* entryFuncAddr) {
  return impl::cudaGetKernel(kernelPtr, entryFuncAddr);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* functionPtr, const void* symbolPtr) {
  Function* function = ModuleRegistry::get().findFunction(symbolPtr);
  client::Kernel* kernel = nullptr;
  if (function == nullptr) return cudaErrorInvalidDeviceFunction;
  // A cudaFunction_t is of one device: its code must be there.
  if (const cudaError_t error = function->resolve(currentDevice(), &kernel); error != cudaSuccess) return error;
  *functionPtr = reinterpret_cast<cudaFunction_t>(function);
  return cudaSuccess;
}

// The toolkit's own library answers with a null pointer, too.
void* __cudaGetProcAddress() { return nullptr; }

}  // namespace rouse::cudart::impl

#include "client-shim/cudart/code_module.h"

#include <algorithm>

#include "client-shim/core/device.h"
#include "client-shim/core/process.h"
#include "client-shim/core/stream.h"
#include "client-shim/cudart/mapped_file.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart {
namespace {

// Smaller modules are cheaper to copy than their files are to find.
constexpr std::size_t kOfferAsFile = std::size_t{256} << 10;

bool worthAnotherTry(cudaError_t error) {
  return error == cudaErrorMemoryAllocation || isSticky(static_cast<CudaError>(error));
}

}  // namespace

cudaError_t Function::resolve(client::Device& device, client::Kernel** kernel) {
  client::Module* loaded = nullptr;
  if (const cudaError_t error = module->load(device, &loaded); error != cudaSuccess) return error;
  *kernel = loaded->findKernel(name);
  if (*kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  kernels[device.index()].store(*kernel, std::memory_order_release);
  return cudaSuccess;
}

cudaError_t Symbol::resolve(client::Device& device, const client::Variable** variable) {
  client::Module* loaded = nullptr;
  if (const cudaError_t error = module->load(device, &loaded); error != cudaSuccess) return error;
  *variable = loaded->findVariable(name);
  return *variable != nullptr ? cudaSuccess : cudaErrorInvalidSymbol;
}

cudaError_t CodeModule::load(client::Device& device, client::Module** module, std::string* why) {
  Instance& instance = instances_[device.index()];
  *module = instance.loaded.load(std::memory_order_acquire);
  if (*module != nullptr) return cudaSuccess;

  const std::lock_guard lock(mutex_);
  *module = instance.loaded.load(std::memory_order_relaxed);
  if (*module != nullptr) return cudaSuccess;
  if (instance.failure != cudaSuccess) return instance.failure;

  std::unique_ptr<client::Module> made;
  if (const cudaError_t error = loadFrom(device, &made, why); error != cudaSuccess) {
    if (!worthAnotherTry(error)) instance.failure = error;
    return error;
  }
  if (bringsManaged(*made)) {
    // The host may write to them from now on: not before the device has written their initial values.
    if (const cudaError_t error = toCuda(device.legacyStream().synchronize()); error != cudaSuccess) {
      (void)client::unloadModule(std::move(made));
      return error;
    }
    placeManaged(*made);
  }
  instance.module = std::move(made);
  *module = instance.module.get();
  instance.loaded.store(*module, std::memory_order_release);
  return cudaSuccess;
}

cudaError_t CodeModule::loadFrom(client::Device& device, std::unique_ptr<client::Module>* module, std::string* why) {
  client::ModuleSource source;
  std::vector<std::byte> joined;
  if (wrapper_ != nullptr) {
    if (const cudaError_t error = wrappedImage(*wrapper_, &joined, &source.bytes); error != cudaSuccess) return error;
  } else {
    source.bytes = image_;
  }
  MappedFile file;
  if (wrapper_ != nullptr && joined.empty() && source.bytes.size() >= kOfferAsFile &&
      findMappedFile(source.bytes, &file)) {
    source.fd = file.fd.get();
    source.offset = file.offset;
    source.size = source.bytes.size();
  }
  std::vector<client::ManagedPlace> places;
  places.reserve(managedPlaces_.size());
  for (const auto& [name, address] : managedPlaces_) places.push_back({name, address});
  return toCuda(client::loadModule(device, source, places, module, why));
}

bool CodeModule::bringsManaged(const client::Module& module) const {
  return std::any_of(module.variables().begin(), module.variables().end(), [&](const client::Variable& variable) {
    return variable.space == client::VariableSpace::managed && !managedPlaces_.contains(variable.name);
  });
}

void CodeModule::placeManaged(const client::Module& module) {
  for (const client::Variable& variable : module.variables()) {
    if (variable.space != client::VariableSpace::managed) continue;
    if (!managedPlaces_.emplace(variable.name, variable.address).second) continue;
    for (const auto& symbol : symbols_) {
      if (symbol->managedPointer == nullptr || symbol->name != variable.name) continue;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the window's addresses are the program's
      auto* address = reinterpret_cast<void*>(variable.address);
      *symbol->managedPointer = address;
      // A program that takes the variable's address gets this one, not the shadow's.
      ModuleRegistry::get().addSymbolAddress(address, symbol.get());
    }
  }
}

Function* CodeModule::addFunction(const void* hostFunction, std::string_view name) {
  const std::lock_guard lock(mutex_);
  return makeFunction(hostFunction, name);
}

Function* CodeModule::makeFunction(const void* hostFunction, std::string_view name) {
  auto function = std::make_unique<Function>();
  function->module = this;
  function->name = name;
  function->hostFunction = hostFunction;
  return functions_.emplace_back(std::move(function)).get();
}

Symbol* CodeModule::addSymbol(const void* hostVariable, void** managedPointer, std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto symbol = std::make_unique<Symbol>();
  symbol->module = this;
  symbol->name = name;
  symbol->hostVariable = hostVariable;
  symbol->managedPointer = managedPointer;
  hasManaged_ |= managedPointer != nullptr;
  return symbols_.emplace_back(std::move(symbol)).get();
}

Function* CodeModule::functionNamed(const client::Module& loaded, std::string_view name) {
  const std::lock_guard lock(mutex_);
  for (const auto& function : functions_) {
    if (function->name == name) return function.get();
  }
  if (loaded.findKernel(name) == nullptr) return nullptr;
  Function* function = makeFunction(nullptr, name);
  ModuleRegistry::get().addFunctionHandle(function);
  return function;
}

void CodeModule::unload(std::uint32_t deviceIndex) {
  const std::lock_guard lock(mutex_);
  Instance& instance = instances_[deviceIndex];
  for (const auto& function : functions_) function->kernels[deviceIndex].store(nullptr, std::memory_order_release);
  instance.loaded.store(nullptr, std::memory_order_release);
  instance.failure = cudaSuccess;
  if (instance.module == nullptr) return;
  for (const client::Variable& variable : instance.module->variables()) {
    const auto place = managedPlaces_.find(variable.name);
    // The place went with the instance that owned it; whoever loads the module next finds a new one.
    if (place != managedPlaces_.end() && place->second == variable.address) managedPlaces_.erase(place);
  }
  (void)client::unloadModule(std::move(instance.module));  // its device may be gone, and with it the module
}

void CodeModule::unloadEverywhere() {
  for (std::uint32_t i = 0; i < wire::kMaxDevices; ++i) unload(i);
}

}  // namespace rouse::cudart

#include "client-shim/cudart/module_registry.h"

#include <algorithm>

#include "client-shim/core/process.h"

namespace rouse::cudart {

CodeModule* ModuleRegistry::add(std::unique_ptr<CodeModule> module) {
  const std::lock_guard lock(mutex_);
  CodeModule* added = all_.emplace_back(std::move(module)).get();
  modules_.insert(added, added);
  return added;
}

void ModuleRegistry::remove(CodeModule* module) {
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(all_.begin(), all_.end(), [&](const auto& candidate) { return candidate.get() == module; });
    if (found == all_.end()) return;
    modules_.erase(module, module);
    for (const auto& function : module->functions()) {
      functions_.erase(function.get(), function.get());
      if (function->hostFunction != nullptr) functions_.erase(function->hostFunction, function.get());
    }
    for (const auto& symbol : module->symbols()) {
      symbols_.erase(symbol->hostVariable, symbol.get());
      if (symbol->managedPointer != nullptr && *symbol->managedPointer != nullptr) {
        symbols_.erase(*symbol->managedPointer, symbol.get());
      }
    }
    removed_.push_back(std::move(*found));
    all_.erase(found);
  }
  // A forked child holds copies of what only its parent may unload.
  if (client::Process::get().attach() == CudaError::success) module->unloadEverywhere();
}

void ModuleRegistry::addFunction(CodeModule* module, const void* hostFunction, std::string_view name) {
  Function* function = module->addFunction(hostFunction, name);
  const std::lock_guard lock(mutex_);
  functions_.insert(hostFunction, function);
  functions_.insert(function, function);
}

void ModuleRegistry::addFunctionHandle(Function* function) {
  const std::lock_guard lock(mutex_);
  functions_.insert(function, function);
}

void ModuleRegistry::addSymbol(CodeModule* module, const void* hostVariable, void** managedPointer,
                               std::string_view name) {
  Symbol* symbol = module->addSymbol(hostVariable, managedPointer, name);
  const std::lock_guard lock(mutex_);
  symbols_.insert(hostVariable, symbol);
}

void ModuleRegistry::addSymbolAddress(const void* address, Symbol* symbol) {
  const std::lock_guard lock(mutex_);
  symbols_.insert(address, symbol);
}

void ModuleRegistry::forgetDevice(std::uint32_t deviceIndex) {
  std::vector<CodeModule*> modules;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& module : all_) modules.push_back(module.get());
  }
  for (CodeModule* module : modules) module->unload(deviceIndex);
}

}  // namespace rouse::cudart

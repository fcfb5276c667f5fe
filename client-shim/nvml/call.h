// What NVML's functions have in common: an initialised library first, then the handle and what the program gave to be written to.
#pragma once

#include <nvml.h>

#include <cstring>
#include <string_view>

#include "client-shim/nvml/library.h"

namespace rouse::nvml {

inline bool anyNull() { return false; }
template <class First, class... Others>
bool anyNull(First* first, Others*... others) {
  return first == nullptr || anyNull(others...);
}

// Runs body(gpu, its number) where the handle is one and no pointer of `results` is null.
template <class Body, class... Results>
nvmlReturn_t withGpu(nvmlDevice_t device, Body&& body, Results*... results) {
  Library& library = Library::get();
  if (!library.started()) return NVML_ERROR_UNINITIALIZED;
  const std::uint32_t index = library.indexOf(device);
  if (index == Library::kMost || anyNull(results...)) return NVML_ERROR_INVALID_ARGUMENT;
  client::ManagedGpu gpu;
  if (const nvmlReturn_t status = library.facts(index, &gpu); status != NVML_SUCCESS) return status;
  return body(gpu, index);
}

// The same of two GPUs.
template <class Body>
nvmlReturn_t withGpus(nvmlDevice_t one, nvmlDevice_t other, Body&& body, const void* result) {
  return withGpu(one, [&](const client::ManagedGpu&, std::uint32_t first) {
    return withGpu(other, [&](const client::ManagedGpu&, std::uint32_t second) { return body(first, second); }, result);
  });
}

// A text of the program's `length`, the NUL among it.
inline nvmlReturn_t give(std::string_view text, char* to, unsigned length) {
  if (to == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
  return NVML_SUCCESS;
}

// Of what is not known on this device.
template <class Number>
nvmlReturn_t giveKnown(Number value, unsigned* to) {
  if (value < 1) return NVML_ERROR_NOT_SUPPORTED;
  *to = static_cast<unsigned>(value);
  return NVML_SUCCESS;
}

}  // namespace rouse::nvml

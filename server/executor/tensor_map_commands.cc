// Tensor maps: what a program says of one, made by the device.
#include <cstring>

#include "schemas/wire/slot_wait.h"
#include "server/executor/log.h"
#include "server/executor/session.h"

namespace rouse::executor {

wire::DecodeStatus Session::on(const wire::TensorMapEncode& command, std::span<const std::byte> payload) {
  if (!rangeMapped({command.destination, sizeof(wire::TensorMap)}, wire::Access::write, wire::Where::host))
    return wire::Rejection{"TensorMapEncode.destination = " + std::to_string(command.destination) + ": " + std::to_string(sizeof(wire::TensorMap)) +
                           " bytes there are not mapped host memory"};
  wire::TensorMapRequest request;
  std::memcpy(&request, payload.data(), sizeof request);
  const auto made = surroundings_.device.encode(request);
  if (made) {
    std::memcpy(reinterpret_cast<void*>(command.destination), made->data(), made->size());
  } else if (made.error().code == CudaError::notSupported) {
    log(LogLevel::warning, "session " + std::to_string(id_) + ": a tensor map could not be made: " + made.error().message);
  }
  wire::signal(segment_.slot(command.slot), command.value, made ? CudaError::success : made.error().code);
  return {};
}

}  // namespace rouse::executor

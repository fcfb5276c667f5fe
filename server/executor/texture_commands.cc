// Textures and surfaces of a device whose driver makes them.
#include <cstring>

#include "schemas/wire/slot_wait.h"
#include "server/executor/log.h"
#include "server/executor/session.h"
#include "server/executor/texture_request.h"

namespace rouse::executor {
namespace {

// Each is a handle of the driver's, and a function's descriptors for textures are not many (a million on GPUs, of all functions together).
constexpr std::size_t kMaxTextures = 65536;

}  // namespace

wire::DecodeStatus Session::on(const wire::TextureCreate& command, std::span<const std::byte> payload) {
  if (!surroundings_.device.properties().placesVariables)
    return wire::Rejection{"TextureCreate: this device's textures are descriptions in the function's memory"};
  CreateTexture asked{{}, command.value, command.slot};
  std::memcpy(&asked.request, payload.data(), sizeof asked.request);
  std::vector<AddressRange> memory;
  if (const char* wrong = checkTexture(asked.request, memory)) return wire::Rejection{std::string("TextureCreate.request: ") + wrong};
  for (const AddressRange& range : memory)
    if (!rangeMapped(range, wire::Access::write, wire::Where::any)) return wire::Rejection{"TextureCreate.request: memory that is not mapped"};
  if (textures_ >= kMaxTextures) {
    wire::signal(segment_.slot(command.slot), command.value, CudaError::memoryAllocation);
    return {};
  }
  start(std::move(asked));
  return {};
}

bool Session::resume(CreateTexture& command) {
  if (!presence_.here() || !context_->idle()) return false;
  fenced_ = false;
  const Result<std::uint64_t> made = context_->createTexture(command.request);
  wire::Slot& slot = segment_.slot(command.slot);
  if (made) ++textures_;
  else if (isSticky(made.error().code)) latch_.latch(made.error().code, made.error().message);
  else log(LogLevel::warning, "session " + std::to_string(id_) + ": a texture could not be made: " + made.error().message);
  slot.payload.store(made ? *made : 0, std::memory_order_relaxed);
  wire::signal(slot, command.value, made ? CudaError::success : made.error().code);
  return true;
}

wire::DecodeStatus Session::on(const wire::TextureDestroy& command) {
  start(EndTexture{command.object});
  return {};
}

bool Session::resume(EndTexture& command) {
  if (!context_->idle()) return false;
  fenced_ = false;
  if (context_->destroyTexture(command.object)) --textures_;
  else reject("TextureDestroy.object: no object that TextureCreate has made");
  return true;
}

void Session::on(const wire::ArrayForget& command) { start(EndArray{command.base}); }

bool Session::resume(EndArray& command) {
  if (!context_->idle()) return false;
  fenced_ = false;
  context_->forgetArray(command.base);
  return true;
}

}  // namespace rouse::executor

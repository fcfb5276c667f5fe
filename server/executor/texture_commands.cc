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
// Those that have been ended while work was under way are there until there is none: so many, then it is waited for.
constexpr std::size_t kMaxEndedTextures = 1024;

}  // namespace

wire::DecodeStatus Session::on(const wire::TextureCreate& command, std::span<const std::byte> payload) {
  if (!surroundings_.device.properties().placesVariables)
    return wire::Rejection{"TextureCreate: this device's textures are descriptions in the function's memory"};
  CreateTexture asked{{}, command.value, command.slot, 0};
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

// Of plain memory at once, as CUDA does: a kernel that runs may be one that ends only when the program has gone on. An array is filled with what its
// memory holds when all that may write there is done.
bool Session::resume(CreateTexture& command) {
  const bool ofArray = command.request.source <= wire::TextureSource::mipmapped;
  if (!presence_.here() || (ofArray && !context_->idle())) return false;
  if (ofArray) fenced_ = false;
  Error error{CudaError::success, {}};
  if (command.made == 0) {
    const Result<std::uint64_t> made = context_->createTexture(command.request);
    if (made) {
      ++textures_;
      command.made = *made;
      if (ofArray && !context_->idle()) return false;
    } else {
      error = made.error();
      if (isSticky(error.code)) latch_.latch(error.code, error.message);
      else log(LogLevel::warning, "session " + std::to_string(id_) + ": a texture could not be made: " + error.message);
    }
  }
  wire::Slot& slot = segment_.slot(command.slot);
  slot.payload.store(command.made, std::memory_order_relaxed);
  wire::signal(slot, command.value, error.code);
  return true;
}

wire::DecodeStatus Session::on(const wire::TextureDestroy& command) {
  start(EndTexture{command.object});
  return {};
}

bool Session::resume(EndTexture& command) {
  if (endedTextures_ >= kMaxEndedTextures) {
    if (!context_->idle()) return false;
    fenced_ = false;
    endedTextures_ = 0;
  }
  if (context_->destroyTexture(command.object)) {
    --textures_;
    ++endedTextures_;
  } else {
    reject("TextureDestroy.object: no object that TextureCreate has made");
  }
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

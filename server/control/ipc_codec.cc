#include <cstring>

#include "server/control/codec_parts.h"

namespace rouse::channel::codec {
namespace {

capnp::Data::Reader bytesOf(const wire::IpcHandle& handle) {
  return {reinterpret_cast<const kj::byte*>(&handle), sizeof handle};
}

// None is a handle of zeros, which is none.
wire::IpcHandle readHandle(capnp::Data::Reader from) {
  wire::IpcHandle handle{};
  if (from.size() != 0 && from.size() != sizeof handle)
    throw OutOfRange{"a handle for other processes has " + std::to_string(from.size()) + " bytes, needed are " + std::to_string(sizeof handle)};
  if (from.size() == 0)
    handle.magic = 0;
  else
    std::memcpy(&handle, from.begin(), sizeof handle);
  return handle;
}

}  // namespace

void write(capnproto::Ipc::Builder to, const Ipc& from) {
  to.setAction(static_cast<std::uint8_t>(from.action));
  to.setSessionId(from.sessionId);
  to.setDeviceIndex(from.deviceIndex);
  write(to.initRange(), from.range);
  to.setPage(from.page);
  to.setHandle(bytesOf(from.handle));
}

Ipc read(capnproto::Ipc::Reader from) {
  return {.action = readAtMost("what is asked of memory of other processes", from.getAction(), IpcAction::mapEvent),
          .sessionId = from.getSessionId(),
          .deviceIndex = from.getDeviceIndex(),
          .range = read(from.getRange()),
          .page = from.getPage(),
          .handle = readHandle(from.getHandle())};
}

void write(capnproto::Shared::Builder to, const Shared& from) {
  to.setHandle(bytesOf(from.handle));
  write(to.initRange(), from.range);
  to.setPage(from.page);
  to.setInUse(from.inUse);
}

Shared read(capnproto::Shared::Reader from) {
  return {.handle = readHandle(from.getHandle()), .range = read(from.getRange()), .page = from.getPage(), .inUse = from.getInUse()};
}

}  // namespace rouse::channel::codec

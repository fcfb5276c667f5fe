// Only for the codec's own files: parts of messages, by family. Cap'n Proto stays there and here. What is read and is out of range
// throws OutOfRange; what is malformed throws what Cap'n Proto throws.
#pragma once

#include <string>

#include "control.capnp.h"
#include "server/control/message.h"

namespace rouse::channel::codec {

namespace capnproto = rouse::control;

struct OutOfRange {
  std::string message;
};

inline void write(capnproto::Error::Builder to, const Error& from) {
  to.setCode(static_cast<std::uint32_t>(from.code));
  to.setMessage(from.message);
}
inline void write(capnproto::Range::Builder to, AddressRange from) {
  to.setBase(from.base);
  to.setBytes(from.bytes);
}

inline std::string read(capnp::Text::Reader text) { return {text.begin(), text.size()}; }
inline Error read(capnproto::Error::Reader from) { return {static_cast<CudaError>(from.getCode()), read(from.getMessage())}; }

inline AddressRange read(capnproto::Range::Reader from) {
  const AddressRange range{from.getBase(), from.getBytes()};
  if (range.end() < range.base) throw OutOfRange{"an address range wraps round"};
  return range;
}

template <class Kind>
Kind readAtMost(const char* what, std::uint8_t value, Kind greatest) {
  if (value > static_cast<std::uint8_t>(greatest))
    throw OutOfRange{std::string(what) + " is " + std::to_string(value) + ", the greatest is " +
                     std::to_string(static_cast<unsigned>(greatest))};
  return static_cast<Kind>(value);
}

// ipc_codec.cc
void write(capnproto::Ipc::Builder, const Ipc&);
Ipc read(capnproto::Ipc::Reader);
void write(capnproto::Shared::Builder, const Shared&);
Shared read(capnproto::Shared::Reader);

// device_codec.cc
void write(capnproto::DeviceInfo::Builder, const memory::DeviceProperties&);
memory::DeviceProperties read(capnproto::DeviceInfo::Reader);
void write(capnproto::Link::Builder, const memory::LinkDescription&);
memory::LinkDescription read(capnproto::Link::Reader);
void write(capnproto::Attach::Builder, const Attach&);
Attach read(capnproto::Attach::Reader);
void write(capnproto::Attached::Builder, const Attached&);
Attached read(capnproto::Attached::Reader);
void write(capnproto::Describe::Builder, const Describe&);
Describe read(capnproto::Describe::Reader);
void write(capnproto::Described::Builder, const Described&);
Described read(capnproto::Described::Reader);

// module_codec.cc
void write(capnproto::ModuleInfo::Builder, const ModuleInfo&);
ModuleInfo read(capnproto::ModuleInfo::Reader);

// session_codec.cc
void write(capnproto::ExecutorReady::Builder, const ExecutorReady&);
ExecutorReady read(capnproto::ExecutorReady::Reader);
void write(capnproto::OpenSession::Builder, const OpenSession&);
OpenSession read(capnproto::OpenSession::Reader);
void write(capnproto::AdoptionOffer::Builder, const AdoptionOffer&);
AdoptionOffer read(capnproto::AdoptionOffer::Reader);
void write(capnproto::HeldSession::Builder, const HeldSession&);
HeldSession read(capnproto::HeldSession::Reader);

// status_codec.cc
void write(capnproto::ExecutorStatus::SessionUsage::Builder, const SessionUsage&);
SessionUsage read(capnproto::ExecutorStatus::SessionUsage::Reader);
void write(capnproto::ExecutorStatus::Builder, const ExecutorStatus&);
ExecutorStatus read(capnproto::ExecutorStatus::Reader);

}  // namespace rouse::channel::codec

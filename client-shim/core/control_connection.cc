#include "client-shim/core/control_connection.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "client-shim/core/log.h"
#include "control.capnp.h"
#include "schemas/control/frame.h"
#include "schemas/wire/commands.h"
#include "schemas/wire/segment.h"

namespace rouse::client {

namespace {

Error failure(CudaError code, std::string message) { return {code, std::move(message)}; }

Error lost(const std::string& what) { return failure(CudaError::devicesUnavailable, "control connection: " + what); }

CudaError codeOf(std::uint32_t code) { return code == 0 ? CudaError::unknown : static_cast<CudaError>(code); }

AddressRange rangeOf(control::Range::Reader range) { return {range.getBase(), range.getBytes()}; }

DeviceInfo infoOf(control::DeviceInfo::Reader properties) {
  DeviceInfo info;
  info.name = properties.getName().cStr();
  info.uuid = properties.getUuid().cStr();
  info.pciAddress = properties.getPciAddress().cStr();
  info.memoryBytes = properties.getMemoryBytes();
  info.computeMajor = properties.getComputeMajor();
  info.computeMinor = properties.getComputeMinor();
  const auto attributes = properties.getAttributes();
  for (const std::int32_t attribute : attributes) info.attributes.push_back(attribute);
  info.placesVariables = properties.getPlacesVariables();
  info.leavesProcessors = properties.getLeavesProcessors();
  info.dnnVersion = properties.getDnnVersion();
  return info;
}

DeviceInfo infoOf(control::VirtualDevice::Reader device) {
  DeviceInfo info = infoOf(device.getProperties());
  info.window = rangeOf(device.getWindow());
  info.memoryLimit = device.getMemoryLimit();
  info.spin = device.getSpin();
  return info;
}

std::unique_ptr<Kernel> kernelOf(control::ModuleInfo::Kernel::Reader from, std::uint32_t index) {
  auto kernel = std::make_unique<Kernel>();
  kernel->index = index;
  kernel->name = from.getName().cStr();
  const auto offsets = from.getParameterOffsets();
  const auto bytes = from.getParameterBytes();
  for (std::uint32_t i = 0; i < offsets.size() && i < bytes.size(); ++i) {
    kernel->parameters.push_back({offsets[i], bytes[i]});
  }
  kernel->parameterBytes = from.getBlockBytes();
  kernel->staticSharedBytes = from.getStaticSharedBytes();
  kernel->localBytes = from.getLocalBytes();
  kernel->constantBytes = from.getConstantBytes();
  kernel->maxThreadsPerBlock = from.getMaxThreadsPerBlock();
  kernel->registers = from.getRegisters();
  kernel->ptxVersion = from.getPtxVersion();
  kernel->binaryVersion = from.getBinaryVersion();
  kernel->cluster.store(from.getCluster(), std::memory_order_relaxed);
  kernel->clusterIsCompiled = from.getCluster() != 0;
  kernel->clusterMustBeSet = from.getClusterMustBeSet();
  return kernel;
}

// Parameters must lie in the block: launches write by these offsets without looking again.
Status checkKernel(const Kernel& kernel) {
  if (kernel.parameterBytes > wire::Launch::kMaxPayloadBytes) {
    return failure(CudaError::invalidKernelImage, kernel.name + ": parameter block of " +
                                                      std::to_string(kernel.parameterBytes) + " bytes, the limit is " +
                                                      std::to_string(wire::Launch::kMaxPayloadBytes));
  }
  for (const Parameter& parameter : kernel.parameters) {
    if (!AddressRange{0, kernel.parameterBytes}.contains(parameter.offset, parameter.bytes)) {
      return failure(CudaError::invalidKernelImage,
                     kernel.name + ": a parameter at " + std::to_string(parameter.offset) + " of " +
                         std::to_string(parameter.bytes) + " bytes lies outside the block of " +
                         std::to_string(kernel.parameterBytes));
    }
  }
  return {};
}

constexpr std::uint64_t kTryNs = 20'000'000;
// After its executors have given up: they are who says that the session is lost.
constexpr std::uint64_t kGraceNs = 10'000'000'000;
constexpr std::uint64_t kReattachRequest = ~std::uint64_t{0};

std::uint64_t nowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

struct ControlConnection::Received {
  kj::Array<capnp::word> words;
  std::vector<wire::OwnedFd> fds;
  std::unique_ptr<capnp::FlatArrayMessageReader> reader;
  control::Message::Reader message() const { return reader->getRoot<control::Message>(); }
};

Result<std::unique_ptr<ControlConnection>> ControlConnection::connect(const std::string& socketPath) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socketPath.size() >= sizeof address.sun_path) {
    return failure(CudaError::noDevice, "socket path " + socketPath + " is longer than " +
                                            std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, socketPath.data(), socketPath.size());
  wire::OwnedFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!socket) return failure(CudaError::noDevice, std::string("socket: ") + std::strerror(errno));
  int failed;
  do {
    failed = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0 && errno == EACCES) return failure(CudaError::noDevice, "the daemon's socket " + socketPath + " is not open to this user");
  if (failed != 0) return failure(CudaError::noDevice, "no daemon at " + socketPath + ": " + std::strerror(errno));
  return std::unique_ptr<ControlConnection>(new ControlConnection(std::move(socket), socketPath));
}

Status ControlConnection::send(const void* words, std::size_t bytes, int fd) {
  control::FrameHeader header{control::kFrameMagic, static_cast<std::uint32_t>(bytes), fd >= 0 ? 1u : 0u, 0};
  iovec parts[] = {{&header, sizeof header}, {const_cast<void*>(words), bytes}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  std::size_t left = sizeof header + bytes;
  while (left != 0) {
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return lost(std::string("sending: ") + std::strerror(errno));
    left -= static_cast<std::size_t>(sent);
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    auto skipped = static_cast<std::size_t>(sent);
    while (message.msg_iovlen != 0 && skipped >= message.msg_iov->iov_len) {
      skipped -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen != 0) {
      message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + skipped;
      message.msg_iov->iov_len -= skipped;
    }
  }
  return {};
}

Result<ControlConnection::Received> ControlConnection::receive() {
  Received received;
  auto readAll = [&](void* to, std::size_t bytes) -> Status {
    auto* at = static_cast<char*>(to);
    while (bytes != 0) {
      iovec part{at, bytes};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * control::kMaxFrameFds)];
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return lost(std::string("receiving: ") + std::strerror(errno));
      if (got == 0) return lost("closed by the daemon");
      for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
          int fd;
          std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
          received.fds.emplace_back(fd);
        }
      }
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
    return {};
  };

  control::FrameHeader header;
  if (Status status = readAll(&header, sizeof header); !status) return status.error();
  if (header.magic != control::kFrameMagic || header.bytes == 0 || header.bytes > control::kMaxFrameBytes ||
      header.bytes % sizeof(capnp::word) != 0) {
    return lost("malformed frame: magic " + std::to_string(header.magic) + ", " + std::to_string(header.bytes) +
                " bytes, the limit is " + std::to_string(control::kMaxFrameBytes));
  }
  received.words = kj::heapArray<capnp::word>(header.bytes / sizeof(capnp::word));
  if (Status status = readAll(received.words.begin(), header.bytes); !status) return status.error();
  if (received.fds.size() != header.fdCount) {
    return lost("frame announces " + std::to_string(header.fdCount) + " descriptors, " +
                std::to_string(received.fds.size()) + " came");
  }
  received.reader = std::make_unique<capnp::FlatArrayMessageReader>(received.words.asPtr());
  return received;
}

bool ControlConnection::takeNotice(const Received& received) {
  const auto message = received.message();
  if (message.getId() != 0) return false;
  if (message.isCutOff()) {
    log(LogLevel::error, "cut off by the daemon: %s", message.getCutOff().getMessage().cStr());
    closed_.store(true, std::memory_order_relaxed);
  }
  return true;
}

Result<ControlConnection::Received> ControlConnection::call(const void* words, std::size_t bytes, int fd,
                                                            std::uint64_t id) {
  for (;;) {
    if (closed_.load(std::memory_order_relaxed)) return lost("closed");
    if (link_ != Link::attached && !awaitDaemon()) return lost("closed");
    auto answered = callOnce(words, bytes, fd, id);
    // What was asked of a daemon that is gone is asked of the next: it changes nothing to ask twice.
    if (answered || link_ == Link::attached) return answered;
  }
}

Result<ControlConnection::Received> ControlConnection::callOnce(const void* words, std::size_t bytes, int fd, std::uint64_t id) {
  const auto fail = [&](Error error) {
    if (mayReattach())
      detach(error);
    else
      closed_.store(true, std::memory_order_relaxed);
    return error;
  };
  if (Status status = send(words, bytes, fd); !status) {
    // The reason may be waiting in the socket.
    if (auto last = receive(); last.ok()) takeNotice(*last);
    return fail(status.error());
  }
  for (;;) {
    auto received = receive();
    if (!received) return fail(received.error());
    if (takeNotice(*received)) continue;
    const auto message = received->message();
    if (message.getId() != id) {
      return fail(lost("answer to request " + std::to_string(message.getId()) + ", expected " + std::to_string(id)));
    }
    if (message.isError()) {
      return failure(codeOf(message.getError().getCode()), message.getError().getMessage().cStr());
    }
    return received;
  }
}

Result<Attachment> ControlConnection::attach(const AttachRequest& request) try {
  const std::lock_guard lock(mutex_);
  capnp::MallocMessageBuilder builder;
  auto message = builder.initRoot<control::Message>();
  message.setId(++lastId_);
  auto attach = message.initAttach();
  attach.setProtocol(control::PROTOCOL_VERSION);
  attach.setWireHash(wire::kWireHash);
  attach.setToken(request.token);
  attach.setLibrary(request.library);
  attach.setApiNames(request.apiNames);
  attach.setProgram(request.program);
  const auto words = capnp::messageToFlatArray(builder);
  auto received = call(words.begin(), words.asBytes().size(), -1, lastId_);
  if (!received) return received.error();
  if (!received->message().isAttached()) return lost("the answer to attach is another message");

  const auto attached = received->message().getAttached();
  const auto devices = attached.getDevices();
  if (devices.size() > wire::kMaxDevices || received->fds.size() != 2 + 2 * devices.size()) {
    return lost("attached with " + std::to_string(devices.size()) + " devices (the limit is " +
                std::to_string(wire::kMaxDevices) + ") and " + std::to_string(received->fds.size()) + " descriptors");
  }
  Attachment attachment;
  attachment.sessionId = attached.getSessionId();
  attachment.hostWindow = rangeOf(attached.getHostWindow());
  attachment.key = attached.getKey().cStr();
  attachment.orphanMs = attached.getOrphanMs();
  attachment.check = attached.getCheck();
  auto fd = received->fds.begin();
  attachment.sessionSegment = std::move(*fd++);
  attachment.hostMemory = std::move(*fd++);
  for (const auto device : devices) {
    Attachment::Device& added = attachment.devices.emplace_back();
    added.info = infoOf(device);
    added.ring = std::move(*fd++);
    added.wake = std::move(*fd++);
  }
  sessionId_ = attachment.sessionId;
  key_ = attachment.key;
  token_ = request.token;
  orphanNs_ = key_.empty() ? 0 : std::uint64_t{attachment.orphanMs} * 1'000'000;
  return attachment;
} catch (const kj::Exception& exception) {
  return lost(std::string("malformed message: ") + exception.getDescription().cStr());
}

Result<std::vector<DescribedDevice>> ControlConnection::describe(const std::string& token, std::uint64_t sessionId) try {
  const std::lock_guard lock(mutex_);
  capnp::MallocMessageBuilder builder;
  auto message = builder.initRoot<control::Message>();
  message.setId(++lastId_);
  auto describe = message.initDescribe();
  describe.setProtocol(control::PROTOCOL_VERSION);
  describe.setWireHash(wire::kWireHash);
  describe.setToken(token);
  describe.setSessionId(sessionId);
  const auto words = capnp::messageToFlatArray(builder);
  auto received = call(words.begin(), words.asBytes().size(), -1, lastId_);
  if (!received) return received.error();
  if (!received->message().isDescribed()) return lost("the answer to describe is another message");
  const auto devices = received->message().getDescribed().getDevices();
  if (devices.size() > wire::kMaxDevices)
    return lost("described with " + std::to_string(devices.size()) + " devices, the limit is " + std::to_string(wire::kMaxDevices));
  std::vector<DescribedDevice> described;
  for (const auto device : devices) {
    described.push_back({infoOf(device.getProperties()), device.getFreeBytes(), device.getBusyNs(), device.getPcieGeneration(), device.getPcieGenerationAtMost(),
                         device.getPcieWidth(), device.getPcieWidthAtMost()});
    described.back().info.memoryLimit = device.getMemoryLimit();
  }
  return described;
} catch (const kj::Exception& exception) {
  return lost(std::string("malformed message: ") + exception.getDescription().cStr());
}

Result<ModuleListing> ControlConnection::loadModule(std::uint32_t deviceIndex, int fd, std::uint64_t offset,
                                                    std::uint64_t size) try {
  const std::lock_guard lock(mutex_);
  capnp::MallocMessageBuilder builder;
  auto message = builder.initRoot<control::Message>();
  message.setId(++lastId_);
  auto load = message.initLoadModule();
  load.setOffset(offset);
  load.setSize(size);
  load.setDeviceIndex(deviceIndex);
  const auto words = capnp::messageToFlatArray(builder);
  auto received = call(words.begin(), words.asBytes().size(), fd, lastId_);
  if (!received) return received.error();
  if (!received->message().isModuleInfo()) return lost("the answer to loadModule is another message");

  const auto info = received->message().getModuleInfo();
  ModuleListing listing;
  listing.moduleId = info.getModuleId();
  for (const auto kernel : info.getKernels()) {
    listing.kernels.push_back(kernelOf(kernel, static_cast<std::uint32_t>(listing.kernels.size())));
    if (Status status = checkKernel(*listing.kernels.back()); !status) return status.error();
  }
  for (const auto variable : info.getVariables()) {
    listing.variables.push_back(
        {variable.getName().cStr(), variable.getBytes(), static_cast<VariableSpace>(variable.getSpace()), 0});
    listing.alignments.push_back(variable.getAlignment());
  }
  return listing;
} catch (const kj::Exception& exception) {
  return lost(std::string("malformed message: ") + exception.getDescription().cStr());
}

Result<IpcAnswer> ControlConnection::ipc(const IpcRequest& request, int fd) try {
  const std::lock_guard lock(mutex_);
  capnp::MallocMessageBuilder builder;
  auto message = builder.initRoot<control::Message>();
  message.setId(++lastId_);
  auto ipc = message.initIpc();
  ipc.setAction(static_cast<std::uint8_t>(request.action));
  ipc.setDeviceIndex(request.deviceIndex);
  ipc.initRange().setBase(request.range.base);
  ipc.getRange().setBytes(request.range.bytes);
  ipc.setPage(request.page);
  ipc.setHandle({reinterpret_cast<const kj::byte*>(&request.handle), sizeof request.handle});
  const auto words = capnp::messageToFlatArray(builder);
  auto received = call(words.begin(), words.asBytes().size(), fd, lastId_);
  if (!received) return received.error();
  if (!received->message().isShared()) return lost("the answer to ipc is another message");
  const auto shared = received->message().getShared();
  const auto handle = shared.getHandle();
  if (handle.size() != sizeof(wire::IpcHandle)) return lost("a handle of " + std::to_string(handle.size()) + " bytes");
  IpcAnswer answer{.range = rangeOf(shared.getRange()), .page = shared.getPage(), .inUse = shared.getInUse()};
  std::memcpy(&answer.handle, handle.begin(), sizeof answer.handle);
  if (!received->fds.empty()) answer.memory = std::move(received->fds[0]);
  return answer;
} catch (const kj::Exception& exception) {
  return lost(std::string("malformed message: ") + exception.getDescription().cStr());
}

bool ControlConnection::closed() try {
  if (closed_.load(std::memory_order_relaxed)) return true;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (link_ != Link::attached && !seek()) return closed_.load(std::memory_order_relaxed);
  for (;;) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 0) <= 0) return closed_.load(std::memory_order_relaxed);
    auto received = receive();
    if (!received && mayReattach()) {
      detach(received.error());
      return seek() ? false : closed_.load(std::memory_order_relaxed);
    }
    if (!received) {
      if (!closed_.exchange(true)) log(LogLevel::error, "%s", received.error().message.c_str());
      return true;
    }
    takeNotice(*received);
  }
} catch (const kj::Exception& exception) {
  log(LogLevel::error, "malformed message: %s", exception.getDescription().cStr());
  closed_.store(true, std::memory_order_relaxed);
  return true;
}

void ControlConnection::abandonInChild() {
  socket_.reset();
  orphanNs_ = 0;
}

// --- Another daemon

void ControlConnection::detach(const Error& how) {
  log(LogLevel::warn, "%s; the session goes on", how.message.c_str());
  socket_.reset();
  link_ = Link::seeking;
  detachedAt_ = nowNs();
  triedAt_ = 0;
}

void ControlConnection::giveUp(const char* why) {
  if (!closed_.exchange(true)) log(LogLevel::error, "%s", why);
}

bool ControlConnection::seek() {
  if (closed_.load(std::memory_order_relaxed)) return false;
  const std::uint64_t now = nowNs();
  if (link_ == Link::seeking && now - triedAt_ >= kTryNs) {
    triedAt_ = now;
    ask();
  }
  if (link_ == Link::asked) {
    pollfd answer{socket_.get(), POLLIN, 0};
    if (::poll(&answer, 1, 0) > 0) {
      if (Status status = checkAnswer(); !status) {
        giveUp(status.error().message.c_str());
        return false;
      }
    }
  }
  if (link_ == Link::attached) {
    log(LogLevel::info, "attached to another daemon");
    return true;
  }
  if (now - detachedAt_ > orphanNs_ + kGraceNs) giveUp("control connection: no other daemon has come");
  return false;
}

bool ControlConnection::awaitDaemon() {
  while (!seek()) {
    if (closed_.load(std::memory_order_relaxed)) return false;
    const timespec pause{0, static_cast<long>(kTryNs)};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

// Nobody there is no reason to give up: it is being started.
void ControlConnection::ask() {
  auto next = connect(path_);
  if (!next) return;
  socket_ = std::move((*next)->socket_);
  capnp::MallocMessageBuilder builder;
  auto message = builder.initRoot<control::Message>();
  message.setId(kReattachRequest);
  auto reattach = message.initReattach();
  reattach.setProtocol(control::PROTOCOL_VERSION);
  reattach.setWireHash(wire::kWireHash);
  reattach.setSessionId(sessionId_);
  reattach.setKey(key_);
  reattach.setToken(token_);
  const auto words = capnp::messageToFlatArray(builder);
  if (send(words.begin(), words.asBytes().size(), -1)) link_ = Link::asked;
}

// The connection's end is no answer: that daemon is gone, too. What it says is.
Status ControlConnection::checkAnswer() {
  auto received = receive();
  if (!received) {
    socket_.reset();
    link_ = Link::seeking;
    return {};
  }
  const auto message = received->message();
  if (message.isOk() && message.getId() == kReattachRequest) {
    link_ = Link::attached;
    return {};
  }
  if (message.isError()) return lost(message.getError().getMessage().cStr());
  if (message.isCutOff()) return lost(message.getCutOff().getMessage().cStr());
  return lost("the answer to reattach is another message");
}

}  // namespace rouse::client

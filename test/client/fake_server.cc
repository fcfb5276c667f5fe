#include "test/client/fake_server.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "control.capnp.h"
#include "schemas/control/frame.h"

namespace rouse::test {

namespace {

// Addresses that nothing else in this process uses: far below where mmap(2) begins, where sanitizers allow them.
AddressRange freeRange(std::uint64_t bytes) {
  static std::atomic<std::uint64_t> next{0x7e90'0000'0000};
  return {next.fetch_add(roundUp(bytes, kGranuleBytes) + kGranuleBytes), bytes};
}

bool receive(int socket, kj::Array<capnp::word>& words, std::vector<int>& fds) {
  control::FrameHeader header;
  iovec part{&header, sizeof header};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * control::kMaxFrameFds)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  if (::recvmsg(socket, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC) != sizeof header) return false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    fds.resize(count);
    std::memcpy(fds.data(), CMSG_DATA(c), count * sizeof(int));
  }
  words = kj::heapArray<capnp::word>(header.bytes / 8);
  return ::recv(socket, words.begin(), header.bytes, MSG_WAITALL) == static_cast<ssize_t>(header.bytes);
}

void send(int socket, capnp::MessageBuilder& builder, const std::vector<int>& fds = {}) {
  const auto words = capnp::messageToFlatArray(builder);
  control::FrameHeader header{control::kFrameMagic, static_cast<std::uint32_t>(words.asBytes().size()),
                              static_cast<std::uint32_t>(fds.size()), 0};
  iovec parts[] = {{&header, sizeof header}, {const_cast<capnp::word*>(words.begin()), header.bytes}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  std::vector<char> space(CMSG_SPACE(sizeof(int) * fds.size()));
  if (!fds.empty()) {
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
  }
  [[maybe_unused]] const auto sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

void sendError(int socket, std::uint64_t id, CudaError code, const std::string& text) {
  capnp::MallocMessageBuilder builder;
  auto message = builder.initRoot<control::Message>();
  message.setId(id);
  auto error = message.initError();
  error.setCode(static_cast<std::uint32_t>(code));
  error.setMessage(text);
  send(socket, builder);
}

void describeModule(control::ModuleInfo::Builder info) {
  struct Described {
    const char* name;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> parameters;
    std::uint32_t bytes, threads;
  };
  const Described kernels[] = {{"fillWords", {{0, 8}, {8, 8}, {16, 4}}, 20, 1024},
                               {"addOne", {{0, 8}, {8, 8}}, 16, 256},
                               {"fault", {{0, 4}}, 4, 1024},
                               {"print", {{0, 4}}, 4, 1024},
                               {"sleepMicros", {{0, 4}}, 4, 1024}};
  info.setModuleId(77);
  auto list = info.initKernels(std::size(kernels));
  for (std::uint32_t i = 0; i < std::size(kernels); ++i) {
    auto kernel = list[i];
    kernel.setName(kernels[i].name);
    auto offsets = kernel.initParameterOffsets(static_cast<unsigned>(kernels[i].parameters.size()));
    auto bytes = kernel.initParameterBytes(static_cast<unsigned>(kernels[i].parameters.size()));
    for (std::uint32_t p = 0; p < kernels[i].parameters.size(); ++p) {
      offsets.set(p, kernels[i].parameters[p].first);
      bytes.set(p, kernels[i].parameters[p].second);
    }
    kernel.setBlockBytes(kernels[i].bytes);
    kernel.setMaxThreadsPerBlock(kernels[i].threads);
    kernel.setStaticSharedBytes(1024);
  }
  const char* names[] = {"deviceVariable", "constantVariable", "managedVariable"};
  auto variables = info.initVariables(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    variables[i].setName(names[i]);
    variables[i].setBytes(kVariableBytes);
    variables[i].setAlignment(16);
    variables[i].setSpace(static_cast<std::uint8_t>(i));
  }
}

void describeDevice(std::uint32_t index, std::uint64_t bytes, control::DeviceInfo::Builder properties) {
  char text[64];
  properties.setName("Test device");
  std::snprintf(text, sizeof text, "GPU-12345678-9abc-def0-1234-5678%08x", index);
  properties.setUuid(text);
  std::snprintf(text, sizeof text, "0001:%02x:00.0", 0x3b + index);
  properties.setPciAddress(text);
  properties.setMemoryBytes(bytes);
  properties.setComputeMajor(7);
  auto attributes = properties.initAttributes(38);
  attributes.set(1, 1024);
  attributes.set(13, 1'590'000);  // kHz
  attributes.set(16, 4);          // multiprocessors
  attributes.set(32, 1);          // ECC
  attributes.set(36, 5'001'000);  // kHz, memory
  attributes.set(37, 256);        // bits
}

}  // namespace

FakeServer::FakeServer(const ServerSetting& setting) : setting_(setting) {
  char pattern[] = "/tmp/rouse-client-test-XXXXXX";
  folder_ = ::mkdtemp(pattern);
  path_ = folder_ + "/sock";
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener_, 16) != 0) {
    throw std::runtime_error("cannot listen at " + path_);
  }
  listening_ = std::thread([this] { listen(); });
}

FakeServer::~FakeServer() {
  ::shutdown(listener_, SHUT_RDWR);
  listening_.join();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  hangUp();
  for (std::thread& thread : serving_) thread.join();
  for (const int connection : connections_) ::close(connection);
  ::close(listener_);
  std::string broken;
  for (const auto& executor : executors_) {
    executor->stop();
    broken += executor->rejection();
  }
  removeFolder();
  if (!broken.empty()) {
    std::fprintf(stderr, "the client broke a rule: %s\n", broken.c_str());
    std::abort();
  }
}

void FakeServer::removeFolder() const { std::filesystem::remove_all(folder_); }

client::AttachOptions FakeServer::attachOptions() const {
  client::AttachOptions options;
  options.socketPath = path_;
  options.token = setting_.token;
  options.library = "libtest.so";
  options.program = "test";
  return options;
}

std::unique_ptr<client::Session> FakeServer::attach() const {
  auto session = client::Session::attach(attachOptions());
  if (!session) FAIL(session.error().message);
  return std::move(*session);
}

void FakeServer::listen() {
  for (;;) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    const std::lock_guard lock(mutex_);
    connections_.push_back(connection);
    serving_.emplace_back([this, connection] {
      serve(connection);
      letGo();
    });
  }
}

// A pool that is never destroyed joins nobody.
void FakeServer::letGo() {
  const std::lock_guard lock(mutex_);
  const auto self = std::find_if(serving_.begin(), serving_.end(), [](const std::thread& each) { return each.get_id() == std::this_thread::get_id(); });
  if (ending_ || self == serving_.end()) return;
  self->detach();
  serving_.erase(self);
}

void FakeServer::serve(int connection) {
  for (;;) {
    kj::Array<capnp::word> words;
    std::vector<int> fds;
    if (!receive(connection, words, fds)) return;
    capnp::FlatArrayMessageReader reader(words.asPtr());
    const auto message = reader.getRoot<control::Message>();
    if (message.isAttach()) {
      if (setting_.refusal != CudaError::success) {
        sendError(connection, message.getId(), setting_.refusal, "refused by the test");
      } else if (setting_.token != message.getAttach().getToken().cStr()) {
        sendError(connection, message.getId(), CudaError::notPermitted, "no such token");
      } else {
        attachClient(connection, message.getId());
      }
    } else if (message.isDescribe()) {
      ++descriptions;
      if (setting_.refusal != CudaError::success) {
        sendError(connection, message.getId(), setting_.refusal, "refused by the test");
      } else {
        describeTo(connection, message.getId());
      }
    } else if (message.isLoadModule()) {
      const auto load = message.getLoadModule();
      std::string text(load.getSize(), '\0');
      const ssize_t got = ::pread(fds.at(0), text.data(), text.size(), static_cast<off_t>(load.getOffset()));
      {
        const std::lock_guard lock(mutex_);
        lastModule_ = text;
      }
      if (got != static_cast<ssize_t>(text.size()) || text.rfind("good", 0) != 0) {
        sendError(connection, message.getId(), CudaError::invalidPtx, "line 1: this is not PTX");
      } else {
        capnp::MallocMessageBuilder builder;
        auto answer = builder.initRoot<control::Message>();
        answer.setId(message.getId());
        describeModule(answer.initModuleInfo());
        send(connection, builder);
      }
    }
    for (const int fd : fds) ::close(fd);
  }
}

void FakeServer::describeTo(int connection, std::uint64_t id) {
  capnp::MallocMessageBuilder builder;
  auto message = builder.initRoot<control::Message>();
  message.setId(id);
  auto devices = message.initDescribed().initDevices(setting_.devices);
  for (std::uint32_t index = 0; index < setting_.devices; ++index) {
    describeDevice(index, setting_.memoryLimit, devices[index].initProperties());
    devices[index].setMemoryLimit(setting_.memoryLimit);
    devices[index].setFreeBytes(freeBytes);
    devices[index].setBusyNs(busyNs);
    devices[index].setPcieGeneration(4);
    devices[index].setPcieGenerationAtMost(5);
    devices[index].setPcieWidth(index == 0 ? 8 : 0);
    devices[index].setPcieWidthAtMost(16);
  }
  send(connection, builder);
}

void FakeServer::attachClient(int connection, std::uint64_t id) {
  ++attachments;
  const AddressRange hostWindow = freeRange(setting_.hostWindowBytes);
  wire::OwnedFd session = wire::SessionSegment::create(7, setting_.devices).value();
  wire::OwnedFd host = wire::createSealedMemfd("test-host", setting_.hostWindowBytes).value();
  if (setting_.wrongWire) {
    const std::uint64_t wrong = 1;
    [[maybe_unused]] const auto written =
        ::pwrite(session.get(), &wrong, sizeof wrong, offsetof(wire::SessionHeader, wireHash));
  }
  std::vector<AddressRange> windows;
  std::vector<wire::OwnedFd> rings, bells;
  std::vector<int> fds = {session.get(), host.get()};
  for (std::uint32_t index = 0; index < setting_.devices; ++index) {
    windows.push_back(freeRange(setting_.windowBytes));
    rings.push_back(wire::RingSegment::create(index).value());
    bells.emplace_back(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    fds.push_back(rings[index].get());
    fds.push_back(bells[index].get());
    const std::lock_guard lock(mutex_);
    executors_.push_back(std::make_unique<ExecutorDouble>(
        ExecutorSetting{index, windows[index], hostWindow, setting_.memoryLimit, setting_.seed + index, setting_.check != 0}, session.get(),
        host.get(), rings[index].get(), bells[index].get()));
  }

  capnp::MallocMessageBuilder builder;
  auto message = builder.initRoot<control::Message>();
  message.setId(id);
  auto attached = message.initAttached();
  attached.setSessionId(7);
  attached.setCheck(setting_.check);
  attached.initHostWindow().setBase(hostWindow.base);
  attached.getHostWindow().setBytes(hostWindow.bytes);
  auto devices = attached.initDevices(setting_.devices);
  for (std::uint32_t index = 0; index < setting_.devices; ++index) {
    auto device = devices[index];
    device.initWindow().setBase(windows[index].base);
    device.getWindow().setBytes(windows[index].bytes);
    device.setMemoryLimit(setting_.memoryLimit);
    device.setSpin(setting_.spin);
    describeDevice(index, setting_.memoryLimit, device.initProperties());
  }
  {
    const std::lock_guard lock(mutex_);
    sessionFd_.reset(::dup(session.get()));
  }
  send(connection, builder, fds);
}

void FakeServer::cutOff(const std::string& reason) {
  capnp::MallocMessageBuilder builder;
  auto error = builder.initRoot<control::Message>().initCutOff();
  error.setCode(static_cast<std::uint32_t>(CudaError::invalidValue));
  error.setMessage(reason);
  {
    const std::lock_guard lock(mutex_);
    for (const int connection : connections_) send(connection, builder);
  }
  hangUp();
}

void FakeServer::hangUp() {
  const std::lock_guard lock(mutex_);
  for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
}

std::uint32_t FakeServer::unsupportedCalls(std::uint32_t apiId) const {
  const std::lock_guard lock(mutex_);
  std::uint32_t count = 0;
  [[maybe_unused]] const auto got =
      ::pread(sessionFd_.get(), &count, sizeof count,
              static_cast<off_t>(offsetof(wire::SessionHeader, unsupportedCalls) + apiId * sizeof count));
  return count;
}

std::string FakeServer::lastModule() const {
  const std::lock_guard lock(mutex_);
  return lastModule_;
}

FakeServer& poolOfThisProcess() {
  static FakeServer& running = *[] {
    ServerSetting setting;
    setting.devices = 2;
    auto* made = new FakeServer(setting);
    ::setenv("ROUSE_SOCKET", made->socketPath().c_str(), 1);
    // The shims' own end comes behind every object's: the pool stays, only its folder goes.
    std::atexit([] { poolOfThisProcess().removeFolder(); });
    return made;
  }();
  return running;
}

}  // namespace rouse::test

#include "server/control/codec.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>
#include <stdexcept>

#include "control.capnp.h"
#include "server/control/session_recipe_codec.h"

namespace rouse::channel {
namespace {

namespace capnproto = rouse::control;

static_assert(kProtocolVersion == capnproto::PROTOCOL_VERSION);

struct OutOfRange {
  std::string message;
};

void write(capnproto::Error::Builder to, const Error& from) {
  to.setCode(static_cast<std::uint32_t>(from.code));
  to.setMessage(from.message);
}
void write(capnproto::Range::Builder to, AddressRange from) {
  to.setBase(from.base);
  to.setBytes(from.bytes);
}
void write(capnproto::DeviceInfo::Builder to, const memory::DeviceProperties& from) {
  to.setName(from.name);
  to.setUuid(from.uuid);
  to.setPciAddress(from.pciAddress);
  to.setMemoryBytes(from.memoryBytes);
  to.setComputeMajor(from.computeMajor);
  to.setComputeMinor(from.computeMinor);
  auto attributes = to.initAttributes(static_cast<unsigned>(from.attributes.size()));
  for (unsigned i = 0; i < attributes.size(); ++i) attributes.set(i, from.attributes[i]);
  to.setPlacesVariables(from.placesVariables);
}
void write(capnp::List<capnproto::Link::Point>::Builder to, const memory::LinkCurve& from) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setBytes(from[i].bytes);
    to[i].setBytesPerSecond(from[i].bytesPerSecond);
  }
}
void write(capnproto::Link::Builder to, const memory::LinkDescription& from) {
  to.setPcieGeneration(from.pcieGeneration);
  to.setPcieGenerationAtMost(from.pcieGenerationAtMost);
  to.setPcieWidth(from.pcieWidth);
  to.setPcieWidthAtMost(from.pcieWidthAtMost);
  write(to.initToDevice(static_cast<unsigned>(from.toDevice.size())), from.toDevice);
  write(to.initToHost(static_cast<unsigned>(from.toHost.size())), from.toHost);
  to.setNumaNode(from.numaNode);
  to.setCpus(from.cpus);
  to.setNvlinksKnown(from.nvlinks.has_value());
  to.setNvlinks(from.nvlinks.value_or(0));
  to.setNvlinksToSwitches(from.nvlinksToSwitches);
  auto peers = to.initPeers(static_cast<unsigned>(from.peers.size()));
  for (unsigned i = 0; i < peers.size(); ++i) {
    peers[i].setUuid(from.peers[i].uuid);
    peers[i].setPciAddress(from.peers[i].pciAddress);
    peers[i].setAccess(from.peers[i].access);
    peers[i].setAtomics(from.peers[i].atomics);
    peers[i].setRank(from.peers[i].rank);
    peers[i].setNvlinks(from.peers[i].nvlinks);
    peers[i].setBytesPerSecond(from.peers[i].bytesPerSecond);
  }
  to.setSharedWay(from.sharedWay);
  to.setSharedBytesPerSecond(from.sharedBytesPerSecond);
}
void write(capnproto::Attach::Builder to, const Attach& from) {
  to.setProtocol(from.protocol);
  to.setWireHash(from.wireHash);
  to.setToken(from.token);
  to.setLibrary(from.library);
  to.setApiNames(from.apiNames);
  to.setProgram(from.program);
}
void write(capnproto::Attached::Builder to, const Attached& from) {
  to.setSessionId(from.sessionId);
  write(to.initHostWindow(), from.hostWindow);
  auto devices = to.initDevices(static_cast<unsigned>(from.devices.size()));
  for (unsigned i = 0; i < devices.size(); ++i) {
    write(devices[i].initWindow(), from.devices[i].window);
    devices[i].setMemoryLimit(from.devices[i].memoryLimit);
    write(devices[i].initProperties(), from.devices[i].properties);
    devices[i].setSpin(from.devices[i].spin);
  }
}
void write(capnproto::LoadModule::Builder to, const LoadModule& from) {
  to.setOffset(from.offset);
  to.setSize(from.size);
  to.setDeviceIndex(from.deviceIndex);
}
void write(capnproto::ModuleInfo::Builder to, const ModuleInfo& from) {
  to.setModuleId(from.moduleId);
  auto kernels = to.initKernels(static_cast<unsigned>(from.description.kernels.size()));
  for (unsigned i = 0; i < kernels.size(); ++i) {
    const memory::KernelDescription& kernel = from.description.kernels[i];
    auto out = kernels[i];
    out.setName(kernel.name);
    const auto count = static_cast<unsigned>(kernel.parameters.size());
    auto offsets = out.initParameterOffsets(count);
    auto bytes = out.initParameterBytes(count);
    for (unsigned p = 0; p < count; ++p) {
      offsets.set(p, kernel.parameters[p].offset);
      bytes.set(p, kernel.parameters[p].bytes);
    }
    out.setBlockBytes(kernel.parameterBytes);
    out.setStaticSharedBytes(kernel.staticSharedBytes);
    out.setLocalBytes(kernel.localBytes);
    out.setConstantBytes(kernel.constantBytes);
    out.setMaxThreadsPerBlock(kernel.maxThreadsPerBlock);
    out.setRegisters(kernel.registers);
    out.setPtxVersion(kernel.ptxVersion);
    out.setBinaryVersion(kernel.binaryVersion);
  }
  auto variables = to.initVariables(static_cast<unsigned>(from.description.variables.size()));
  for (unsigned i = 0; i < variables.size(); ++i) {
    const memory::VariableDescription& variable = from.description.variables[i];
    variables[i].setName(variable.name);
    variables[i].setBytes(variable.bytes);
    variables[i].setAlignment(variable.alignment);
    variables[i].setSpace(static_cast<std::uint8_t>(variable.space));
  }
}
void write(capnproto::ExecutorStatus::SessionUsage::Builder to, const SessionUsage& from) {
  to.setSessionId(from.sessionId);
  to.setReservedBytes(from.reservedBytes);
  to.setMappedBytes(from.mappedBytes);
  to.setHostBytes(from.hostBytes);
  to.setCommands(from.commands);
  to.setLaunches(from.launches);
  to.setError(from.error);
  to.setResidentBytes(from.residentBytes);
  to.setHomeBytes(from.homeBytes);
  to.setArrivals(from.arrivals);
  to.setDepartures(from.departures);
  to.setSavedBytes(from.savedBytes);
  to.setPlace(static_cast<std::uint8_t>(from.place));
  to.setPinned(from.pinned);
  to.setLastSavedBytes(from.lastSavedBytes);
  to.setRestingBytes(from.restingBytes);
  to.setReturnedBytes(from.returnedBytes);
  to.setLastDepartureNs(from.lastDepartureNs);
  to.setSharedHomeBytes(from.sharedHomeBytes);
  to.setPeerBytes(from.peerBytes);
  to.setSharedBytes(from.sharedBytes);
  to.setJoinedBytes(from.joinedBytes);
  writeConsumption(to.initConsumption(), from.consumption);
}
void write(capnproto::ExecutorStatus::Builder to, const ExecutorStatus& from) {
  to.setTotalBytes(from.totalBytes);
  to.setFreeBytes(from.freeBytes);
  to.setCommands(from.commands);
  to.setLaunches(from.launches);
  to.setHostStoreBytes(from.hostStoreBytes);
  to.setHostStoreUsedBytes(from.hostStoreUsedBytes);
  to.setHostStorePromisableBytes(from.hostStorePromisableBytes);
  to.setRoomBytes(from.roomBytes);
  to.setHeldBytes(from.heldBytes);
  to.setIdleBytes(from.idleBytes);
  to.setWaiting(from.waiting);
  to.setLentBytes(from.lentBytes);
  to.setDeviceAllocations(from.deviceAllocations);
  to.setHostPinnings(from.hostPinnings);
  auto sessions = to.initSessions(static_cast<unsigned>(from.sessions.size()));
  for (unsigned i = 0; i < sessions.size(); ++i) write(sessions[i], from.sessions[i]);
}

struct BodyWriter {
  capnproto::Message::Builder to;

  void operator()(const Error& body) { write(to.initError(), body); }
  void operator()(const Attach& body) { write(to.initAttach(), body); }
  void operator()(const Attached& body) { write(to.initAttached(), body); }
  void operator()(const LoadModule& body) { write(to.initLoadModule(), body); }
  void operator()(const ModuleInfo& body) { write(to.initModuleInfo(), body); }
  void operator()(const CutOff& body) { write(to.initCutOff(), body.error); }
  void operator()(const Prepare& body) {
    auto out = to.initPrepare();
    out.setName(body.name);
    out.setGpus(body.gpus);
    out.setGpuMemory(body.gpuMemory);
  }
  void operator()(const Prepared& body) {
    auto out = to.initPrepared();
    out.setToken(body.token);
    out.setClientLibraries(body.clientLibraries);
  }
  void operator()(const StatusRequest& body) { to.initStatusRequest().setUnsupported(body.unsupported); }
  void operator()(const StatusReply& body) { to.initStatus().setJson(body.json); }
  void operator()(const ExecutorReady& body) {
    auto out = to.initExecutorReady();
    write(out.initDevice(), body.device);
    out.setPid(body.pid);
    out.setWireHash(body.wireHash);
    out.setPhysicalBytes(body.device.physicalBytes);
    out.setDriverVersion(body.device.driverVersion);
    write(out.initLink(), body.device.link);
  }
  void operator()(const OpenSession& body) {
    auto out = to.initOpenSession();
    out.setSessionId(body.sessionId);
    out.setDeviceIndex(body.deviceIndex);
    write(out.initDeviceWindow(), body.deviceWindow);
    write(out.initHostWindow(), body.hostWindow);
    out.setMemoryLimit(body.memoryLimit);
    out.setName(body.name);
    out.setDormant(body.dormant);
  }
  void operator()(const CloseSession& body) { to.setCloseSession(body.sessionId); }
  void operator()(const InstallModule& body) {
    auto out = to.initInstallModule();
    out.setSessionId(body.sessionId);
    out.setModuleId(body.moduleId);
    out.setSize(body.size);
  }
  void operator()(const Ok&) { to.setOk(); }
  void operator()(const SessionFault& body) {
    auto out = to.initSessionFault();
    out.setSessionId(body.sessionId);
    write(out.initError(), body.error);
  }
  void operator()(const ExecutorStatusRequest&) { to.setExecutorStatusRequest(); }
  void operator()(const ExecutorStatus& body) { write(to.initExecutorStatus(), body); }
  void operator()(const Shutdown&) { to.setShutdown(); }
  void operator()(const Move& body) {
    auto out = to.initMove();
    out.setFunction(body.function);
    out.setAction(static_cast<std::uint8_t>(body.action));
    out.setGpu(body.gpu);
  }
  void operator()(const Moved& body) {
    auto results = to.initMoved().initResults(static_cast<unsigned>(body.results.size()));
    for (unsigned i = 0; i < results.size(); ++i) {
      results[i].setSessionId(body.results[i].sessionId);
      results[i].setName(body.results[i].name);
      results[i].setGpu(body.results[i].gpu);
      write(results[i].initProblem(), body.results[i].status.error());
    }
  }
  void operator()(const MoveSession& body) {
    auto out = to.initMoveSession();
    out.setSessionId(body.sessionId);
    out.setAction(static_cast<std::uint8_t>(body.action));
  }
  void operator()(const ExportSession& body) { to.setExportSession(body.sessionId); }
  void operator()(const SessionRecipe& body) { writeRecipe(to.initSessionRecipe(), body); }
  void operator()(const ImportSession& body) {
    auto out = to.initImportSession();
    out.setSessionId(body.sessionId);
    writeRecipe(out.initRecipe(), body.recipe);
  }
  void operator()(const ResumeSession& body) { to.setResumeSession(body.sessionId); }
  void operator()(const SessionClosed& body) { write(to.initSessionClosed(), body.usage); }
  void operator()(const Order& body) {
    auto out = to.initOrder();
    out.setFunction(body.function);
    out.setAction(static_cast<std::uint8_t>(body.action));
  }
  void operator()(const LogsRequest& body) {
    auto out = to.initLogsRequest();
    out.setFunction(body.function);
    out.setLines(body.lines);
  }
  void operator()(const Logs& body) { to.initLogs().setText(body.text); }
  void operator()(const SessionWaits& body) {
    auto out = to.initSessionWaits();
    out.setSessionId(body.sessionId);
    out.setWaitedNs(body.waitedNs);
    out.setWantedBytes(body.wantedBytes);
    out.setReservedBytes(body.reservedBytes);
  }
  void operator()(const ShareMemory& body) {
    auto out = to.initShareMemory();
    out.setSessionId(body.sessionId);
    out.setFrom(body.from);
  }
  void operator()(const SharedMemory& body) {
    auto out = to.initSharedMemory();
    out.setSessionId(body.sessionId);
    out.setDevice(body.device);
    auto chunks = out.initChunks(static_cast<unsigned>(body.chunks.size()));
    for (unsigned i = 0; i < chunks.size(); ++i) {
      chunks[i].setGranule(body.chunks[i].granule);
      chunks[i].setDescriptor(body.chunks[i].place.descriptor);
      chunks[i].setOffset(body.chunks[i].place.offset);
    }
    out.setNext(body.next);
  }
  void operator()(const EndBorrowing& body) {
    auto out = to.initEndBorrowing();
    out.setSessionId(body.sessionId);
    out.setAtOnce(body.atOnce);
  }
  void operator()(const ReturnMemory& body) { to.setReturnMemory(body.sessionId); }
  void operator()(const MemoryWanted& body) { to.setMemoryWanted(body.sessionId); }
};

std::string read(capnp::Text::Reader text) { return {text.begin(), text.size()}; }
Error read(capnproto::Error::Reader from) { return {static_cast<CudaError>(from.getCode()), read(from.getMessage())}; }

template <class Kind>
Kind readAtMost(const char* what, std::uint8_t value, Kind greatest) {
  if (value > static_cast<std::uint8_t>(greatest))
    throw OutOfRange{std::string(what) + " is " + std::to_string(value) + ", the greatest is " +
                     std::to_string(static_cast<unsigned>(greatest))};
  return static_cast<Kind>(value);
}

AddressRange read(capnproto::Range::Reader from) {
  const AddressRange range{from.getBase(), from.getBytes()};
  if (range.end() < range.base) throw OutOfRange{"an address range wraps round"};
  return range;
}

memory::DeviceProperties read(capnproto::DeviceInfo::Reader from) {
  memory::DeviceProperties to;
  to.name = read(from.getName());
  to.uuid = read(from.getUuid());
  to.pciAddress = read(from.getPciAddress());
  to.memoryBytes = from.getMemoryBytes();
  to.computeMajor = from.getComputeMajor();
  to.computeMinor = from.getComputeMinor();
  for (std::int32_t attribute : from.getAttributes()) to.attributes.push_back(attribute);
  to.placesVariables = from.getPlacesVariables();
  return to;
}

memory::LinkCurve read(capnp::List<capnproto::Link::Point>::Reader from) {
  memory::LinkCurve to;
  for (auto point : from) to.push_back({point.getBytes(), point.getBytesPerSecond()});
  return to;
}

memory::LinkDescription read(capnproto::Link::Reader from) {
  memory::LinkDescription to{.pcieGeneration = from.getPcieGeneration(),
                             .pcieGenerationAtMost = from.getPcieGenerationAtMost(),
                             .pcieWidth = from.getPcieWidth(),
                             .pcieWidthAtMost = from.getPcieWidthAtMost(),
                             .toDevice = read(from.getToDevice()),
                             .toHost = read(from.getToHost()),
                             .numaNode = from.getNumaNode(),
                             .cpus = read(from.getCpus()),
                             .nvlinks = {},
                             .nvlinksToSwitches = from.getNvlinksToSwitches(),
                             .peers = {},
                             .sharedWay = read(from.getSharedWay()),
                             .sharedBytesPerSecond = from.getSharedBytesPerSecond()};
  if (from.getNvlinksKnown()) to.nvlinks = from.getNvlinks();
  for (auto peer : from.getPeers()) {
    to.peers.push_back({.uuid = read(peer.getUuid()),
                        .pciAddress = read(peer.getPciAddress()),
                        .access = peer.getAccess(),
                        .atomics = peer.getAtomics(),
                        .rank = peer.getRank(),
                        .nvlinks = peer.getNvlinks(),
                        .bytesPerSecond = peer.getBytesPerSecond()});
  }
  return to;
}

Attach read(capnproto::Attach::Reader from) {
  return {.protocol = from.getProtocol(),
          .wireHash = from.getWireHash(),
          .token = read(from.getToken()),
          .library = read(from.getLibrary()),
          .apiNames = from.getApiNames(),
          .program = read(from.getProgram())};
}

Attached read(capnproto::Attached::Reader from) {
  Attached to{.sessionId = from.getSessionId(), .hostWindow = read(from.getHostWindow()), .devices = {}};
  for (auto device : from.getDevices()) {
    to.devices.push_back({.window = read(device.getWindow()),
                          .memoryLimit = device.getMemoryLimit(),
                          .properties = read(device.getProperties()),
                          .spin = device.getSpin()});
  }
  return to;
}

memory::KernelDescription read(capnproto::ModuleInfo::Kernel::Reader from) {
  memory::KernelDescription to;
  to.name = read(from.getName());
  const auto offsets = from.getParameterOffsets();
  const auto bytes = from.getParameterBytes();
  if (offsets.size() != bytes.size())
    throw OutOfRange{"a kernel's parameterOffsets and parameterBytes differ in length"};
  for (unsigned i = 0; i < offsets.size(); ++i) to.parameters.push_back({offsets[i], bytes[i]});
  to.parameterBytes = from.getBlockBytes();
  to.staticSharedBytes = from.getStaticSharedBytes();
  to.localBytes = from.getLocalBytes();
  to.constantBytes = from.getConstantBytes();
  to.maxThreadsPerBlock = from.getMaxThreadsPerBlock();
  to.registers = from.getRegisters();
  to.ptxVersion = from.getPtxVersion();
  to.binaryVersion = from.getBinaryVersion();
  return to;
}

ModuleInfo read(capnproto::ModuleInfo::Reader from) {
  ModuleInfo to{.moduleId = from.getModuleId(), .description = {}};
  for (auto kernel : from.getKernels()) to.description.kernels.push_back(read(kernel));
  for (auto variable : from.getVariables()) {
    if (variable.getSpace() > static_cast<std::uint8_t>(memory::VariableSpace::managed)) {
      throw OutOfRange{"a variable's space is " + std::to_string(variable.getSpace()) + ", the greatest is 2"};
    }
    to.description.variables.push_back({.name = read(variable.getName()),
                                        .bytes = variable.getBytes(),
                                        .alignment = variable.getAlignment(),
                                        .space = static_cast<memory::VariableSpace>(variable.getSpace())});
  }
  return to;
}

SessionUsage read(capnproto::ExecutorStatus::SessionUsage::Reader from) {
  return {.sessionId = from.getSessionId(),
          .reservedBytes = from.getReservedBytes(),
          .mappedBytes = from.getMappedBytes(),
          .hostBytes = from.getHostBytes(),
          .commands = from.getCommands(),
          .launches = from.getLaunches(),
          .error = from.getError(),
          .residentBytes = from.getResidentBytes(),
          .homeBytes = from.getHomeBytes(),
          .arrivals = from.getArrivals(),
          .departures = from.getDepartures(),
          .savedBytes = from.getSavedBytes(),
          .place = readAtMost<Place>("a session's place", from.getPlace(), Place::arriving),
          .pinned = from.getPinned(),
          .lastSavedBytes = from.getLastSavedBytes(),
          .sharedHomeBytes = from.getSharedHomeBytes(),
          .restingBytes = from.getRestingBytes(),
          .returnedBytes = from.getReturnedBytes(),
          .sharedBytes = from.getSharedBytes(),
          .joinedBytes = from.getJoinedBytes(),
          .lastDepartureNs = from.getLastDepartureNs(),
          .peerBytes = from.getPeerBytes(),
          .consumption = readConsumption(from.getConsumption())};
}

ExecutorStatus read(capnproto::ExecutorStatus::Reader from) {
  ExecutorStatus to{.totalBytes = from.getTotalBytes(),
                    .freeBytes = from.getFreeBytes(),
                    .sessions = {},
                    .commands = from.getCommands(),
                    .launches = from.getLaunches(),
                    .hostStoreBytes = from.getHostStoreBytes(),
                    .hostStoreUsedBytes = from.getHostStoreUsedBytes(),
                    .hostStorePromisableBytes = from.getHostStorePromisableBytes(),
                    .roomBytes = from.getRoomBytes(),
                    .idleBytes = from.getIdleBytes(),
                    .waiting = from.getWaiting(),
                    .lentBytes = from.getLentBytes(),
                    .heldBytes = from.getHeldBytes(),
                    .deviceAllocations = from.getDeviceAllocations(),
                    .hostPinnings = from.getHostPinnings()};
  for (auto usage : from.getSessions()) to.sessions.push_back(read(usage));
  return to;
}

Moved read(capnproto::Moved::Reader from) {
  Moved to;
  for (auto result : from.getResults()) {
    to.results.push_back(
        {.sessionId = result.getSessionId(), .name = read(result.getName()), .gpu = result.getGpu(), .status = {}});
    if (Error problem = read(result.getProblem()); problem.code != CudaError::success)
      to.results.back().status = std::move(problem);
  }
  return to;
}

SharedMemory read(capnproto::SharedMemory::Reader from) {
  SharedMemory to{.sessionId = from.getSessionId(), .device = read(from.getDevice()), .chunks = {}, .next = from.getNext()};
  if (from.getChunks().size() > memory::kMostSharedChunks)
    throw OutOfRange{std::to_string(from.getChunks().size()) + " chunks are shared at once, the most are " + std::to_string(memory::kMostSharedChunks)};
  for (auto chunk : from.getChunks()) to.chunks.push_back({chunk.getGranule(), {chunk.getDescriptor(), chunk.getOffset()}});
  return to;
}

Body readBody(capnproto::Message::Reader from) {
  switch (from.which()) {
    case capnproto::Message::ERROR:
      return read(from.getError());
    case capnproto::Message::ATTACH:
      return read(from.getAttach());
    case capnproto::Message::ATTACHED:
      return read(from.getAttached());
    case capnproto::Message::LOAD_MODULE: {
      const auto body = from.getLoadModule();
      return LoadModule{body.getOffset(), body.getSize(), body.getDeviceIndex()};
    }
    case capnproto::Message::MODULE_INFO:
      return read(from.getModuleInfo());
    case capnproto::Message::CUT_OFF:
      return CutOff{read(from.getCutOff())};
    case capnproto::Message::PREPARE: {
      const auto body = from.getPrepare();
      return Prepare{read(body.getName()), body.getGpus(), body.getGpuMemory()};
    }
    case capnproto::Message::PREPARED: {
      const auto body = from.getPrepared();
      return Prepared{read(body.getToken()), read(body.getClientLibraries())};
    }
    case capnproto::Message::STATUS_REQUEST:
      return StatusRequest{from.getStatusRequest().getUnsupported()};
    case capnproto::Message::STATUS:
      return StatusReply{read(from.getStatus().getJson())};
    case capnproto::Message::EXECUTOR_READY: {
      const auto body = from.getExecutorReady();
      ExecutorReady ready{read(body.getDevice()), body.getPid(), body.getWireHash()};
      ready.device.physicalBytes = body.getPhysicalBytes();
      ready.device.driverVersion = read(body.getDriverVersion());
      ready.device.link = read(body.getLink());
      return ready;
    }
    case capnproto::Message::OPEN_SESSION: {
      const auto body = from.getOpenSession();
      return OpenSession{.sessionId = body.getSessionId(),
                         .deviceIndex = body.getDeviceIndex(),
                         .deviceWindow = read(body.getDeviceWindow()),
                         .hostWindow = read(body.getHostWindow()),
                         .memoryLimit = body.getMemoryLimit(),
                         .name = read(body.getName()),
                         .dormant = body.getDormant()};
    }
    case capnproto::Message::CLOSE_SESSION:
      return CloseSession{from.getCloseSession()};
    case capnproto::Message::INSTALL_MODULE: {
      const auto body = from.getInstallModule();
      return InstallModule{body.getSessionId(), body.getModuleId(), body.getSize()};
    }
    case capnproto::Message::OK:
      return Ok{};
    case capnproto::Message::SESSION_FAULT: {
      const auto body = from.getSessionFault();
      return SessionFault{body.getSessionId(), read(body.getError())};
    }
    case capnproto::Message::EXECUTOR_STATUS_REQUEST:
      return ExecutorStatusRequest{};
    case capnproto::Message::EXECUTOR_STATUS:
      return read(from.getExecutorStatus());
    case capnproto::Message::SHUTDOWN:
      return Shutdown{};
    case capnproto::Message::MOVE: {
      const auto body = from.getMove();
      return Move{read(body.getFunction()), readAtMost("a move's action", body.getAction(), MoveAction::migrate), body.getGpu()};
    }
    case capnproto::Message::MOVED:
      return read(from.getMoved());
    case capnproto::Message::MOVE_SESSION: {
      const auto body = from.getMoveSession();
      return MoveSession{body.getSessionId(), readAtMost("a session's move", body.getAction(), MoveAction::unpin)};
    }
    case capnproto::Message::EXPORT_SESSION:
      return ExportSession{from.getExportSession()};
    case capnproto::Message::SESSION_RECIPE:
      return readRecipe(from.getSessionRecipe());
    case capnproto::Message::IMPORT_SESSION: {
      const auto body = from.getImportSession();
      return ImportSession{body.getSessionId(), readRecipe(body.getRecipe())};
    }
    case capnproto::Message::RESUME_SESSION:
      return ResumeSession{from.getResumeSession()};
    case capnproto::Message::SESSION_CLOSED:
      return SessionClosed{read(from.getSessionClosed())};
    case capnproto::Message::ORDER: {
      const auto body = from.getOrder();
      return Order{read(body.getFunction()), readAtMost("an order's action", body.getAction(), OrderAction::reload)};
    }
    case capnproto::Message::LOGS_REQUEST:
      return LogsRequest{read(from.getLogsRequest().getFunction()), from.getLogsRequest().getLines()};
    case capnproto::Message::LOGS:
      return Logs{read(from.getLogs().getText())};
    case capnproto::Message::SESSION_WAITS: {
      const auto body = from.getSessionWaits();
      return SessionWaits{body.getSessionId(), body.getWaitedNs(), body.getWantedBytes(), body.getReservedBytes()};
    }
    case capnproto::Message::SHARE_MEMORY: {
      const auto body = from.getShareMemory();
      return ShareMemory{body.getSessionId(), body.getFrom()};
    }
    case capnproto::Message::SHARED_MEMORY:
      return read(from.getSharedMemory());
    case capnproto::Message::END_BORROWING: {
      const auto body = from.getEndBorrowing();
      return EndBorrowing{body.getSessionId(), body.getAtOnce()};
    }
    case capnproto::Message::RETURN_MEMORY:
      return ReturnMemory{from.getReturnMemory()};
    case capnproto::Message::MEMORY_WANTED:
      return MemoryWanted{from.getMemoryWanted()};
  }
  throw OutOfRange{"message kind " + std::to_string(static_cast<unsigned>(from.which())) + " is unknown"};
}

}  // namespace

std::vector<std::uint64_t> encode(std::uint64_t id, const Body& body) {
  capnp::MallocMessageBuilder builder;
  auto root = builder.initRoot<capnproto::Message>();
  root.setId(id);
  std::visit(BodyWriter{root}, body);
  const kj::Array<capnp::word> flat = capnp::messageToFlatArray(builder);
  std::vector<std::uint64_t> words(flat.size());
  std::memcpy(words.data(), flat.begin(), flat.asBytes().size());
  return words;
}

Result<Message> decode(std::span<const std::uint64_t> words) {
  try {
    // Each word of an honest message is visited once. Pointers may share what they point to: the traversal limit bounds
    // how much a message can swell when it is copied out (Cap'n Proto, "Security tips: amplification").
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 2 * words.size() + 64;
    options.nestingLimit = 8;
    // capnp::word has no members and the size and alignment of a 64-bit word; the library reads it through byte-wise
    // accessors.
    static_assert(sizeof(capnp::word) == sizeof(std::uint64_t));
    const auto* begin = reinterpret_cast<const capnp::word*>(words.data());
    capnp::FlatArrayMessageReader reader(kj::arrayPtr(begin, words.size()), options);
    const auto root = reader.getRoot<capnproto::Message>();
    Message message;
    message.id = root.getId();
    message.body = readBody(root);
    return message;
  } catch (const kj::Exception& exception) {
    return Error{CudaError::invalidValue,
                 std::string("malformed control message: ") + exception.getDescription().cStr()};
  } catch (const OutOfRange& outOfRange) {
    return Error{CudaError::invalidValue, "malformed control message: " + outOfRange.message};
  } catch (const std::out_of_range& outOfRange) {
    return Error{CudaError::invalidValue, std::string("malformed control message: ") + outOfRange.what()};
  }
}

std::string_view name(const Body& body) {
  static constexpr std::string_view kNames[] = {"error",
                                                "attach",
                                                "attached",
                                                "loadModule",
                                                "moduleInfo",
                                                "cutOff",
                                                "prepare",
                                                "prepared",
                                                "statusRequest",
                                                "status",
                                                "executorReady",
                                                "openSession",
                                                "closeSession",
                                                "installModule",
                                                "ok",
                                                "sessionFault",
                                                "executorStatusRequest",
                                                "executorStatus",
                                                "shutdown",
                                                "move",
                                                "moved",
                                                "moveSession",
                                                "exportSession",
                                                "sessionRecipe",
                                                "importSession",
                                                "resumeSession",
                                                "sessionWaits",
                                                "shareMemory",
                                                "sharedMemory",
                                                "endBorrowing",
                                                "returnMemory",
                                                "memoryWanted",
                                                "sessionClosed",
                                                "order",
                                                "logsRequest",
                                                "logs"};
  static_assert(std::size(kNames) == std::variant_size_v<Body>);
  return kNames[body.index()];
}

}  // namespace rouse::channel

#include "server/control/codec.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>
#include <stdexcept>

#include "server/control/codec_parts.h"
#include "server/control/session_recipe_codec.h"

namespace rouse::channel {
namespace {

using namespace codec;

static_assert(kProtocolVersion == capnproto::PROTOCOL_VERSION);

struct BodyWriter {
  capnproto::Message::Builder to;

  void operator()(const Error& body) { write(to.initError(), body); }
  void operator()(const Attach& body) { write(to.initAttach(), body); }
  void operator()(const Attached& body) { write(to.initAttached(), body); }
  void operator()(const LoadModule& body) {
    auto out = to.initLoadModule();
    out.setOffset(body.offset);
    out.setSize(body.size);
    out.setDeviceIndex(body.deviceIndex);
  }
  void operator()(const ModuleInfo& body) { write(to.initModuleInfo(), body); }
  void operator()(const CutOff& body) { write(to.initCutOff(), body.error); }
  void operator()(const Prepare& body) {
    auto out = to.initPrepare();
    out.setName(body.name);
    out.setGpus(body.gpus);
    out.setGpuMemory(body.gpuMemory);
    out.setIsolated(body.isolated);
    out.setCheck(body.check);
  }
  void operator()(const Prepared& body) {
    auto out = to.initPrepared();
    out.setToken(body.token);
    out.setClientLibraries(body.clientLibraries);
  }
  void operator()(const StatusRequest& body) {
    auto out = to.initStatusRequest();
    out.setUnsupported(body.unsupported);
    out.setRequest(body.request);
    out.setStories(body.stories);
    out.setAfter(body.after);
  }
  void operator()(const StatusReply& body) { to.initStatus().setJson(body.json); }
  void operator()(const ExecutorReady& body) { write(to.initExecutorReady(), body); }
  void operator()(const OpenSession& body) { write(to.initOpenSession(), body); }
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
    out.setOffered(body.offered);
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
  void operator()(const SessionMoved& body) { write(to.initSessionMoved(), body.usage); }
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
      chunks[i].setMemoryBytes(body.chunks[i].place.memoryBytes);
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
  void operator()(const GuestMemory& body) {
    auto out = to.initGuestMemory();
    out.setGuest(body.guest);
    out.setAction(static_cast<std::uint8_t>(body.action));
    out.setBytes(body.bytes);
  }
  void operator()(const GuestGrant& body) { writeGuest(to.initGuestGrant(), body); }
  void operator()(const GuestCall& body) { writeGuest(to.initGuestCall(), body); }
  template <class Body>
  static void writeGuest(capnproto::GuestBytes::Builder out, const Body& body) {
    out.setGuest(body.guest);
    out.setBytes(body.bytes);
  }
  void operator()(const PromiseWanted& body) { to.setPromiseWanted(body.bytes); }
  void operator()(const Promised& body) {
    auto out = to.initPromised();
    out.setBytes(body.bytes);
    if (!body.status) write(out.initProblem(), body.status.error());
  }
  void operator()(const GuestActive&) { to.setGuestActive(); }
  void operator()(const AssignHomes& body) { to.setAssignHomes(body.bytes); }
  void operator()(const AdoptionOffer& body) { write(to.initAdoptionOffer(), body); }
  void operator()(const HeldModule& body) {
    auto out = to.initHeldModule();
    write(out.initInfo(), body.info);
    out.setBytes(body.bytes);
  }
  void operator()(const HeldSession& body) { write(to.initHeldSession(), body); }
  void operator()(const Offered& body) {
    auto out = to.initOffered();
    out.setModules(body.modules);
    out.setSessions(body.sessions);
  }
  void operator()(const Adopted&) { to.setAdopted(); }
  void operator()(const Reattach& body) {
    auto out = to.initReattach();
    out.setProtocol(body.protocol);
    out.setWireHash(body.wireHash);
    out.setSessionId(body.sessionId);
    out.setKey(body.key);
    out.setToken(body.token);
  }
  void operator()(const Ipc& body) { write(to.initIpc(), body); }
  void operator()(const Shared& body) { write(to.initShared(), body); }
  void operator()(const Describe& body) { write(to.initDescribe(), body); }
  void operator()(const Described& body) { write(to.initDescribed(), body); }
};

Moved readMoved(capnproto::Moved::Reader from) {
  Moved to;
  for (auto result : from.getResults()) {
    to.results.push_back(
        {.sessionId = result.getSessionId(), .name = read(result.getName()), .gpu = result.getGpu(), .status = {}});
    if (Error problem = read(result.getProblem()); problem.code != CudaError::success)
      to.results.back().status = std::move(problem);
  }
  return to;
}

SharedMemory readShared(capnproto::SharedMemory::Reader from) {
  SharedMemory to{.sessionId = from.getSessionId(), .device = read(from.getDevice()), .chunks = {}, .next = from.getNext()};
  if (from.getChunks().size() > memory::kMostSharedChunks)
    throw OutOfRange{std::to_string(from.getChunks().size()) + " chunks are shared at once, the most are " + std::to_string(memory::kMostSharedChunks)};
  for (auto chunk : from.getChunks()) to.chunks.push_back({chunk.getGranule(), {chunk.getDescriptor(), chunk.getOffset(), chunk.getMemoryBytes()}});
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
      return Prepare{read(body.getName()), body.getGpus(), body.getGpuMemory(), body.getIsolated(), body.getCheck()};
    }
    case capnproto::Message::PREPARED: {
      const auto body = from.getPrepared();
      return Prepared{read(body.getToken()), read(body.getClientLibraries())};
    }
    case capnproto::Message::STATUS_REQUEST: {
      const auto body = from.getStatusRequest();
      return StatusRequest{body.getUnsupported(), read(body.getRequest()), body.getStories(), body.getAfter()};
    }
    case capnproto::Message::STATUS:
      return StatusReply{read(from.getStatus().getJson())};
    case capnproto::Message::EXECUTOR_READY:
      return read(from.getExecutorReady());
    case capnproto::Message::OPEN_SESSION:
      return read(from.getOpenSession());
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
      return readMoved(from.getMoved());
    case capnproto::Message::MOVE_SESSION: {
      const auto body = from.getMoveSession();
      return MoveSession{body.getSessionId(), readAtMost("a session's move", body.getAction(), MoveAction::unpin), body.getOffered()};
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
    case capnproto::Message::SESSION_MOVED:
      return SessionMoved{read(from.getSessionMoved())};
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
      return readShared(from.getSharedMemory());
    case capnproto::Message::END_BORROWING: {
      const auto body = from.getEndBorrowing();
      return EndBorrowing{body.getSessionId(), body.getAtOnce()};
    }
    case capnproto::Message::RETURN_MEMORY:
      return ReturnMemory{from.getReturnMemory()};
    case capnproto::Message::MEMORY_WANTED:
      return MemoryWanted{from.getMemoryWanted()};
    case capnproto::Message::GUEST_MEMORY: {
      const auto body = from.getGuestMemory();
      return GuestMemory{body.getGuest(), readAtMost("a guest's action", body.getAction(), GuestAction::active), body.getBytes()};
    }
    case capnproto::Message::GUEST_GRANT:
      return GuestGrant{from.getGuestGrant().getGuest(), from.getGuestGrant().getBytes()};
    case capnproto::Message::GUEST_CALL:
      return GuestCall{from.getGuestCall().getGuest(), from.getGuestCall().getBytes()};
    case capnproto::Message::PROMISE_WANTED:
      return PromiseWanted{from.getPromiseWanted()};
    case capnproto::Message::PROMISED: {
      const auto body = from.getPromised();
      Promised promised{body.getBytes(), {}};
      if (const Error problem = read(body.getProblem()); problem.code != CudaError::success) promised.status = problem;
      return promised;
    }
    case capnproto::Message::ASSIGN_HOMES:
      return AssignHomes{from.getAssignHomes()};
    case capnproto::Message::GUEST_ACTIVE:
      return GuestActive{};
    case capnproto::Message::ADOPTION_OFFER:
      return read(from.getAdoptionOffer());
    case capnproto::Message::HELD_MODULE:
      return HeldModule{read(from.getHeldModule().getInfo()), from.getHeldModule().getBytes()};
    case capnproto::Message::HELD_SESSION:
      return read(from.getHeldSession());
    case capnproto::Message::OFFERED:
      return Offered{from.getOffered().getModules(), from.getOffered().getSessions()};
    case capnproto::Message::ADOPTED:
      return Adopted{};
    case capnproto::Message::REATTACH: {
      const auto body = from.getReattach();
      return Reattach{body.getProtocol(), body.getWireHash(), body.getSessionId(), read(body.getKey()), read(body.getToken())};
    }
    case capnproto::Message::IPC:
      return read(from.getIpc());
    case capnproto::Message::SHARED:
      return read(from.getShared());
    case capnproto::Message::DESCRIBE:
      return read(from.getDescribe());
    case capnproto::Message::DESCRIBED:
      return read(from.getDescribed());
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
                                                "logs",
                                                "guestMemory",
                                                "guestGrant",
                                                "guestCall",
                                                "promiseWanted",
                                                "promised",
                                                "assignHomes",
                                                "guestActive",
                                                "adoptionOffer",
                                                "heldModule",
                                                "heldSession",
                                                "offered",
                                                "adopted",
                                                "reattach",
                                                "sessionMoved",
                                                "ipc",
                                                "shared", "describe", "described"};
  static_assert(std::size(kNames) == std::variant_size_v<Body>);
  return kNames[body.index()];
}

}  // namespace rouse::channel

// Control messages as plain values. Everything that comes from a socket is decoded into these, whole and checked,
// before any other code looks at it; Cap'n Proto stays inside codec.cc. Meanings and units:
// schemas/control/control.capnp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "memory/device.h"
#include "memory/module.h"
#include "schemas/base/range.h"
#include "schemas/base/result.h"
#include "schemas/wire/ipc_handle.h"
#include "schemas/wire/owned_fd.h"
#include "server/control/session_recipe.h"

namespace rouse::channel {

// A peer with another one is refused (control.capnp, protocolVersion).
inline constexpr std::uint32_t kProtocolVersion = 1;

// Function -> daemon.
struct Attach {
  std::uint32_t protocol = 0;
  std::uint64_t wireHash = 0;
  std::string token;
  std::string library;
  std::uint32_t apiNames = 0;
  std::string program;
};
struct VirtualDevice {
  AddressRange window;
  std::uint64_t memoryLimit = 0;
  memory::DeviceProperties properties;
  bool spin = true;
};
struct Attached {
  std::uint64_t sessionId = 0;
  AddressRange hostWindow;
  std::vector<VirtualDevice> devices;
  std::string key{};
  std::uint32_t orphanMs = 0;
  std::uint32_t check = 0;
};
struct Reattach {
  std::uint32_t protocol = 0;
  std::uint64_t wireHash = 0;
  std::uint64_t sessionId = 0;
  std::string key;
  std::string token;
};
struct Describe {
  std::uint32_t protocol = 0;
  std::uint64_t wireHash = 0;
  std::string token{};
  std::uint64_t sessionId = 0;
};
struct Described {
  struct Device {
    memory::DeviceProperties properties;
    std::uint64_t memoryLimit = 0, freeBytes = 0, busyNs = 0;
    std::uint32_t pcieGeneration = 0, pcieGenerationAtMost = 0, pcieWidth = 0, pcieWidthAtMost = 0;
  };
  std::vector<Device> devices;
};
struct LoadModule {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t deviceIndex = 0;
};
struct ModuleInfo {
  std::uint64_t moduleId = 0;
  memory::ModuleDescription description;
};
struct CutOff {
  Error error;
};

// Command line tool -> daemon.
struct Prepare {
  std::string name;
  std::uint32_t gpus = 0;
  std::uint64_t gpuMemory = 0;
  bool isolated = false;
  std::uint32_t check = 0;  // reports to print at most (wire/access_errors.h); 0: accesses are not checked
};
struct Prepared {
  std::string token;
  std::string clientLibraries;
};
struct StatusRequest {
  static constexpr std::uint32_t kMostStories = 512;
  bool unsupported = false;
  std::string request{};  // not empty: its story instead
  std::uint32_t stories = 0;  // not 0: so many stories at most instead, of the requests that came after this one
  std::uint64_t after = 0;
};
struct StatusReply {
  std::string json;
};
enum class MoveAction : std::uint8_t { load, unload, pin, unpin, migrate };
struct Move {
  std::string function;
  MoveAction action = MoveAction::load;
  std::uint32_t gpu = 0;  // to migrate to
};
struct Moved {
  struct Result {
    std::uint64_t sessionId = 0;
    std::string name;
    std::uint32_t gpu = 0;
    Status status;
  };
  std::vector<Result> results;
};

enum class OrderAction : std::uint8_t { start, stop, restart, reload };
struct Order {
  std::string function;
  OrderAction action = OrderAction::start;
};
struct LogsRequest {
  std::string function;
  std::uint32_t lines = 0;
};
struct Logs {
  std::string text;
};

// Daemon <-> executor.
struct ExecutorReady {
  memory::DeviceProperties device;
  std::uint32_t pid = 0;
  std::uint64_t wireHash = 0;
};
struct SessionIdentity {
  std::string program;
  std::int64_t pid = 0;
  std::uint32_t uid = 0;
  std::uint32_t gpus = 1;
  std::uint64_t gpuMemory = 0, hostMemory = 0, moduleMemory = 0;
  bool supervised = false;
  std::int64_t sinceNs = 0;
  std::string key;
  AddressRange hostAddresses;
  std::uint64_t family = 0;
  bool operator==(const SessionIdentity&) const = default;
};
struct OpenSession {
  std::uint64_t sessionId = 0;
  std::uint32_t deviceIndex = 0;
  AddressRange deviceWindow;
  AddressRange hostWindow;
  std::uint64_t memoryLimit = 0;
  std::string name;
  bool dormant = false;
  SessionIdentity identity{};
  bool hasProcess = false;
  std::uint32_t check = 0;
};
struct CloseSession {
  std::uint64_t sessionId = 0;
};
struct InstallModule {
  std::uint64_t sessionId = 0;
  std::uint64_t moduleId = 0;
  std::uint64_t size = 0;
};
struct Ok {};
struct SessionFault {
  std::uint64_t sessionId = 0;
  Error error;
};
struct ExecutorStatusRequest {};
struct MoveSession {
  std::uint64_t sessionId = 0;
  MoveAction action = MoveAction::load;  // not migrate
  std::uint64_t offered = 0;             // unload, bytes: others who need room take so much of it before they take more; 0: all of it
};
struct ExportSession {
  std::uint64_t sessionId = 0;
};
struct ImportSession {
  std::uint64_t sessionId = 0;
  SessionRecipe recipe;
};
struct ResumeSession {
  std::uint64_t sessionId = 0;
};
enum class Place : std::uint8_t { device, leaving, home, arriving };
struct SessionUsage {
  std::uint64_t sessionId = 0;
  std::uint64_t reservedBytes = 0;
  std::uint64_t mappedBytes = 0;
  std::uint64_t hostBytes = 0;
  std::uint64_t commands = 0;
  std::uint64_t launches = 0;
  std::uint32_t error = 0;
  std::uint64_t residentBytes = 0;
  std::uint64_t homeBytes = 0;
  std::uint64_t arrivals = 0, departures = 0;
  std::uint64_t savedBytes = 0;
  Place place = Place::device;
  bool pinned = false;
  std::uint64_t lastSavedBytes = 0;
  std::uint64_t sharedHomeBytes = 0;
  std::uint64_t restingBytes = 0, returnedBytes = 0;
  std::uint64_t sharedBytes = 0, joinedBytes = 0;
  std::uint64_t lastDepartureNs = 0;
  std::uint64_t peerBytes = 0;
  Consumption consumption;
  std::uint64_t broughtBytes = 0;
  std::string ties{};
};
struct SessionClosed {
  SessionUsage usage;
};
struct SessionMoved {
  SessionUsage usage;
};
struct ExecutorStatus {
  std::uint64_t totalBytes = 0;
  std::uint64_t freeBytes = 0;
  std::vector<SessionUsage> sessions;
  std::uint64_t commands = 0;
  std::uint64_t launches = 0;
  std::uint64_t hostStoreBytes = 0, hostStoreUsedBytes = 0, hostStorePromisableBytes = 0, hostStorePendingBytes = 0;
  std::uint64_t roomBytes = 0, idleBytes = 0;
  std::uint32_t waiting = 0;
  std::uint64_t lentBytes = 0;
  std::uint64_t heldBytes = 0;
  std::uint64_t deviceAllocations = 0, hostPinnings = 0, allocatedBytes = 0;
  std::uint64_t offeredBytes = 0;
};
struct SessionWaits {
  std::uint64_t sessionId = 0;
  std::uint64_t waitedNs = 0;
  std::uint64_t wantedBytes = 0;
  std::uint64_t reservedBytes = 0;
};
struct ShareMemory {
  std::uint64_t sessionId = 0;
  std::uint32_t from = 0;
};
struct SharedMemory {
  std::uint64_t sessionId = 0;
  std::string device;
  struct Chunk {
    std::uint32_t granule = 0;
    memory::SharedChunks::Place place;  // of the message's descriptors
    bool operator==(const Chunk&) const = default;
  };
  std::vector<Chunk> chunks;
  std::uint32_t next = 0;
};
struct EndBorrowing {
  std::uint64_t sessionId = 0;
  bool atOnce = false;
};
struct ReturnMemory {
  std::uint64_t sessionId = 0;
};
struct MemoryWanted {
  std::uint64_t sessionId = 0;
};
enum class GuestAction : std::uint8_t { visits, stays, wants, returned, holds, gone, active };
struct GuestMemory {
  std::uint64_t guest = 0;
  GuestAction action = GuestAction::visits;
  std::uint64_t bytes = 0;
};
struct GuestGrant {
  std::uint64_t guest = 0;
  std::uint64_t bytes = 0;
};
struct GuestCall {
  std::uint64_t guest = 0;
  std::uint64_t bytes = 0;
};
struct PromiseWanted {
  std::uint64_t bytes = 0;
};
struct Promised {
  std::uint64_t bytes = 0;
  Status status;
};
struct GuestActive {};
struct AssignHomes {
  std::uint64_t bytes = 0;
};
struct Shutdown {};

// Executor -> a later daemon.
struct AdoptionOffer {
  ExecutorReady ready;
  std::string options;
  bool hasStore = false, hasLinks = false;
};
struct HeldModule {
  ModuleInfo info;
  std::uint64_t bytes = 0;
};
enum class Held : std::uint8_t { served, frozen, dormant, cutOff, closing };
struct HeldSession {
  OpenSession open;
  Held state = Held::served;
  Error fault;
  std::vector<std::uint64_t> modules;
  bool lends = false, borrows = false;
};
struct Offered {
  std::uint32_t modules = 0, sessions = 0;
};
struct Adopted {};

// Between processes of one tenant.
enum class IpcAction : std::uint8_t { exportMemory, openMemory, closeMemory, withdraw, exportEvent, openEvent, closeEvent, mapEvent };
struct Ipc {
  IpcAction action = IpcAction::exportMemory;
  std::uint64_t sessionId = 0;
  std::uint32_t deviceIndex = 0;
  AddressRange range{};
  std::uint32_t page = 0;
  wire::IpcHandle handle{};
};
struct Shared {
  wire::IpcHandle handle{};
  AddressRange range{};
  std::uint32_t page = 0;
  bool inUse = false;
};

using Body = std::variant<Error, Attach, Attached, LoadModule, ModuleInfo, CutOff, Prepare, Prepared, StatusRequest,
                          StatusReply, ExecutorReady, OpenSession, CloseSession, InstallModule, Ok, SessionFault,
                          ExecutorStatusRequest, ExecutorStatus, Shutdown, Move, Moved, MoveSession, ExportSession, SessionRecipe,
                          ImportSession, ResumeSession, SessionWaits, ShareMemory, SharedMemory, EndBorrowing, ReturnMemory,
                          MemoryWanted, SessionClosed, Order, LogsRequest, Logs, GuestMemory, GuestGrant, GuestCall, PromiseWanted, Promised,
                          AssignHomes, GuestActive, AdoptionOffer, HeldModule, HeldSession, Offered, Adopted, Reattach, SessionMoved, Ipc,
                          Shared, Describe, Described>;

struct Message {
  std::uint64_t id = 0;  // of a request, chosen by who asks; the answer bears the same; 0 for notifications
  Body body;
  std::vector<wire::OwnedFd> fds;  // order as in control.capnp
};

// The name of a body in control.capnp, for messages to people.
std::string_view name(const Body&);

}  // namespace rouse::channel

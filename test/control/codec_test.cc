#include "server/control/codec.h"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "control.capnp.h"

using namespace rouse;
using namespace rouse::channel;

namespace {

Message roundTrip(std::uint64_t id, const Body& body) {
  auto message = decode(encode(id, body));
  REQUIRE(message.ok());
  REQUIRE(message->id == id);
  REQUIRE(message->body.index() == body.index());
  return std::move(*message);
}

memory::DeviceProperties someDevice() {
  memory::DeviceProperties device;
  device.name = "CPU device";
  device.uuid = "GPU-00000000-0000-0000-0000-000000000001";
  device.pciAddress = "0000:3b:00.0";
  device.memoryBytes = 1ull << 34;
  device.computeMajor = 9;
  device.attributes = {0, 1024, -1};
  device.dnnVersion = 91900;
  return device;
}

std::vector<std::uint64_t> flat(capnp::MessageBuilder& builder) {
  const auto array = capnp::messageToFlatArray(builder);
  std::vector<std::uint64_t> words(array.size());
  std::memcpy(words.data(), array.begin(), words.size() * 8);
  return words;
}

}  // namespace

TEST_CASE("every field of the messages between function and daemon survives") {
  const Attach attach =
      std::get<Attach>(roundTrip(7, Attach{1, 0xfeed, "token", "libcudart.so.13", 412, "/bin/app"}).body);
  CHECK(attach.protocol == 1);
  CHECK(attach.wireHash == 0xfeed);
  CHECK(attach.token == "token");
  CHECK(attach.library == "libcudart.so.13");
  CHECK(attach.apiNames == 412);
  CHECK(attach.program == "/bin/app");

  Attached sent{.sessionId = 3, .hostWindow = {0x1000, 0x2000}, .devices = {}};
  sent.devices.push_back({{0x7000'0000, 1 << 30}, 1 << 20, someDevice(), false});
  const Attached attached = std::get<Attached>(roundTrip(7, sent).body);
  CHECK(attached.sessionId == 3);
  CHECK(attached.hostWindow == AddressRange{0x1000, 0x2000});
  REQUIRE(attached.devices.size() == 1);
  CHECK(attached.devices[0].window == AddressRange{0x7000'0000, 1 << 30});
  CHECK(attached.devices[0].memoryLimit == 1 << 20);
  CHECK_FALSE(attached.devices[0].spin);
  CHECK(attached.devices[0].properties.uuid == someDevice().uuid);
  CHECK(attached.devices[0].properties.attributes == someDevice().attributes);
  CHECK(attached.devices[0].properties.dnnVersion == 91900);
  // A function is not told what hangs beside its device.
  sent.devices[0].properties.driverVersion = "580.65.06";
  sent.devices[0].properties.link.peers = {{"GPU-2", "0000:01:00.0", true, true, 0, 1}};
  const Attached told = std::get<Attached>(roundTrip(7, sent).body);
  CHECK(told.devices[0].properties.driverVersion == "");
  CHECK(told.devices[0].properties.link == memory::LinkDescription{});

  const Describe asked = std::get<Describe>(roundTrip(7, Describe{1, 0xfeed, "token", 12}).body);
  CHECK(asked.protocol == 1);
  CHECK(asked.wireHash == 0xfeed);
  CHECK(asked.token == "token");
  CHECK(asked.sessionId == 12);
  const Described answered = std::get<Described>(roundTrip(7, Described{{{someDevice(), 1 << 20, 77, 1 << 30, 3, 4, 8, 16}}}).body);
  REQUIRE(answered.devices.size() == 1);
  CHECK(answered.devices[0].properties.uuid == someDevice().uuid);
  CHECK(answered.devices[0].memoryLimit == 1 << 20);
  CHECK(answered.devices[0].freeBytes == 77);
  CHECK(answered.devices[0].busyNs == 1 << 30);
  CHECK(answered.devices[0].pcieGeneration == 3);
  CHECK(answered.devices[0].pcieGenerationAtMost == 4);
  CHECK(answered.devices[0].pcieWidth == 8);
  CHECK(answered.devices[0].pcieWidthAtMost == 16);

  const CutOff cutOff = std::get<CutOff>(roundTrip(0, CutOff{{CudaError::illegalAddress, "out"}}).body);
  CHECK(cutOff.error.code == CudaError::illegalAddress);
  CHECK(cutOff.error.message == "out");
}

TEST_CASE("a module's description survives") {
  ModuleInfo sent{.moduleId = 5, .description = {}};
  memory::KernelDescription kernel;
  kernel.name = "_Z3addPf";
  kernel.parameters = {{0, 8}, {8, 4}};
  kernel.parameterBytes = 12;
  kernel.staticSharedBytes = 1;
  kernel.localBytes = 2;
  kernel.constantBytes = 3;
  kernel.maxThreadsPerBlock = 256;
  kernel.registers = 32;
  kernel.ptxVersion = 75;
  kernel.binaryVersion = 90;
  kernel.cluster = {2, 3, 1};
  kernel.clusterMustBeSet = true;
  sent.description.kernels.push_back(kernel);
  sent.description.variables.push_back({"table", 4096, 16, memory::VariableSpace::managed});
  const ModuleInfo got = std::get<ModuleInfo>(roundTrip(1, sent).body);
  REQUIRE(got.description.kernels.size() == 1);
  const auto& k = got.description.kernels[0];
  CHECK(k.name == kernel.name);
  REQUIRE(k.parameters.size() == 2);
  CHECK(k.parameters[1].offset == 8);
  CHECK(k.parameters[1].bytes == 4);
  CHECK(k.parameterBytes == 12);
  CHECK(k.staticSharedBytes == 1);
  CHECK(k.localBytes == 2);
  CHECK(k.constantBytes == 3);
  CHECK(k.maxThreadsPerBlock == 256);
  CHECK(k.registers == 32);
  CHECK(k.ptxVersion == 75);
  CHECK(k.binaryVersion == 90);
  CHECK(k.cluster == ClusterShape{2, 3, 1});
  CHECK(k.clusterMustBeSet);
  REQUIRE(got.description.variables.size() == 1);
  CHECK(got.description.variables[0].name == "table");
  CHECK(got.description.variables[0].bytes == 4096);
  CHECK(got.description.variables[0].alignment == 16);
  CHECK(got.description.variables[0].space == memory::VariableSpace::managed);
}

TEST_CASE("every other kind survives") {
  const auto status =
      std::get<ExecutorStatus>(roundTrip(1, ExecutorStatus{9, 8, {{1, 2, 3, 4, 5, 6, 7}}, 10, 11}).body);
  CHECK(status.totalBytes == 9);
  CHECK(status.freeBytes == 8);
  CHECK(status.commands == 10);
  CHECK(status.launches == 11);
  REQUIRE(status.sessions.size() == 1);
  CHECK(status.sessions[0].hostBytes == 4);
  CHECK(status.sessions[0].error == 7);
  SessionUsage used{.sessionId = 1, .residentBytes = 2, .homeBytes = 3, .arrivals = 4, .departures = 5, .savedBytes = 6,
                    .place = Place::arriving, .pinned = true, .lastSavedBytes = 7, .sharedHomeBytes = 8, .restingBytes = 11, .returnedBytes = 9, .sharedBytes = 12, .joinedBytes = 13, .lastDepartureNs = 10, .peerBytes = 14, .consumption = {}, .broughtBytes = 15, .ties = "why"};
  const auto usage = std::get<ExecutorStatus>(roundTrip(1, ExecutorStatus{.sessions = {used}}).body).sessions.at(0);
  CHECK(usage.residentBytes == 2);
  CHECK(usage.homeBytes == 3);
  CHECK(usage.arrivals == 4);
  CHECK(usage.departures == 5);
  CHECK(usage.savedBytes == 6);
  CHECK(usage.place == Place::arriving);
  CHECK(usage.pinned);
  CHECK(usage.lastSavedBytes == 7);
  CHECK(usage.restingBytes == 11);
  CHECK(usage.returnedBytes == 9);
  CHECK(usage.sharedBytes == 12);
  CHECK(usage.joinedBytes == 13);
  CHECK(usage.lastDepartureNs == 10);
  CHECK(usage.peerBytes == 14);
  CHECK(usage.broughtBytes == 15);
  CHECK(usage.ties == "why");
  CHECK(std::get<SessionMoved>(roundTrip(1, SessionMoved{used}).body).usage.broughtBytes == 15);
  CHECK(usage.sharedHomeBytes == 8);
  const auto store = std::get<ExecutorStatus>(
      roundTrip(1, ExecutorStatus{.sessions = {},
                                  .hostStoreBytes = 3,
                                  .hostStoreUsedBytes = 1,
                                  .hostStorePromisableBytes = 2,
                                  .hostStorePendingBytes = 1,
                                  .deviceAllocations = 4,
                                  .hostPinnings = 5,
                                  .allocatedBytes = 6,
                                  .offeredBytes = 7}).body);
  CHECK(store.hostStoreBytes == 3);
  CHECK(store.hostStoreUsedBytes == 1);
  CHECK(store.hostStorePromisableBytes == 2);
  CHECK(store.hostStorePendingBytes == 1);
  CHECK(store.deviceAllocations == 4);
  CHECK(store.hostPinnings == 5);
  CHECK(store.allocatedBytes == 6);
  CHECK(store.offeredBytes == 7);
  CHECK(std::get<ExecutorStatus>(roundTrip(1, ExecutorStatus{.sessions = {}, .lentBytes = 13}).body).lentBytes == 13);
  const auto open = std::get<OpenSession>(roundTrip(1, OpenSession{1, 2, {4, 8}, {16, 32}, 64, "f"}).body);
  CHECK(open.deviceIndex == 2);
  CHECK(open.deviceWindow == AddressRange{4, 8});
  CHECK(open.hostWindow == AddressRange{16, 32});
  CHECK(open.memoryLimit == 64);
  CHECK(open.name == "f");
  memory::DeviceProperties linked = someDevice();
  linked.physicalBytes = 1ull << 35;
  linked.driverVersion = "580.65.06";
  linked.link = {
      .pcieGeneration = 4,
      .pcieGenerationAtMost = 5,
      .pcieWidth = 8,
      .pcieWidthAtMost = 16,
      .toDevice = {{65536, 1}, {131072, 2}},
      .toHost = {{65536, 3}},
      .numaNode = 1,
      .cpus = "0-3",
      .nvlinks = 18,
      .nvlinksToSwitches = 17,
      .peers = {{"GPU-2", "0000:01:00.0", true, true, 0, 1, 25'000'000'000}, {"GPU-3", "0000:02:00.0", false, false, -1, 0}}};
  const auto ready = std::get<ExecutorReady>(roundTrip(1, ExecutorReady{linked, 77, 88}).body);
  CHECK(ready.device.physicalBytes == linked.physicalBytes);
  CHECK(ready.device.driverVersion == linked.driverVersion);
  CHECK(ready.device.link == linked.link);
  const auto unlinked = std::get<ExecutorReady>(roundTrip(1, ExecutorReady{someDevice(), 77, 88}).body);
  CHECK(unlinked.device.link == memory::LinkDescription{});
  CHECK(ready.device.name == someDevice().name);
  CHECK(ready.pid == 77);
  CHECK(ready.wireHash == 88);
  SessionClosed closed;
  closed.usage.launches = 3;
  closed.usage.consumption = {.busyNs = 5, .deviceByteSeconds = 1.5, .homeByteSeconds = -1};
  const auto final = std::get<SessionClosed>(roundTrip(1, closed).body).usage;
  CHECK(final.launches == 3);
  CHECK(final.consumption.busyNs == 5);
  CHECK(final.consumption.deviceByteSeconds == 1.5);
  CHECK(final.consumption.homeByteSeconds == 0);  // what cannot be is nothing
  CHECK(std::get<CloseSession>(roundTrip(1, CloseSession{4}).body).sessionId == 4);
  CHECK(std::get<InstallModule>(roundTrip(1, InstallModule{4, 5, 6}).body).size == 6);
  CHECK(std::get<LoadModule>(roundTrip(1, LoadModule{4, 5, 6}).body).deviceIndex == 6);
  CHECK(std::get<Prepare>(roundTrip(1, Prepare{"n", 2, 3}).body).gpuMemory == 3);
  CHECK(std::get<Prepared>(roundTrip(1, Prepared{"t", "/lib"}).body).clientLibraries == "/lib");
  CHECK(std::get<StatusRequest>(roundTrip(1, StatusRequest{true}).body).unsupported);
  CHECK(std::get<StatusReply>(roundTrip(1, StatusReply{"{}"}).body).json == "{}");
  CHECK(std::get<SessionFault>(roundTrip(1, SessionFault{3, {CudaError::invalidValue, "bad"}}).body).sessionId == 3);
  CHECK(std::get<rouse::Error>(roundTrip(1, rouse::Error{CudaError::noDevice, "none"}).body).message == "none");
  const auto move = std::get<Move>(roundTrip(1, Move{"model", MoveAction::unpin}).body);
  CHECK(move.function == "model");
  CHECK(move.action == MoveAction::unpin);
  CHECK(std::get<Move>(roundTrip(1, Move{"model", MoveAction::migrate, 3}).body).gpu == 3);
  const auto moveSession = std::get<MoveSession>(roundTrip(1, MoveSession{7, MoveAction::pin, 9}).body);
  CHECK(moveSession.offered == 9);
  CHECK(moveSession.sessionId == 7);
  CHECK(moveSession.action == MoveAction::pin);
  const auto moved =
      std::get<Moved>(roundTrip(1, Moved{{{7, "model", 1, {}}, {8, "model", 0, rouse::Error{CudaError::notReady, "busy"}}}}).body);
  REQUIRE(moved.results.size() == 2);
  CHECK(moved.results[0].sessionId == 7);
  CHECK(moved.results[0].name == "model");
  CHECK(moved.results[0].gpu == 1);
  CHECK(moved.results[0].status.ok());
  CHECK(moved.results[1].status.error().code == CudaError::notReady);
  CHECK(moved.results[1].status.error().message == "busy");
  const auto asked = std::get<StatusRequest>(roundTrip(1, StatusRequest{true, "request-7", 8, 9}).body);
  CHECK((asked.unsupported && asked.request == "request-7" && asked.stories == 8 && asked.after == 9));
  roundTrip(1, Ok{});
  roundTrip(1, ExecutorStatusRequest{});
  roundTrip(1, Shutdown{});
}

TEST_CASE("memory that is lent is named by its places, of so many chunks at once") {
  const auto share = std::get<ShareMemory>(roundTrip(1, ShareMemory{7, 8}).body);
  CHECK((share.sessionId == 7 && share.from == 8));
  SharedMemory shared{.sessionId = 7, .device = "GPU-x", .chunks = {{1, {0, 2, 4}}, {5, {3, std::uint64_t{1} << 40, 1 << 26}}}, .next = 6};
  const auto got = std::get<SharedMemory>(roundTrip(1, shared).body);
  CHECK((got.sessionId == 7 && got.device == "GPU-x" && got.chunks == shared.chunks && got.next == 6));
  const auto end = std::get<EndBorrowing>(roundTrip(1, EndBorrowing{7, true}).body);
  CHECK((end.sessionId == 7 && end.atOnce));
  CHECK(std::get<ReturnMemory>(roundTrip(1, ReturnMemory{9}).body).sessionId == 9);
  CHECK(std::get<MemoryWanted>(roundTrip(0, MemoryWanted{9}).body).sessionId == 9);
  shared.chunks.resize(memory::kMostSharedChunks + 1);
  CHECK_THAT(decode(encode(1, shared)).error().message, Catch::Contains("65 chunks are shared at once, the most are 64"));
}

TEST_CASE("a session's recipe travels whole, and its parts must fit together") {
  const SessionRecipe recipe{.reservedBytes = 1,
                             .granules = {{2, 3}, {4, 5}},
                             .toMap = {6, 7},
                             .order = {4, 2},
                             .objects = {{8, 9}},
                             .allObjectsKnown = false,
                             .hostRanges = {{10, 11}, {12, 13}},
                             .streams = {{0, true, false, 0}, {14, false, true, -1}},
                             .modules = {{15, true, true, 16, {17, 18}}, {19, false, false, 0, {}}},
                             .limits = {{2, 20}},
                             .graphs = {{5, 32, std::vector<std::byte>(32, std::byte{7})}, {6, 4096, {}}},
                             .commandBytes = 21,
                             .outputBytes = 22,
                             .outputDropped = 23,
                             .commands = 24,
                             .launches = 25,
                             .lastError = 26,
                             .arrivals = 27,
                             .departures = 28,
                             .savedBytes = 29,
                             .lastSavedBytes = 30,
                             .peerBytes = 31,
                             .consumption = {},
                             .broughtBytes = 32};
  CHECK(std::get<SessionRecipe>(roundTrip(1, recipe).body) == recipe);
  const auto import = std::get<ImportSession>(roundTrip(1, ImportSession{7, recipe}).body);
  CHECK((import.sessionId == 7 && import.recipe == recipe));
  CHECK(std::get<ExportSession>(roundTrip(1, ExportSession{5}).body).sessionId == 5);
  const auto order = std::get<Order>(roundTrip(12, Order{"f", OrderAction::restart}).body);
  CHECK((order.function == "f" && order.action == OrderAction::restart));
  const auto asked = std::get<LogsRequest>(roundTrip(13, LogsRequest{"f", 7}).body);
  CHECK((asked.function == "f" && asked.lines == 7));
  CHECK(std::get<Logs>(roundTrip(14, Logs{"a\nb\n"}).body).text == "a\nb\n");
  const auto guest = std::get<GuestMemory>(roundTrip(1, GuestMemory{3, GuestAction::gone, 4096}).body);
  CHECK((guest.guest == 3 && guest.action == GuestAction::gone && guest.bytes == 4096));
  const auto grant = std::get<GuestGrant>(roundTrip(0, GuestGrant{3, 5}).body);
  CHECK((grant.guest == 3 && grant.bytes == 5));
  const auto call = std::get<GuestCall>(roundTrip(0, GuestCall{4, 6}).body);
  CHECK((call.guest == 4 && call.bytes == 6));
  CHECK(std::get<PromiseWanted>(roundTrip(0, PromiseWanted{7}).body).bytes == 7);
  const auto promised = std::get<Promised>(roundTrip(1, Promised{8, rouse::Error{CudaError::memoryAllocation, "too much"}}).body);
  CHECK((promised.bytes == 8 && promised.status.error().message == "too much"));
  CHECK(std::get<Promised>(roundTrip(1, Promised{8, {}}).body).status.ok());
  CHECK(std::get<AssignHomes>(roundTrip(1, AssignHomes{9}).body).bytes == 9);
  CHECK(std::get<Prepare>(roundTrip(1, Prepare{"a", 1, 2, true}).body).isolated);
  CHECK(std::get<Prepare>(roundTrip(1, Prepare{"a", 1, 2, false, 7}).body).check == 7);

  const auto waits = std::get<SessionWaits>(roundTrip(0, SessionWaits{1, 2, 3, 4}).body);
  CHECK((waits.sessionId == 1 && waits.waitedNs == 2 && waits.wantedBytes == 3 && waits.reservedBytes == 4));
  CHECK(std::get<ResumeSession>(roundTrip(1, ResumeSession{6}).body).sessionId == 6);

  capnp::MallocMessageBuilder homeless;
  homeless.initRoot<control::Message>().initSessionRecipe().initGranules(2);
  CHECK_THAT(decode(flat(homeless)).error().message, Catch::Contains("granules and homes that differ in number"));
  capnp::MallocMessageBuilder flags;
  flags.initRoot<control::Message>().initSessionRecipe().initStreams(1)[0].setFlags(4);
  CHECK_THAT(decode(flat(flags)).error().message, Catch::Contains("a stream of a session's recipe has flags 4"));
  capnp::MallocMessageBuilder wrapped;
  auto range = wrapped.initRoot<control::Message>().initSessionRecipe().initObjects(1)[0];
  range.setBase(~0ull);
  range.setBytes(2);
  CHECK_THAT(decode(flat(wrapped)).error().message, Catch::Contains("wraps round"));
}

TEST_CASE("malformed encodings are errors, never exceptions or crashes") {
  CHECK_FALSE(decode({}).ok());
  const std::vector<std::uint64_t> good = encode(1, Attach{1, 2, "token", "libcudart.so.13", 4, "program"});
  for (std::size_t words = 0; words < good.size(); ++words) {
    CHECK_FALSE(decode(std::span(good).first(words)).ok());
  }
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint64_t> bad = good;
    for (int flips = 0; flips < 3; ++flips) bad[random() % bad.size()] ^= std::uint64_t{1} << (random() % 64);
    auto message = decode(bad);  // may or may not be well-formed; must come back
    if (!message) CHECK_THAT(message.error().message, Catch::StartsWith("malformed control message: "));
  }
}

TEST_CASE("values out of range are named") {
  capnp::MallocMessageBuilder builder;
  auto variables = builder.initRoot<control::Message>().initModuleInfo().initVariables(1);
  variables[0].setSpace(3);
  auto message = decode(flat(builder));
  REQUIRE_FALSE(message.ok());
  CHECK_THAT(message.error().message, Catch::Contains("space is 3, the greatest is 2"));

  capnp::MallocMessageBuilder moving;
  moving.initRoot<control::Message>().initMove().setAction(5);
  CHECK_THAT(decode(flat(moving)).error().message, Catch::Contains("a move's action is 5, the greatest is 4"));
  capnp::MallocMessageBuilder movingOne;
  movingOne.initRoot<control::Message>().initMoveSession().setAction(4);
  CHECK_THAT(decode(flat(movingOne)).error().message, Catch::Contains("a session's move is 4, the greatest is 3"));
  capnp::MallocMessageBuilder nowhere;
  nowhere.initRoot<control::Message>().initExecutorStatus().initSessions(1)[0].setPlace(4);
  CHECK_THAT(decode(flat(nowhere)).error().message, Catch::Contains("a session's place is 4, the greatest is 3"));

  capnp::MallocMessageBuilder mismatched;
  mismatched.initRoot<control::Message>().initModuleInfo().initKernels(1)[0].initParameterOffsets(2);
  CHECK_THAT(decode(flat(mismatched)).error().message, Catch::Contains("differ in length"));

  capnp::MallocMessageBuilder wrapping;
  auto window = wrapping.initRoot<control::Message>().initOpenSession().initDeviceWindow();
  window.setBase(~0ull);
  window.setBytes(2);
  CHECK_THAT(decode(flat(wrapping)).error().message, Catch::Contains("wraps round"));
}

TEST_CASE("a message whose pointers share their target does not swell when it is copied out") {
  // 4096 kernels that share one name of 64,000 bytes would be 256 MiB.
  constexpr unsigned kKernels = 4096;
  capnp::MallocMessageBuilder builder(1 << 18);  // one segment: near pointers only
  auto kernels = builder.initRoot<control::Message>().initModuleInfo().initKernels(kKernels);
  for (unsigned i = 0; i < kKernels; ++i) kernels[i].setName(i == 0 ? std::string(64000, 'x') : "");
  std::vector<std::uint64_t> words = flat(builder);
  CHECK(decode(words).ok());
  const auto isText = [](std::uint64_t word) { return (word & 3) == 1 && ((word >> 32) & 7) == 2; };
  const auto first = std::find_if(words.begin(), words.end(), isText);
  REQUIRE(first != words.end());
  const auto second = std::find_if(first + 1, words.end(), isText);
  const auto stride = second - first;
  const std::uint64_t offset = (*first & 0xffff'ffff) >> 2;
  for (unsigned i = 1; i < kKernels; ++i) {
    first[i * stride] =
        ((offset - i * static_cast<std::uint64_t>(stride)) << 2 & 0xffff'ffff) | (*first & ~0xffff'fffcull);
  }
  const auto shared = decode(words);
  REQUIRE_FALSE(shared.ok());
  CHECK_THAT(shared.error().message,
             Catch::Contains("amplif") || Catch::Contains("traversal") || Catch::Contains("limit"));

  // A list of empty structs claims a huge count in no space: the limit counts each element.
  capnp::MallocMessageBuilder empty;
  empty.initRoot<control::Message>().initModuleInfo().initKernels(1);
  words = flat(empty);
  bool refused = false;
  for (std::uint64_t& word : words) {
    const std::uint64_t saved = word;
    // A list pointer (type 1) of composite elements (code 7): point at a tag that claims 2^29 - 1 elements of size 0.
    if ((word & 3) == 1 && ((word >> 32) & 7) == 7) {
      word = (word & 0xffff'ffff) | (std::uint64_t{7} << 32);
      const std::size_t index =
          static_cast<std::size_t>(&word - words.data()) + 1 + (static_cast<std::uint32_t>(saved) >> 2);
      REQUIRE(index < words.size());
      words[index] = (std::uint64_t{0x1fff'ffff} << 2);
      refused = !decode(words).ok();
      break;
    }
  }
  CHECK(refused);
}

TEST_CASE("every field of what an executor tells another daemon survives") {
  OpenSession open{.sessionId = 9, .deviceIndex = 1, .deviceWindow = {1 << 30, 2 << 20}, .hostWindow = {4096, 8192}, .memoryLimit = 5, .name = "f", .dormant = true};
  open.identity = {.program = "p", .pid = 77, .uid = 1000, .gpus = 2, .gpuMemory = 1, .hostMemory = 2, .moduleMemory = 3, .supervised = true, .sinceNs = -4, .key = "k", .hostAddresses = {8, 16}, .family = 12};
  open.hasProcess = true;
  open.check = 100;
  const auto opened = std::get<OpenSession>(roundTrip(1, open).body);
  CHECK((opened.identity == open.identity && opened.hasProcess && opened.check == 100 && opened.dormant && opened.name == "f"));

  const auto offer = std::get<AdoptionOffer>(roundTrip(2, AdoptionOffer{{someDevice(), 5, 6}, "cpu GPU 0", true, false}).body);
  CHECK((offer.ready.pid == 5 && offer.ready.wireHash == 6 && offer.ready.device.name == someDevice().name && offer.options == "cpu GPU 0" && offer.hasStore && !offer.hasLinks));

  HeldModule module{{4, {}}, 1234};
  module.info.description.kernels.push_back({.name = "kernel"});
  const auto held = std::get<HeldModule>(roundTrip(3, module).body);
  CHECK((held.info.moduleId == 4 && held.bytes == 1234 && held.info.description.kernels.at(0).name == "kernel"));

  HeldSession session{.open = open, .state = Held::cutOff, .fault = {CudaError::invalidValue, "why"}, .modules = {3, 1}, .lends = true, .borrows = false};
  const auto told = std::get<HeldSession>(roundTrip(4, session).body);
  CHECK((told.open.identity == open.identity && told.state == Held::cutOff && told.fault.message == "why" && told.modules == session.modules && told.lends && !told.borrows));

  const auto offered = std::get<Offered>(roundTrip(5, Offered{7, 8}).body);
  CHECK((offered.modules == 7 && offered.sessions == 8));
  roundTrip(5, Adopted{});
  const auto again = std::get<Reattach>(roundTrip(6, Reattach{1, 2, 3, "key", "token"}).body);
  CHECK((again.protocol == 1 && again.wireHash == 2 && again.sessionId == 3 && again.key == "key" && again.token == "token"));
  const auto attached = std::get<Attached>(roundTrip(6, Attached{.sessionId = 3, .hostWindow = {}, .devices = {}, .key = "key", .orphanMs = 60000, .check = 100}).body);
  CHECK((attached.key == "key" && attached.orphanMs == 60000 && attached.check == 100));
}

TEST_CASE("a held session's state is one that there is") {
  capnp::MallocMessageBuilder builder;
  auto message = builder.initRoot<rouse::control::Message>();
  message.setId(1);
  message.initHeldSession().setState(5);
  const auto decoded = decode(flat(builder));
  REQUIRE(!decoded.ok());
  CHECK(decoded.error().message.find("a held session's state is 5, the greatest is 4") != std::string::npos);
}

TEST_CASE("what processes ask of each other's memory survives, and a handle of another size does not") {
  wire::IpcHandle handle{.kind = wire::IpcKind::event, .sessionId = 3, .deviceIndex = 1};
  handle.secret.fill(0xa7);
  const Ipc asked = std::get<Ipc>(roundTrip(9, Ipc{IpcAction::mapEvent, 4, 2, {0x1000, 0x200}, 77, handle}).body);
  CHECK(asked.action == IpcAction::mapEvent);
  CHECK(asked.sessionId == 4);
  CHECK(asked.deviceIndex == 2);
  CHECK(asked.range == AddressRange{0x1000, 0x200});
  CHECK(asked.page == 77);
  CHECK(asked.handle == handle);
  const Shared told = std::get<Shared>(roundTrip(9, Shared{handle, {0x2000, 0x300}, 5, true}).body);
  CHECK(told.handle == handle);
  CHECK(told.range == AddressRange{0x2000, 0x300});
  CHECK(told.page == 5);
  CHECK(told.inUse);

  capnp::MallocMessageBuilder builder;
  auto ipc = builder.initRoot<rouse::control::Message>().initIpc();
  CHECK_FALSE(std::get<Ipc>(decode(flat(builder))->body).handle.wellFormed(wire::IpcKind::memory));
  ipc.initHandle(63);
  CHECK_FALSE(decode(flat(builder)).ok());
  ipc.initHandle(64);
  CHECK(decode(flat(builder)).ok());
  ipc.setAction(8);
  CHECK_FALSE(decode(flat(builder)).ok());
  ipc.setAction(0);
  ipc.initRange().setBase(~std::uint64_t{0});
  ipc.getRange().setBytes(2);
  CHECK_FALSE(decode(flat(builder)).ok());
}

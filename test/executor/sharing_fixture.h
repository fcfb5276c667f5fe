// Several sessions on a fake device, of eight chunks unless said otherwise, and homes in a memfd for five times as much.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/executor/guest.h"
#include "server/executor/moves.h"
#include "server/executor/sharing.h"
#include "test/executor/client.h"
#include "test/executor/fake_device.h"
#include "test/executor/session_fixture.h"

namespace rouse::executor {

inline constexpr std::uint64_t kG = kGranuleBytes;
inline constexpr std::uint64_t kMs = 1'000'000;

struct SharingFixture {
  explicit SharingFixture(std::uint32_t chunks = 8) : SharingFixture(chunks, file(5 * chunks * kG), 0) {}
  // One of several, each with its part of a file.
  SharingFixture(const wire::OwnedFd& store, std::uint64_t offset) : SharingFixture(8, store, offset) {}
  SharingFixture(std::uint32_t chunks, const wire::OwnedFd& store, std::uint64_t offset)
      : device(chunks),
        homes(Homes::open(device, store, offset, 5 * chunks * kG).value()),
        view(StoreView::open(store).value()),
        surroundings{.device = device, .memory = memory, .progress = listener, .buffer = buffer, .homes = homes.get(), .store = view.get()} {}
  ~SharingFixture() {
    sessions.clear();
    for (const auto& guest : guests) {
      CHECK(guest->bytes() == 0);
      memory.release(guest->id());
    }
    CHECK(device.violations == std::vector<std::string>{});
    CHECK(memory.freeBytes() == memory.totalBytes());
    CHECK(homes->usedBytes() == 0);
    CHECK(homes->promisableBytes() == homes->totalBytes());
    CHECK(device.mappedChunks() == 0);
  }
  static wire::OwnedFd file(std::uint64_t bytes) {
    wire::OwnedFd fd(::memfd_create("homes", MFD_CLOEXEC));
    REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
    return fd;
  }

  // A session with memory for `granules` promised and mapped, as far as there is any.
  std::size_t add(std::uint64_t granules) {
    clients.push_back(std::make_unique<Client>(clients.size() + 1, std::max(std::uint64_t{64} << 20, memory.totalBytes())));
    Client& client = *clients.back();
    auto opened = Session::open(client.request, client.fds(), surroundings);
    REQUIRE(opened.ok());
    sessions.push_back(std::move(*opened));
    client.send(wire::MemReserve{.bytes = granules * kG, .value = 1, .slot = 9});
    settle();
    REQUIRE(client.result(9) == CudaError::success);
    client.send(wire::MemMap{.base = client.window(), .bytes = granules * kG});
    settle();
    return sessions.size() - 1;
  }
  // Until nothing more happens. Time stands still.
  void settle() {
    // One round more than anything happened: what ends late in a round is seen early in the next.
    for (int still = 0; still < 2; ++still) {
      bool waiting = false;
      bool did = device.poll(waiting);
      std::vector<Session*> all;
      for (const auto& session : sessions) {
        did = session->poll() || did;
        all.push_back(session.get());
      }
      did = moves.turn(all, now, [&](std::uint64_t request, const Status& status) {
        answers[request] = status;
        if (const auto exported = exports.find(request); exported != exports.end() && status) recipes[request] = exported->second->freeze();
      }) || did;
      std::vector<Sharer*> sharers(all.begin(), all.end());
      for (const auto& guest : guests) sharers.push_back(guest.get());
      did = sharing.turn(std::span<Sharer* const>(sharers), now) || did;
      for (const auto& guest : guests) {
        const auto done = guest->turn(sharing.lackingChunks(), now,
                                      {.grant = [&](const channel::GuestGrant& grant) { granted[grant.guest] += grant.bytes / kG; },
                                       .call = [&](const channel::GuestCall& call) { calls[call.guest] = call.bytes; }});
        REQUIRE(done.ok());
        did = *done || did;
      }
      if (did) still = -1;
    }
  }
  // It is away, as if an operator had sent it. What was queued has ended.
  void sendAway(std::size_t who) {
    settle();
    sessions[who]->sendAway();
    settle();
    REQUIRE(sessions[who]->presence().where() == Presence::Where::away);
  }
  // Somebody has all chunks that are to be had, for a moment: nothing rests any more.
  void clearAway() {
    constexpr memory::OwnerId kSomebody = 1000;
    std::vector<memory::Chunk> chunks;
    REQUIRE(memory.enroll(kSomebody, memory::Tenure::visits).ok());
    const std::uint64_t most = memory.freeBytes(kSomebody);  // all, unless somebody is pinned
    REQUIRE(memory.reserve(kSomebody, most).ok());
    const std::size_t count = std::min<std::size_t>(memory.freeChunks(), most / kG);
    memory.takeAny(kSomebody, count, chunks);
    for (const memory::Chunk& chunk : chunks) memory.put(kSomebody, chunk);
    memory.release(kSomebody);
  }
  std::uint64_t resting(std::size_t who) { return sessions[who]->usage().restingBytes / kG; }
  // Until all that is at rest has been looked at.
  void findEqual() {
    while (homes->turn() || homes->reading()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    for (const HomeSharing::Merged& merged : homes->takeMerged())
      for (const auto& session : sessions)
        if (session->id() == merged.owner && !session->between()) session->meet(merged.address);
  }
  // A command of the session's; the slot tells when it has been done.
  void touch(std::size_t who) {
    clients[who]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = ++signals, .slot = 1});
    settle();
  }
  bool done(std::size_t who) { return clients[who]->value(1) == signals; }
  bool here(std::size_t who) { return sessions[who]->presence().here(); }
  // Lines that begin with `what`, since the last call.
  std::size_t count(const std::string& what) {
    return static_cast<std::size_t>(std::count_if(device.taken.begin(), device.taken.end(),
                                                  [&](const std::string& line) { return line.starts_with(what); }));
  }

  FakeDevice device;
  PhysicalMemory memory = PhysicalMemory::create(device).value();
  std::unique_ptr<Homes> homes;
  std::unique_ptr<StoreView> view;
  CountingListener listener;
  wire::CommandBuffer buffer;
  Surroundings surroundings;
  Sharing sharing{surroundings};
  Moves moves;
  std::map<std::uint64_t, Status> answers;  // of moves, by request
  std::map<std::uint64_t, Session*> exports;  // who is frozen when that request is answered by success
  std::map<std::uint64_t, channel::SessionRecipe> recipes;
  std::vector<std::unique_ptr<Guest>> guests;
  std::map<std::uint64_t, std::uint64_t> granted, calls;  // chunks in all, and bytes as told last, by guest
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<Session>> sessions;
  std::uint64_t now = 1000 * kMs, signals = 0;
};

}  // namespace rouse::executor

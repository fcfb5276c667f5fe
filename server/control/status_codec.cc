// What an executor says of itself and of its sessions.
#include "server/control/codec_parts.h"
#include "server/control/session_recipe_codec.h"

namespace rouse::channel::codec {

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
  to.setBroughtBytes(from.broughtBytes);
  to.setTies(from.ties);
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
  to.setHostStorePendingBytes(from.hostStorePendingBytes);
  to.setRoomBytes(from.roomBytes);
  to.setHeldBytes(from.heldBytes);
  to.setIdleBytes(from.idleBytes);
  to.setWaiting(from.waiting);
  to.setLentBytes(from.lentBytes);
  to.setDeviceAllocations(from.deviceAllocations);
  to.setHostPinnings(from.hostPinnings);
  to.setAllocatedBytes(from.allocatedBytes);
  to.setOfferedBytes(from.offeredBytes);
  auto sessions = to.initSessions(static_cast<unsigned>(from.sessions.size()));
  for (unsigned i = 0; i < sessions.size(); ++i) write(sessions[i], from.sessions[i]);
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
          .consumption = readConsumption(from.getConsumption()),
          .broughtBytes = from.getBroughtBytes(),
          .ties = read(from.getTies())};
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
                    .hostStorePendingBytes = from.getHostStorePendingBytes(),
                    .roomBytes = from.getRoomBytes(),
                    .idleBytes = from.getIdleBytes(),
                    .waiting = from.getWaiting(),
                    .lentBytes = from.getLentBytes(),
                    .heldBytes = from.getHeldBytes(),
                    .deviceAllocations = from.getDeviceAllocations(),
                    .hostPinnings = from.getHostPinnings(),
                    .allocatedBytes = from.getAllocatedBytes(),
                    .offeredBytes = from.getOfferedBytes()};
  for (auto usage : from.getSessions()) to.sessions.push_back(read(usage));
  return to;
}

}  // namespace rouse::channel::codec

// What an executor is, and what sessions it serves.
#include "server/control/codec_parts.h"

namespace rouse::channel::codec {

void write(capnproto::OpenSession::Builder to, const OpenSession& from) {
  to.setSessionId(from.sessionId);
  to.setDeviceIndex(from.deviceIndex);
  write(to.initDeviceWindow(), from.deviceWindow);
  write(to.initHostWindow(), from.hostWindow);
  to.setMemoryLimit(from.memoryLimit);
  to.setName(from.name);
  to.setDormant(from.dormant);
  to.setHasProcess(from.hasProcess);
  to.setCheck(from.check);
  auto identity = to.initIdentity();
  identity.setProgram(from.identity.program);
  identity.setPid(from.identity.pid);
  identity.setUid(from.identity.uid);
  identity.setGpus(from.identity.gpus);
  identity.setGpuMemory(from.identity.gpuMemory);
  identity.setHostMemory(from.identity.hostMemory);
  identity.setModuleMemory(from.identity.moduleMemory);
  identity.setSupervised(from.identity.supervised);
  identity.setSince(from.identity.sinceNs);
  identity.setKey(from.identity.key);
  identity.setFamily(from.identity.family);
  write(identity.initHostAddresses(), from.identity.hostAddresses);
}

void write(capnproto::ExecutorReady::Builder to, const ExecutorReady& from) {
  write(to.initDevice(), from.device);
  to.setPid(from.pid);
  to.setWireHash(from.wireHash);
  to.setPhysicalBytes(from.device.physicalBytes);
  to.setDriverVersion(from.device.driverVersion);
  write(to.initLink(), from.device.link);
}

void write(capnproto::AdoptionOffer::Builder to, const AdoptionOffer& from) {
  write(to.initReady(), from.ready);
  to.setOptions(from.options);
  to.setHasStore(from.hasStore);
  to.setHasLinks(from.hasLinks);
}

void write(capnproto::HeldSession::Builder to, const HeldSession& from) {
  write(to.initOpen(), from.open);
  to.setState(static_cast<std::uint8_t>(from.state));
  write(to.initFault(), from.fault);
  auto modules = to.initModules(static_cast<unsigned>(from.modules.size()));
  for (unsigned i = 0; i < modules.size(); ++i) modules.set(i, from.modules[i]);
  to.setLends(from.lends);
  to.setBorrows(from.borrows);
}

ExecutorReady read(capnproto::ExecutorReady::Reader from) {
  ExecutorReady ready{read(from.getDevice()), from.getPid(), from.getWireHash()};
  ready.device.physicalBytes = from.getPhysicalBytes();
  ready.device.driverVersion = read(from.getDriverVersion());
  ready.device.link = read(from.getLink());
  return ready;
}

OpenSession read(capnproto::OpenSession::Reader from) {
  const auto identity = from.getIdentity();
  return {.sessionId = from.getSessionId(),
          .deviceIndex = from.getDeviceIndex(),
          .deviceWindow = read(from.getDeviceWindow()),
          .hostWindow = read(from.getHostWindow()),
          .memoryLimit = from.getMemoryLimit(),
          .name = read(from.getName()),
          .dormant = from.getDormant(),
          .identity = {.program = read(identity.getProgram()),
                       .pid = identity.getPid(),
                       .uid = identity.getUid(),
                       .gpus = identity.getGpus(),
                       .gpuMemory = identity.getGpuMemory(),
                       .hostMemory = identity.getHostMemory(),
                       .moduleMemory = identity.getModuleMemory(),
                       .supervised = identity.getSupervised(),
                       .sinceNs = identity.getSince(),
                       .key = read(identity.getKey()),
                       .hostAddresses = read(identity.getHostAddresses()),
                       .family = identity.getFamily()},
          .hasProcess = from.getHasProcess(),
          .check = from.getCheck()};
}

AdoptionOffer read(capnproto::AdoptionOffer::Reader from) {
  return {read(from.getReady()), read(from.getOptions()), from.getHasStore(), from.getHasLinks()};
}

HeldSession read(capnproto::HeldSession::Reader from) {
  HeldSession to{.open = read(from.getOpen()),
                 .state = readAtMost("a held session's state", from.getState(), Held::closing),
                 .fault = read(from.getFault()),
                 .modules = {},
                 .lends = from.getLends(),
                 .borrows = from.getBorrows()};
  for (const std::uint64_t module : from.getModules()) to.modules.push_back(module);
  return to;
}

}  // namespace rouse::channel::codec

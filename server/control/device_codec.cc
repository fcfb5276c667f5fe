// What a device is, and what a process that attaches gets.
#include "server/control/codec_parts.h"

namespace rouse::channel::codec {
namespace {

void writeCurve(capnp::List<capnproto::Link::Point>::Builder to, const memory::LinkCurve& from) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setBytes(from[i].bytes);
    to[i].setBytesPerSecond(from[i].bytesPerSecond);
  }
}

memory::LinkCurve readCurve(capnp::List<capnproto::Link::Point>::Reader from) {
  memory::LinkCurve to;
  for (auto point : from) to.push_back({point.getBytes(), point.getBytesPerSecond()});
  return to;
}

}  // namespace

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
  to.setLeavesProcessors(from.leavesProcessors);
  to.setDnnVersion(from.dnnVersion);
}

void write(capnproto::Link::Builder to, const memory::LinkDescription& from) {
  to.setPcieGeneration(from.pcieGeneration);
  to.setPcieGenerationAtMost(from.pcieGenerationAtMost);
  to.setPcieWidth(from.pcieWidth);
  to.setPcieWidthAtMost(from.pcieWidthAtMost);
  writeCurve(to.initToDevice(static_cast<unsigned>(from.toDevice.size())), from.toDevice);
  writeCurve(to.initToHost(static_cast<unsigned>(from.toHost.size())), from.toHost);
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
  to.leavesProcessors = from.getLeavesProcessors();
  to.dnnVersion = from.getDnnVersion();
  return to;
}

memory::LinkDescription read(capnproto::Link::Reader from) {
  memory::LinkDescription to{.pcieGeneration = from.getPcieGeneration(),
                             .pcieGenerationAtMost = from.getPcieGenerationAtMost(),
                             .pcieWidth = from.getPcieWidth(),
                             .pcieWidthAtMost = from.getPcieWidthAtMost(),
                             .toDevice = readCurve(from.getToDevice()),
                             .toHost = readCurve(from.getToHost()),
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
  to.setKey(from.key);
  to.setOrphanMs(from.orphanMs);
  to.setCheck(from.check);
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
  Attached to{.sessionId = from.getSessionId(), .hostWindow = read(from.getHostWindow()), .devices = {}, .key = read(from.getKey()), .orphanMs = from.getOrphanMs(), .check = from.getCheck()};
  for (auto device : from.getDevices()) {
    to.devices.push_back({.window = read(device.getWindow()),
                          .memoryLimit = device.getMemoryLimit(),
                          .properties = read(device.getProperties()),
                          .spin = device.getSpin()});
  }
  return to;
}

void write(capnproto::Describe::Builder to, const Describe& from) {
  to.setProtocol(from.protocol);
  to.setWireHash(from.wireHash);
  to.setToken(from.token);
  to.setSessionId(from.sessionId);
}

Describe read(capnproto::Describe::Reader from) { return {from.getProtocol(), from.getWireHash(), read(from.getToken()), from.getSessionId()}; }

void write(capnproto::Described::Builder to, const Described& from) {
  auto devices = to.initDevices(static_cast<unsigned>(from.devices.size()));
  for (unsigned i = 0; i < devices.size(); ++i) {
    write(devices[i].initProperties(), from.devices[i].properties);
    devices[i].setMemoryLimit(from.devices[i].memoryLimit);
    devices[i].setFreeBytes(from.devices[i].freeBytes);
    devices[i].setBusyNs(from.devices[i].busyNs);
    devices[i].setPcieGeneration(from.devices[i].pcieGeneration);
    devices[i].setPcieGenerationAtMost(from.devices[i].pcieGenerationAtMost);
    devices[i].setPcieWidth(from.devices[i].pcieWidth);
    devices[i].setPcieWidthAtMost(from.devices[i].pcieWidthAtMost);
  }
}

Described read(capnproto::Described::Reader from) {
  Described to;
  for (auto device : from.getDevices())
    to.devices.push_back({read(device.getProperties()), device.getMemoryLimit(), device.getFreeBytes(), device.getBusyNs(), device.getPcieGeneration(),
                          device.getPcieGenerationAtMost(), device.getPcieWidth(), device.getPcieWidthAtMost()});
  return to;
}

}  // namespace rouse::channel::codec

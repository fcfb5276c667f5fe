#include "server/control/session_recipe_codec.h"

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

namespace rouse::channel {
namespace {

namespace capnproto = rouse::control;
using RangeList = capnp::List<capnproto::Range>;

// Bits of a stream and of a module.
constexpr std::uint8_t kLive = 1, kNonBlocking = 2, kMade = 2;

void write(RangeList::Builder to, const std::vector<AddressRange>& from) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setBase(from[i].base);
    to[i].setBytes(from[i].bytes);
  }
}

AddressRange read(capnproto::Range::Reader from) {
  const AddressRange range{from.getBase(), from.getBytes()};
  if (range.end() < range.base) throw std::out_of_range("a range of a session's recipe wraps round");
  return range;
}

std::vector<AddressRange> read(RangeList::Reader from) {
  std::vector<AddressRange> to;
  to.reserve(from.size());
  for (auto range : from) to.push_back(read(range));
  return to;
}

std::uint8_t readFlags(const char* what, std::uint8_t flags) {
  if (flags > (kLive | kNonBlocking))
    throw std::out_of_range(std::string(what) + " of a session's recipe has flags " + std::to_string(flags) + ", the greatest are 3");
  return flags;
}

unsigned count(const auto& list) { return static_cast<unsigned>(list.size()); }

}  // namespace

void writeRecipe(capnproto::SessionRecipe::Builder to, const SessionRecipe& from) {
  to.setReservedBytes(from.reservedBytes);
  auto numbers = to.initGranules(count(from.granules));
  auto homes = to.initHomes(count(from.granules));
  for (unsigned i = 0; i < numbers.size(); ++i) {
    numbers.set(i, from.granules[i].number);
    homes.set(i, from.granules[i].home);
  }
  auto toMap = to.initToMap();
  toMap.setBase(from.toMap.base);
  toMap.setBytes(from.toMap.bytes);
  auto order = to.initOrder(count(from.order));
  for (unsigned i = 0; i < order.size(); ++i) order.set(i, from.order[i]);
  write(to.initObjects(count(from.objects)), from.objects);
  to.setAllObjectsKnown(from.allObjectsKnown);
  write(to.initHostRanges(count(from.hostRanges)), from.hostRanges);
  auto streams = to.initStreams(count(from.streams));
  for (unsigned i = 0; i < streams.size(); ++i) {
    const SessionRecipe::Stream& stream = from.streams[i];
    streams[i].setGeneration(stream.generation);
    streams[i].setFlags(static_cast<std::uint8_t>((stream.live ? kLive : 0) | (stream.nonBlocking ? kNonBlocking : 0)));
    streams[i].setPriority(stream.priority);
  }
  auto modules = to.initModules(count(from.modules));
  for (unsigned i = 0; i < modules.size(); ++i) {
    const SessionRecipe::Module& module = from.modules[i];
    modules[i].setGeneration(module.generation);
    modules[i].setFlags(static_cast<std::uint8_t>((module.live ? kLive : 0) | (module.made ? kMade : 0)));
    modules[i].setModuleId(module.moduleId);
    auto addresses = modules[i].initAddresses(count(module.addresses));
    for (unsigned v = 0; v < addresses.size(); ++v) addresses.set(v, module.addresses[v]);
  }
  auto limits = to.initLimits(count(from.limits));
  for (unsigned i = 0; i < limits.size(); ++i) {
    limits[i].setLimit(from.limits[i].limit);
    limits[i].setValue(from.limits[i].value);
  }
  auto graphs = to.initGraphs(count(from.graphs));
  for (unsigned i = 0; i < graphs.size(); ++i) {
    const SessionRecipe::Graph& graph = from.graphs[i];
    graphs[i].setId(graph.id);
    graphs[i].setBytes(graph.bytes);
    auto definition = graphs[i].initDefinition(count(graph.definition));
    if (!graph.definition.empty()) std::memcpy(definition.begin(), graph.definition.data(), graph.definition.size());
  }
  to.setCommandBytes(from.commandBytes);
  to.setOutputBytes(from.outputBytes);
  to.setOutputDropped(from.outputDropped);
  to.setCommands(from.commands);
  to.setLaunches(from.launches);
  to.setLastError(from.lastError);
  to.setArrivals(from.arrivals);
  to.setDepartures(from.departures);
  to.setSavedBytes(from.savedBytes);
  to.setLastSavedBytes(from.lastSavedBytes);
  to.setPeerBytes(from.peerBytes);
  to.setBroughtBytes(from.broughtBytes);
  writeConsumption(to.initConsumption(), from.consumption);
}

void writeConsumption(capnproto::Consumption::Builder to, const Consumption& from) {
  to.setBusyNs(from.busyNs);
  to.setDeviceByteSeconds(from.deviceByteSeconds);
  to.setHomeByteSeconds(from.homeByteSeconds);
}

Consumption readConsumption(capnproto::Consumption::Reader from) {
  const auto sane = [](double value) { return std::isfinite(value) && value >= 0 ? value : 0; };
  return {from.getBusyNs(), sane(from.getDeviceByteSeconds()), sane(from.getHomeByteSeconds())};
}

SessionRecipe readRecipe(capnproto::SessionRecipe::Reader from) {
  SessionRecipe to;
  to.reservedBytes = from.getReservedBytes();
  const auto numbers = from.getGranules();
  const auto homes = from.getHomes();
  if (numbers.size() != homes.size()) throw std::out_of_range("a session's recipe has granules and homes that differ in number");
  to.granules.reserve(numbers.size());
  for (unsigned i = 0; i < numbers.size(); ++i) to.granules.push_back({numbers[i], homes[i]});
  to.toMap = read(from.getToMap());
  for (const std::uint32_t granule : from.getOrder()) to.order.push_back(granule);
  to.objects = read(from.getObjects());
  to.allObjectsKnown = from.getAllObjectsKnown();
  to.hostRanges = read(from.getHostRanges());
  for (auto stream : from.getStreams()) {
    const std::uint8_t flags = readFlags("a stream", stream.getFlags());
    to.streams.push_back({stream.getGeneration(), (flags & kLive) != 0, (flags & kNonBlocking) != 0, stream.getPriority()});
  }
  for (auto module : from.getModules()) {
    const std::uint8_t flags = readFlags("a module", module.getFlags());
    SessionRecipe::Module& made = to.modules.emplace_back();
    made.generation = module.getGeneration();
    made.live = (flags & kLive) != 0;
    made.made = (flags & kMade) != 0;
    made.moduleId = module.getModuleId();
    for (const std::uint64_t address : module.getAddresses()) made.addresses.push_back(address);
  }
  for (auto limit : from.getLimits()) to.limits.push_back({limit.getLimit(), limit.getValue()});
  for (auto graph : from.getGraphs()) {
    SessionRecipe::Graph& made = to.graphs.emplace_back();
    made.id = graph.getId();
    made.bytes = graph.getBytes();
    const auto definition = graph.getDefinition();
    made.definition.resize(definition.size());
    if (definition.size() != 0) std::memcpy(made.definition.data(), definition.begin(), definition.size());
  }
  to.commandBytes = from.getCommandBytes();
  to.outputBytes = from.getOutputBytes();
  to.outputDropped = from.getOutputDropped();
  to.commands = from.getCommands();
  to.launches = from.getLaunches();
  to.lastError = from.getLastError();
  to.arrivals = from.getArrivals();
  to.departures = from.getDepartures();
  to.savedBytes = from.getSavedBytes();
  to.lastSavedBytes = from.getLastSavedBytes();
  to.peerBytes = from.getPeerBytes();
  to.broughtBytes = from.getBroughtBytes();
  to.consumption = readConsumption(from.getConsumption());
  return to;
}

}  // namespace rouse::channel

#include "server/roused/status_report.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "schemas/wire/round_trips.h"
#include "server/roused/function_host.h"
#include "server/roused/function_report.h"
#include "server/roused/session_sleep.h"
#include "server/roused/usage_report.h"
#include "server/roused/version.h"

namespace rouse::daemon {
namespace {

using nlohmann::ordered_json;

std::string isoTime(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// What is not known is null.
template <class Number>
ordered_json known(Number value, bool isKnown) {
  return isKnown ? ordered_json(value) : ordered_json();
}
ordered_json known(const std::string& text) { return known(text, !text.empty()); }

ordered_json curve(const memory::LinkCurve& measured) {
  ordered_json points = ordered_json::array();
  for (const memory::LinkPoint& point : measured)
    points.push_back({{"block_bytes", point.bytes}, {"rate_bytes", point.bytesPerSecond}});
  return points;
}

ordered_json direction(const memory::LinkCurve& measured) {
  if (measured.empty()) return {};
  return {
      {"rate_bytes", memory::bestRate(measured)}, {"elbow_bytes", memory::elbow(measured)}, {"curve", curve(measured)}};
}

ordered_json describe(const memory::LinkDescription& link) {
  ordered_json peers = ordered_json::array();
  for (const memory::LinkPeer& peer : link.peers) {
    peers.push_back({{"uuid", peer.uuid},
                     {"pci", peer.pciAddress},
                     {"access", peer.access},
                     {"atomics", peer.atomics},
                     {"rank", known(peer.rank, peer.rank >= 0)},
                     {"nvlinks", known(peer.nvlinks, link.nvlinks.has_value())},
                     {"rate_bytes", known(peer.bytesPerSecond, peer.bytesPerSecond != 0)}});
  }
  return {{"pcie_generation", known(link.pcieGeneration, link.pcieGeneration != 0)},
          {"pcie_generation_at_most", known(link.pcieGenerationAtMost, link.pcieGenerationAtMost != 0)},
          {"pcie_width", known(link.pcieWidth, link.pcieWidth != 0)},
          {"pcie_width_at_most", known(link.pcieWidthAtMost, link.pcieWidthAtMost != 0)},
          {"to_device", direction(link.toDevice)},
          {"to_host", direction(link.toHost)},
          {"numa_node", known(link.numaNode, link.numaNode >= 0)},
          {"cpus", known(link.cpus)},
          {"nvlinks", known(link.nvlinks.value_or(0), link.nvlinks.has_value())},
          {"nvlinks_to_switches", known(link.nvlinksToSwitches, link.nvlinks.has_value())},
          {"shared_way", known(link.sharedWay)},
          {"shared_rate_bytes", known(link.sharedBytesPerSecond, link.sharedBytesPerSecond != 0)},
          {"peers", std::move(peers)}};
}

// The shared one first. Of the isolated ones, those that serve somebody.
ordered_json executors(const StatusInput& input, const ExecutorLink& shared) {
  ordered_json list = ordered_json::array();
  std::uint64_t granted = 0;
  const auto entry = [&](const ExecutorLink& link, std::uint64_t bytes) {
    ordered_json one{{"number", link.identity().number},
                     {"isolation", link.identity().isolated() ? "isolated" : "shared"},
                     {"state", link.serving() ? "serving" : "lost"},
                     {"pid", link.pid()},
                     {"memory_bytes", bytes}};
    ordered_json sessions = ordered_json::array();
    for (const auto& [id, session] : input.sessions.sessions())
      if (std::ranges::any_of(session->devices, [&](const Session::Device& device) { return device.executor == &link; })) sessions.push_back(id);
    one["sessions"] = std::move(sessions);
    list.push_back(std::move(one));
  };
  for (const auto& link : input.pool.isolated().taken())
    if (link->ordinal() == shared.ordinal()) granted += link->identity().granted;
  const std::uint64_t total = shared.properties().memoryBytes;
  entry(shared, total - std::min(total, granted));
  for (const auto& link : input.pool.isolated().taken())
    if (link->ordinal() == shared.ordinal()) entry(*link, link->identity().granted);
  return list;
}

ordered_json gpu(const StatusInput& input, const ExecutorLink& link) {
  const memory::DeviceProperties& properties = link.properties();
  ordered_json json{{"index", link.ordinal()},      {"state", link.serving() ? "serving" : "lost"},
                    {"name", properties.name},      {"uuid", properties.uuid},
                    {"pci", properties.pciAddress}, {"executor_pid", link.pid()},
                    {"restarts", link.restarts()},  {"memory_total_bytes", properties.memoryBytes}};
  if (!link.serving()) json["problem"] = link.problem();
  json["memory_physical_bytes"] = known(properties.physicalBytes, properties.physicalBytes != 0);
  json["driver_version"] = known(properties.driverVersion);
  json["compute_capability"] = std::to_string(properties.computeMajor) + "." + std::to_string(properties.computeMinor);
  json["link"] = describe(properties.link);
  json["executors"] = executors(input, link);
  const IsolatedExecutors::Count isolated = input.pool.isolated().count(link.ordinal());
  json["spare_executors"] = isolated.spares;
  json["starting_executors"] = isolated.starting;
  if (const auto status = input.executors.find(&link); status != input.executors.end()) {
    json["memory_total_bytes"] = status->second.totalBytes;
    json["memory_free_bytes"] = status->second.freeBytes;
    json["memory_held_bytes"] = status->second.heldBytes;
    json["sessions"] = status->second.sessions.size();
    json["commands"] = status->second.commands;
    json["launches"] = status->second.launches;
    json["device_allocations"] = status->second.deviceAllocations;
    json["memory_allocated_bytes"] = status->second.allocatedBytes;
    json["host_pinnings"] = status->second.hostPinnings;
    json["host_store_bytes"] = status->second.hostStoreBytes;
    json["host_store_used_bytes"] = status->second.hostStoreUsedBytes;
    json["host_store_pending_bytes"] = status->second.hostStorePendingBytes;
    json["host_store_free_bytes"] = status->second.hostStorePromisableBytes;
    json["lent_bytes"] = status->second.lentBytes;
  }
  return json;
}

std::string_view placeName(channel::Place place) {
  static constexpr std::string_view kNames[] = {"resident", "leaving", "home", "arriving"};
  return kNames[static_cast<std::size_t>(place)];
}

// As its client says: nothing is decided by it.
std::uint64_t roundTripsOf(const Session& session) {
  return session.segment ? wire::roundTrips(session.segment->header()).load(std::memory_order_relaxed) : 0;
}

ordered_json function(const StatusInput& input, const Session& session) {
  ordered_json gpus = ordered_json::array();
  channel::SessionUsage total;
  for (const Session::Device& device : session.devices) {
    ordered_json one{{"index", device.executor->ordinal()},
                     {"state", device.asleep ? "asleep" : device.served() ? "serving" : "lost"},
                     {"executor", device.executor->identity().number},
                     {"limit_bytes", device.memoryLimit},
                     {"migrations", device.migrations},
                     {"migrating", device.moving && !device.asleep},
                     {"resumes", device.resumes}};
    if (const channel::SessionUsage* usage = device.asleep ? &device.asleep->usage() : device.served() ? usageOf(input.executors, *device.executor, session.id) : nullptr) {
      one["reserved_bytes"] = usage->reservedBytes;
      one["mapped_bytes"] = usage->mappedBytes;
      one["resident_bytes"] = usage->residentBytes;
      one["shared_bytes"] = usage->sharedBytes;
      one["home_bytes"] = usage->homeBytes;
      one["home_shared_bytes"] = usage->sharedHomeBytes;
      one["arrivals"] = usage->arrivals;
      one["departures"] = usage->departures;
      one["saved_bytes"] = usage->savedBytes;
      one["last_saved_bytes"] = known(usage->lastSavedBytes, usage->departures != 0);
      one["last_departure_ns"] = known(usage->lastDepartureNs, usage->departures != 0);
      one["resting_bytes"] = usage->restingBytes;
      one["returned_bytes"] = usage->returnedBytes;
      one["joined_bytes"] = usage->joinedBytes;
      one["peer_bytes"] = usage->peerBytes;
      one["brought_bytes"] = usage->broughtBytes;
      one["gpu_seconds"] = static_cast<double>(usage->consumption.busyNs) * 1e-9;
      one["place"] = placeName(usage->place);
      one["pinned"] = usage->pinned;
      one["ties"] = known(usage->ties);
      one["commands"] = usage->commands;
      one["launches"] = usage->launches;
      one["error"] = usage->error;
      total.reservedBytes += usage->reservedBytes;
      total.mappedBytes += usage->mappedBytes;
      total.residentBytes += usage->residentBytes;
      total.sharedBytes += usage->sharedBytes;
      total.homeBytes += usage->homeBytes;
      total.sharedHomeBytes += usage->sharedHomeBytes;
      total.commands += usage->commands;
      total.launches += usage->launches;
      // One host window, mapped by each executor.
      total.hostBytes = std::max(total.hostBytes, usage->hostBytes);
      if (total.error == 0) total.error = usage->error;
    }
    gpus.push_back(std::move(one));
  }
  return {{"session", session.id},
          {"name", session.who.name},
          {"pid", session.who.pid},
          {"uid", session.who.uid},
          {"program", session.who.program},
          {"isolation", session.who.isolated ? "isolated" : "shared"},
          {"since", isoTime(session.since)},
          {"gpus", std::move(gpus)},
          {"reserved_bytes", total.reservedBytes},
          {"mapped_bytes", total.mappedBytes},
          {"resident_bytes", total.residentBytes},
          {"shared_bytes", total.sharedBytes},
          {"home_bytes", total.homeBytes},
          {"home_shared_bytes", total.sharedHomeBytes},
          {"host_bytes", total.hostBytes},
          {"module_bytes", session.moduleBytes},
          {"commands", total.commands},
          {"launches", total.launches},
          {"round_trips", roundTripsOf(session)},
          {"error", total.error}};
}

}  // namespace

std::string statusReport(const StatusInput& input) {
  ordered_json json{{"schema", kStatusSchema},
                    {"daemon",
                     {{"version", kVersion},
                      {"pid", ::getpid()},
                      {"uptime_seconds", input.uptime.count()},
                      {"socket", input.socket},
                      {"device_kind", input.pool.kind()},
                      {"client_libraries", input.clientLibraries},
                      {"module_contents", input.modules.contents()},
                      {"module_copies", input.modules.copies()},
                      {"migrations", input.sessions.migrations()}}},
                    {"gpus", ordered_json::array()},
                    {"functions", ordered_json::array()}};
  if (!input.pool.substituted().empty()) json["daemon"]["device_reason"] = input.pool.substituted();
  for (const auto& link : input.pool.links()) json["gpus"].push_back(gpu(input, *link));
  for (const auto& [id, session] : input.sessions.sessions()) {
    if (session->state == Session::State::open) json["functions"].push_back(function(input, *session));
  }
  json["usage"] = usageReport(usageByName(input.sessions), input.functions);
  if (input.functions != nullptr) {
    json["daemon"]["router_connections"] = input.functions->connections();
    json["configured"] = configuredFunctions(*input.functions);
  }
  if (input.unsupported) {
    json["unsupported_calls"] = ordered_json::object();
    for (const auto& [name, calls] : input.sessions.unsupportedCalls())
      json["unsupported_calls"][std::string(name)] = calls;
  }
  // Names that executors and programs give need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace rouse::daemon

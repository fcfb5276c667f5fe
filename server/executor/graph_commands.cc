#include <algorithm>
#include <cstring>

#include "schemas/wire/decode.h"
#include "server/executor/graphs.h"
#include "server/executor/session.h"

namespace rouse::executor {

wire::DecodeStatus Session::on(const wire::GraphDefine& command, std::span<const std::byte> definition) {
  turnOver_ = true;
  return graphs_->define(command.graph, command.offset, command.bytes, definition);
}

wire::DecodeStatus Session::on(const wire::GraphDestroy& command) {
  if (graphs_->destroy(command.graph)) return {};
  return wire::Rejection{"GraphDestroy.graph = " + std::to_string(command.graph) + ": there is no such graph"};
}

wire::DecodeStatus Session::on(const wire::GraphLaunch& command, std::span<const std::uint64_t> slots) {
  Graphs::Graph* graph = graphs_->find(command.graph);
  if (graph == nullptr)
    return wire::Rejection{"GraphLaunch.graph = " + std::to_string(command.graph) + ": there is no such graph"};
  if (slots.size() != std::size_t{2} * graph->slots)
    return wire::Rejection{"GraphLaunch.slots: " + std::to_string(slots.size()) + " words, the graph takes " +
                           std::to_string(2 * graph->slots)};
  for (std::size_t i = 0; i < slots.size(); i += 2)
    if (slots[i] >= wire::kSlotCount || slots[i + 1] == 0)
      return wire::Rejection{"GraphLaunch.slots[" + std::to_string(i) + "] = " + std::to_string(slots[i]) + ", value " +
                             std::to_string(slots[i + 1]) + ": the limit is " + std::to_string(wire::kSlotCount - 1) + ", values begin with 1"};

  memory::Stream& main = streams_->forWork(command.stream, graph->bytes().size());
  if (graph->ended)
    context_->wait(main, *graph->ended);  // two launches of one graph do not overlap (cudaGraphLaunch)
  else
    graph->ended = context_->createEvent();
  if (graph->lanes > 1) {
    if (!graph->begun) graph->begun = context_->createEvent();
    context_->record(main, *graph->begun);
  }
  Replay replay{graph, {&main}, {slots.begin(), slots.end()}};
  if (!resume(replay)) parked_ = std::move(replay);
  return {};
}

bool Session::resume(Replay& command) {
  Graphs::Graph& graph = *command.graph;
  auto& lanes = command.lanes;
  const std::size_t end = std::min(command.next + kBurstCommands, graph.nodes.size());
  if (end != graph.nodes.size()) turnOver_ = true;
  for (; command.next < end; ++command.next) {
    Graphs::Node& node = graph.nodes[command.next];
    if (lanes[node.lane] == nullptr) {
      lanes[node.lane] = &graphs_->lane(node.lane);
      context_->wait(*lanes[node.lane], *graph.begun);
    }
    memory::Stream& lane = *lanes[node.lane];
    for (std::uint32_t i = 0; i < node.waits; ++i) context_->wait(lane, *graph.nodes[graph.waits[node.firstWait + i]].reached);
    if (node.bytes != 0) launchNode(graph, node, lane, command.slots);
    if (!node.awaited) continue;
    if (!node.reached) node.reached = context_->createEvent();
    context_->record(lane, *node.reached);
  }
  if (command.next != graph.nodes.size()) return false;
  for (std::uint32_t number = 1; number < graph.lanes; ++number) {
    if (lanes[number] == nullptr) continue;
    auto& ended = graph.laneEnded[number];
    if (!ended) ended = context_->createEvent();
    context_->record(*lanes[number], *ended);
    context_->wait(*lanes[0], *ended);
  }
  context_->record(*lanes[0], *graph.ended);
  return true;
}

// What the program may have ended since it made the graph is told as CUDA tells of a node that uses it; the other nodes are launched
// all the same, so that whoever waits for their slots goes on.
void Session::launchNode(const Graphs::Graph& graph, const Graphs::Node& node, memory::Stream& lane, std::span<const std::uint64_t> slots) {
  streams_->lend(&lane);
  wire::DecodeStatus status;
  if (node.hasSlot) {
    // The two commands have the same fields in the same places.
    static_assert(offsetof(wire::SlotSignal, value) == offsetof(wire::SlotWait, value) &&
                  offsetof(wire::SlotSignal, slot) == offsetof(wire::SlotWait, slot) && sizeof(wire::SlotSignal) == sizeof(wire::SlotWait));
    alignas(wire::kCommandAlign) std::byte copy[sizeof(wire::SlotSignal)];
    std::memcpy(copy, graph.bytes().data() + node.at, sizeof copy);
    const auto slot = static_cast<std::uint32_t>(slots[std::size_t{2} * node.slot]);
    const std::uint64_t value = slots[std::size_t{2} * node.slot + 1];
    std::memcpy(copy + offsetof(wire::SlotSignal, slot), &slot, sizeof slot);
    std::memcpy(copy + offsetof(wire::SlotSignal, value), &value, sizeof value);
    status = wire::decodeAndDispatch(std::span<const std::byte>(copy), *this, *this);
  } else {
    status = wire::decodeAndDispatch(graph.bytes().subspan(node.at, node.bytes), *this, *this);
  }
  streams_->lend(nullptr);
  if (!status) latch_.latch(CudaError::illegalAddress, "a graph's node: " + status.message());
}

}  // namespace rouse::executor

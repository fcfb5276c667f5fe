#include "server/executor/graphs.h"

#include <cstring>
#include <string>

#include "schemas/wire/decode.h"

namespace rouse::executor {
namespace {

wire::DecodeStatus refuse(const std::string& field, std::uint64_t value, const std::string& limit) {
  return wire::Rejection{"GraphDefine." + field + " = " + std::to_string(value) + ": " + limit};
}

// Every limit that commands.toml gives; what the session has is looked at when the node is launched.
struct StructureOnly {
  bool streamLive(wire::Handle handle) const { return handle == wire::kLegacyStream; }
  bool newStream(wire::Handle) const { return false; }
  bool moduleLive(wire::Handle) const { return true; }
  bool newModule(wire::Handle) const { return false; }
  bool rangeMapped(AddressRange, wire::Access, wire::Where) const { return true; }
  template <class Command, class... Payload>
  void on(const Command&, const Payload&...) {}
};

bool mayBeNode(wire::Opcode opcode) {
  switch (opcode) {
    case wire::Opcode::Copy:
    case wire::Opcode::Copy3D:
    case wire::Opcode::CopyInline:
    case wire::Opcode::Fill:
    case wire::Opcode::Fill3D:
    case wire::Opcode::Launch:
    case wire::Opcode::LibraryCall:
    case wire::Opcode::SlotSignal:
    case wire::Opcode::SlotWait:
      return true;
    default:
      return false;
  }
}

std::size_t padded(std::size_t bytes) { return (bytes + wire::kCommandAlign - 1) / wire::kCommandAlign * wire::kCommandAlign; }

wire::DecodeStatus parse(Graphs::Graph& graph) {
  const std::span<const std::byte> bytes = graph.bytes();
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string where = "node " + std::to_string(graph.nodes.size()) + " at " + std::to_string(at);
    const auto& header = *reinterpret_cast<const wire::GraphNode*>(bytes.data() + at);  // nobody else writes here
    at += sizeof header;
    if (header.lane >= wire::kMaxGraphLanes)
      return refuse(where + ", lane", header.lane, "the limit is " + std::to_string(wire::kMaxGraphLanes - 1));
    if ((header.flags & ~wire::kGraphNodeAwaited) != 0) return refuse(where + ", flags", header.flags, "the only flag is 1");
    const std::size_t left = bytes.size() - at;
    if (header.waits > graph.nodes.size() || padded(header.waits * sizeof(std::uint32_t)) > left)
      return refuse(where + ", waits", header.waits, "so many earlier nodes there are not");
    Graphs::Node& node = graph.nodes.emplace_back();
    node.lane = header.lane;
    node.awaited = (header.flags & wire::kGraphNodeAwaited) != 0;
    node.firstWait = static_cast<std::uint32_t>(graph.waits.size());
    node.waits = header.waits;
    for (std::uint32_t i = 0; i < header.waits; ++i) {
      std::uint32_t number;
      std::memcpy(&number, bytes.data() + at + i * sizeof number, sizeof number);
      if (number + 1 >= graph.nodes.size() || !graph.nodes[number].awaited)
        return refuse(where + ", waits", number, "no earlier node that is awaited");
      graph.waits.push_back(number);
    }
    at += padded(header.waits * sizeof(std::uint32_t));
    if (header.commandBytes > bytes.size() - at || (header.commandBytes != 0 && header.commandBytes < sizeof(wire::CommandHeader)))
      return refuse(where + ", commandBytes", header.commandBytes, "there are " + std::to_string(bytes.size() - at) + " bytes");
    graph.lanes = std::max(graph.lanes, header.lane + 1);
    if (header.commandBytes == 0) continue;
    const std::span<const std::byte> command = bytes.subspan(at, header.commandBytes);
    const auto opcode = static_cast<wire::Opcode>(reinterpret_cast<const wire::CommandHeader*>(command.data())->opcode);
    if (!mayBeNode(opcode)) return refuse(where + ", opcode", static_cast<std::uint64_t>(opcode), "not one that a graph can have");
    StructureOnly structure;
    if (wire::DecodeStatus status = wire::decodeAndDispatch(command, structure, structure); !status)
      return wire::Rejection{"GraphDefine: " + where + ": " + status.message()};
    node.at = static_cast<std::uint32_t>(at);
    node.bytes = header.commandBytes;
    node.hasSlot = opcode == wire::Opcode::SlotSignal || opcode == wire::Opcode::SlotWait;
    if (node.hasSlot) node.slot = graph.slots++;
    at += padded(header.commandBytes);
    if (at > bytes.size()) return refuse(where + ", commandBytes", header.commandBytes, "its padding is missing");
  }
  if (graph.slots > wire::kMaxGraphSlots)
    return refuse("slots", graph.slots, "the limit is " + std::to_string(wire::kMaxGraphSlots));
  return {};
}

}  // namespace

wire::DecodeStatus Graphs::define(std::uint64_t id, std::uint64_t offset, std::uint64_t bytes, std::span<const std::byte> piece) {
  if (piece.size() % wire::kCommandAlign != 0)
    return refuse("definition", piece.size(), "not a multiple of " + std::to_string(wire::kCommandAlign));
  if (!partial_) {
    if (offset != 0) return refuse("offset", offset, "there is no definition to go on with");
    partial_ = Partial{id, bytes, {}};
  }
  if (partial_->id != id || partial_->bytes != bytes || partial_->definition.size() != offset)
    return refuse("offset", offset, "graph " + std::to_string(partial_->id) + " of " + std::to_string(partial_->bytes) +
                                        " bytes has come as far as " + std::to_string(partial_->definition.size()));
  if (piece.size() > bytes - offset) return refuse("definition", piece.size(), std::to_string(bytes - offset) + " bytes are missing");
  partial_->definition.insert(partial_->definition.end(), piece.begin(), piece.end());
  if (partial_->definition.size() < bytes) return {};
  Partial whole = std::move(*partial_);
  partial_.reset();
  return finish(std::move(whole));
}

wire::DecodeStatus Graphs::finish(Partial partial) {
  Graph graph;
  graph.definition.resize(partial.definition.size() / wire::kCommandAlign);
  std::memcpy(graph.definition.data(), partial.definition.data(), partial.definition.size());
  if (wire::DecodeStatus status = parse(graph); !status) return status;
  const auto old = graphs_.find(partial.id);
  const std::uint64_t others = bytes_ - (old != graphs_.end() ? old->second.bytes().size() : 0);
  if (others + partial.bytes > wire::kMaxGraphBytesOfSession)
    return refuse("bytes", partial.bytes, "all graphs together have " + std::to_string(others) + ", the limit is " +
                                              std::to_string(wire::kMaxGraphBytesOfSession));
  if (old == graphs_.end() && graphs_.size() >= wire::kMaxGraphs)
    return refuse("graph", partial.id, "there are " + std::to_string(graphs_.size()) + ", the limit");
  bytes_ = others + partial.bytes;
  if (old == graphs_.end()) {
    graphs_.emplace(partial.id, std::move(graph));
    return {};
  }
  graph.ended = std::move(old->second.ended);  // the next launch comes behind the last
  old->second = std::move(graph);
  return {};
}

bool Graphs::destroy(std::uint64_t id) {
  const auto found = graphs_.find(id);
  if (found == graphs_.end()) return false;
  bytes_ -= found->second.bytes().size();
  graphs_.erase(found);
  return true;
}

memory::Stream& Graphs::lane(std::uint32_t number) {
  std::unique_ptr<memory::Stream>& stream = lanes_[number];
  if (!stream) stream = context_.createStream(0);
  return *stream;
}

std::vector<channel::SessionRecipe::Graph> Graphs::recipe() const {
  std::vector<channel::SessionRecipe::Graph> recipe;
  for (const auto& [id, graph] : graphs_) {
    const auto bytes = graph.bytes();
    recipe.push_back({id, bytes.size(), {bytes.begin(), bytes.end()}});
  }
  if (partial_) recipe.push_back({partial_->id, partial_->bytes, partial_->definition});
  return recipe;
}

wire::DecodeStatus Graphs::restore(std::span<const channel::SessionRecipe::Graph> recipe) {
  for (const auto& graph : recipe) {
    if (graph.id == 0 || graph.bytes > wire::kMaxGraphBytes || graph.bytes % wire::kCommandAlign != 0)
      return refuse("bytes", graph.bytes, "no definition is so long");
    if (wire::DecodeStatus status = define(graph.id, 0, graph.bytes, graph.definition); !status) return status;
  }
  return {};
}

}  // namespace rouse::executor

// The graphs of one session: definitions as the client has sent them (layout.h, GraphNode), checked once, and what a launch of each needs.
// Knows neither rings nor what commands do: Session decodes a node's command when it is launched, as any command, against what the
// session has then. Reactor thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory/device.h"
#include "schemas/wire/layout.h"
#include "schemas/wire/rejection.h"
#include "server/control/session_recipe.h"

namespace rouse::executor {

class Graphs {
 public:
  struct Node {
    std::uint32_t lane = 0;
    std::uint32_t firstWait = 0, waits = 0;  // of Graph::waits
    std::uint32_t at = 0, bytes = 0;         // of its command, in the definition; 0 bytes: none
    std::uint32_t slot = 0;                  // which pair of a launch's payload is its, if it has one
    bool hasSlot = false;
    std::unique_ptr<memory::Event> reached;  // null: nobody waits for it by number; made at the first launch
    bool awaited = false;
  };
  struct Graph {
    struct alignas(wire::kCommandAlign) Block {
      std::byte bytes[wire::kCommandAlign];
    };
    std::vector<Block> definition;
    std::vector<Node> nodes;
    std::vector<std::uint32_t> waits;
    std::uint32_t lanes = 1, slots = 0;
    std::unique_ptr<memory::Event> begun, ended;  // of its last launch; null: none yet
    std::array<std::unique_ptr<memory::Event>, wire::kMaxGraphLanes> laneEnded;

    std::span<const std::byte> bytes() const {
      return {reinterpret_cast<const std::byte*>(definition.data()), definition.size() * wire::kCommandAlign};
    }
  };

  explicit Graphs(memory::Context& context) : context_(context) {}

  // A piece as the client has sent it. Not ok: it breaks a rule, which ends the connection.
  wire::DecodeStatus define(std::uint64_t id, std::uint64_t offset, std::uint64_t bytes, std::span<const std::byte> piece);
  Graph* find(std::uint64_t id) {
    const auto found = graphs_.find(id);
    return found != graphs_.end() ? &found->second : nullptr;
  }
  // False: there is none.
  bool destroy(std::uint64_t id);

  // The stream of a lane that is not 0, made at its first use and shared by all graphs: what they queue there is in the order of the
  // launches, so that nobody waits for what comes later.
  memory::Stream& lane(std::uint32_t number);

  std::vector<channel::SessionRecipe::Graph> recipe() const;
  // Of a session that has none.
  wire::DecodeStatus restore(std::span<const channel::SessionRecipe::Graph> recipe);

 private:
  struct Partial {
    std::uint64_t id = 0, bytes = 0;
    std::vector<std::byte> definition;
  };
  wire::DecodeStatus finish(Partial partial);

  memory::Context& context_;
  std::unordered_map<std::uint64_t, Graph> graphs_;
  std::uint64_t bytes_ = 0;  // of all definitions
  std::optional<Partial> partial_;
  std::array<std::unique_ptr<memory::Stream>, wire::kMaxGraphLanes> lanes_;
};

}  // namespace rouse::executor

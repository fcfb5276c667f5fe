// A session from one device to another: what it is, as values, and the same made of them. The segments are the same, and what is in
// them stays where it is: slots, the latched error, commands that have not been taken.
#include <algorithm>

#include "server/executor/log.h"
#include "server/executor/session.h"

namespace rouse::executor {
namespace {

Error refused(std::string message) { return {CudaError::invalidValue, "import session: " + std::move(message)}; }

// Streams of all programs are numbered densely, so that more entries than this are no recipe of ours.
constexpr std::size_t kMaxStreamNumbers = std::size_t{1} << 20;

}  // namespace

Status Session::mayMove() const {
  if (surroundings_.homes == nullptr)
    return Error{CudaError::notSupported, "there is no host store: nothing leaves the device"};
  if (pinned_) return Error{CudaError::notPermitted, "it is pinned, and stays until it is unpinned"};
  if (isSticky(latch_.last())) return Error{latch_.last(), "a kernel of it has failed, which ended its context on this GPU"};
  if (std::string ties = this->ties(); !ties.empty()) return Error{CudaError::notSupported, "it is tied to its GPU: " + std::move(ties)};
  return {};
}

std::string Session::ties() const {
  if (surroundings_.homes == nullptr || context_ == nullptr) return "";
  // Where an event's page is in place of the session's own slots its commands may name it as long as it lives, and another executor has not got it.
  if (sharesByIpc()) return "it shares memory or events with other processes (cudaIpcGetMemHandle)";
  std::string ties = context_->ties();
  const bool placed = surroundings_.device.properties().placesVariables;
  modules_.forEach([&](std::uint32_t, const BoundModule* module) {
    if (module == nullptr || !module->instance || !ties.empty()) return;
    const auto& variables = module->image->description().variables;
    if (placed && !variables.empty())
      ties = "the driver has placed its variable " + variables.front().name + (variables.size() == 1 ? "" : " and others");
    else
      ties = module->image->ties();
  });
  return ties;
}

bool Session::still() {
  if (stage_ != Stage::serving || admitted_ || stays() || presence_.fault() || !context_->idle()) return false;
  if (parked() && !std::holds_alternative<Map>(parked_)) return false;
  if (streams_->draining() && (streams_->collect(), streams_->draining())) return false;
  return presence_.where() == Presence::Where::away || (presence_.here() && extents_.backedBytes() == 0);
}

channel::SessionRecipe Session::freeze() {
  // What rests on the device stays there: its chunks are free for anybody, and it is as it was should the session be resumed here.
  stage_ = Stage::frozen;
  mute_ = true;
  leaveAsked_ = sentAway_ = summoned_ = fenced_ = false;
  consumer_.release();

  channel::SessionRecipe recipe;
  presence_.describe(recipe);
  recipe.reservedBytes = quota_.reserved();
  if (const auto* map = std::get_if<Map>(&parked_)) recipe.toMap = map->left;
  objects_.forEach([&](AddressRange range) { recipe.objects.push_back(range); });
  recipe.allObjectsKnown = allObjectsKnown_;
  hostRanges_.forEach([&](AddressRange range) {
    if (range.base != hostWindow_.base) recipe.hostRanges.push_back(range);
  });
  recipe.streams = streams_->recipe();
  modules_.forEach([&](std::uint32_t generation, const BoundModule* bound) {
    auto& module = recipe.modules.emplace_back();
    module.generation = generation;
    module.live = bound != nullptr;
    if (bound == nullptr) return;
    module.moduleId = bound->moduleId;
    module.made = bound->instance != nullptr;
    if (!module.made || surroundings_.device.properties().placesVariables) return;
    for (std::uint32_t i = 0; i < bound->image->description().variables.size(); ++i)
      module.addresses.push_back(bound->instance->variableAddress(i));
  });
  recipe.limits = limits_;
  recipe.graphs = graphs_->recipe();
  recipe.commandBytes = consumer_.taken();
  recipe.outputBytes = output_.written();
  recipe.outputDropped = output_.dropped();
  recipe.commands = consumer_.commands();
  recipe.launches = launches_;
  recipe.lastError = static_cast<std::uint32_t>(latch_.last());
  recipe.lastSavedBytes = lastSaved_;
  recipe.consumption = meter_.total();
  return recipe;
}

Status Session::beginImport(const channel::SessionRecipe& recipe) {
  if (stage_ != Stage::dormant || imported_ || copy_ || extents_.backedBytes() != 0) return refused("it is no fresh dormant session");
  if (surroundings_.homes == nullptr || surroundings_.store == nullptr) return refused("there is no host store");
  if (Status status = importMemory(recipe); !status) return status;
  if (Status status = importContext(recipe); !status) return status;
  if (Status status = importModules(recipe); !status) return status;
  if (wire::DecodeStatus status = graphs_->restore(recipe.graphs); !status) return refused(status.message());
  consumer_.continueFrom(recipe.commandBytes, recipe.commands);
  output_.continueFrom(recipe.outputBytes, recipe.outputDropped);
  commandsElsewhere_ = recipe.commands;
  launches_ = launchesElsewhere_ = recipe.launches;
  lastSaved_ = recipe.lastSavedBytes;
  meter_ = Meter(recipe.consumption);
  latch_.continueAfter(static_cast<CudaError>(recipe.lastError));
  return {};
}

Status Session::importMemory(const channel::SessionRecipe& recipe) {
  const std::uint64_t granules = deviceWindow_.bytes / kGranuleBytes;
  std::uint64_t next = 0;  // the least that the next number can be
  for (const auto& granule : recipe.granules) {
    if (granule.number < next || granule.number >= granules)
      return refused("granule " + std::to_string(granule.number) + " of " + std::to_string(granules) + ", not in order or beyond");
    if (surroundings_.store->at(granule.home) == nullptr)
      return refused("home at " + std::to_string(granule.home) + " is not in the host store");
    next = std::uint64_t{granule.number} + 1;
  }
  for (const std::uint32_t number : recipe.order)
    if (number >= granules) return refused("granule " + std::to_string(number) + " in the order of use, beyond the window");
  const AddressRange toMap = recipe.toMap;
  if (!toMap.empty() && (!deviceWindow_.contains(toMap) || !isAligned(toMap.base, kGranuleBytes) || !isAligned(toMap.bytes, kGranuleBytes)))
    return refused("what is to be mapped is not in the window");
  if (!isAligned(recipe.reservedBytes, kGranuleBytes)) return refused("its reservation is not a multiple of 2 MiB");

  if (Status status = quota_.reserve(recipe.reservedBytes); !status) return status;
  if (Status status = quota_.map(recipe.granules.size() * kGranuleBytes + toMap.bytes); !status) return status;
  if (Status status = surroundings_.memory.reserve(id_, recipe.reservedBytes); !status) return status;
  if (Status status = presence_.promise(recipe.reservedBytes); !status) return status;
  if (surroundings_.promises != nullptr) surroundings_.promises->begin(recipe.reservedBytes);
  std::vector<HomeCopy::Page> pages = presence_.adopt(recipe, *surroundings_.store);
  if (!toMap.empty()) {
    if (!extents_.none(toMap)) return refused("what is to be mapped is mapped in part already");
    parked_ = Map{toMap};
  }
  const bool prints = !surroundings_.device.properties().noticesWrites;
  copy_ = std::make_unique<HomeCopy>(std::move(pages), prints ? &surroundings_.homes->key() : nullptr, surroundings_.progress);

  if (recipe.objects.size() > kMaxObjects) return refused(std::to_string(recipe.objects.size()) + " objects");
  for (const AddressRange object : recipe.objects)
    if (!deviceWindow_.contains(object) || !objects_.insert(object)) return refused("an object overlaps another, or is not in the window");
  allObjectsKnown_ = recipe.allObjectsKnown;
  return {};
}

Status Session::importContext(const channel::SessionRecipe& recipe) {
  if (recipe.hostRanges.size() > kMaxHostRanges) return refused(std::to_string(recipe.hostRanges.size()) + " host ranges");
  for (const AddressRange range : recipe.hostRanges) {
    if (!hostWindow_.contains(range) || !isAligned(range.base, wire::kPageBytes) || !isAligned(range.bytes, wire::kPageBytes) ||
        !hostRanges_.insert(range))
      return refused("a host range overlaps another, or is not in the window");
    if (Status status = context_->mapHost(range); !status) return status;
  }
  const auto& streams = recipe.streams;
  if (streams.empty() || !streams[0].live || streams[0].generation != wire::kLegacyStream.generation || streams.size() > kMaxStreamNumbers ||
      static_cast<std::size_t>(std::ranges::count(streams, true, &channel::SessionRecipe::Stream::live)) > kMaxStreams)
    return refused("its streams are not what a session can have");
  streams_->restore(streams);
  for (const auto& limit : recipe.limits) {
    if (limit.limit > static_cast<std::uint32_t>(memory::ContextLimit::heapBytes)) return refused("limit " + std::to_string(limit.limit));
    const Result<bool> set = context_->setLimit(static_cast<memory::ContextLimit>(limit.limit), limit.value);
    if (!set) return set.error();
    if (!*set) limitsLeft_.left.push_back(limit);
  }
  limits_ = recipe.limits;
  if (!isAligned(recipe.commandBytes, wire::kCommandAlign) || recipe.outputBytes % 4 != 0) return refused("its place in a ring is none");
  return {};
}

Status Session::importModules(const channel::SessionRecipe& recipe) {
  if (recipe.modules.size() > kMaxModuleInstances) return refused(std::to_string(recipe.modules.size()) + " module instances");
  for (const auto& module : recipe.modules) {
    if (!module.live) {
      modules_.append(module.generation, std::nullopt);
      continue;
    }
    const auto installed = installed_.find(module.moduleId);
    if (installed == installed_.end()) return refused("its module " + std::to_string(module.moduleId) + " is not installed");
    BoundModule bound{module.moduleId, installed->second, nullptr};
    if (module.made) {
      const auto& variables = bound.image->description().variables;
      const bool placed = surroundings_.device.properties().placesVariables;
      if (module.addresses.size() != (placed ? 0 : variables.size()))
        return refused("module " + std::to_string(module.moduleId) + " has " + std::to_string(variables.size()) + " variables, not " +
                       std::to_string(module.addresses.size()));
      for (std::size_t i = 0; i < module.addresses.size(); ++i)
        if (!isAligned(module.addresses[i], variables[i].alignment) ||
            (variables[i].bytes != 0 && !rangeMapped({module.addresses[i], variables[i].bytes}, wire::Access::write, wire::Where::any)))
          return refused("variable " + variables[i].name + " lies where nothing is mapped");
      auto instance = context_->adopt(bound.image, module.addresses);
      if (!instance) return std::move(instance).error();
      bound.instance = std::move(*instance);
    }
    modules_.append(module.generation, std::move(bound));
  }
  return {};
}

Result<Session::Shared> Session::share(std::uint32_t from) {
  if (stage_ != Stage::frozen) return Error{CudaError::invalidValue, "session " + std::to_string(id_) + " is not frozen"};
  Shared shared{.body = {.sessionId = id_, .device = {}, .chunks = {}, .next = 0}, .fds = {}};
  if (surroundings_.contended && lentChunks() == 0) return shared;
  const Presence::Lent lent = presence_.lend(from, memory::kMostSharedChunks);
  if (lent.chunks.empty()) return shared;
  std::vector<memory::Chunk> chunks;
  for (const auto& [granule, chunk] : lent.chunks) chunks.push_back(chunk);
  auto exported = surroundings_.device.exportChunks(chunks);
  if (!exported) return std::move(exported).error();
  shared.body.device = std::move(exported->device);
  for (std::size_t i = 0; i < chunks.size(); ++i) shared.body.chunks.push_back({lent.chunks[i].first, exported->places.at(i)});
  shared.body.next = lent.next;
  shared.fds = std::move(exported->fds);
  return shared;
}

Status Session::borrow(const channel::SharedMemory& shared, std::vector<wire::OwnedFd> fds) {
  if (stage_ != Stage::dormant || (!imported_ && !copy_)) return Error{CudaError::invalidValue, "shared memory: the session is not being imported"};
  memory::SharedChunks chunks{.device = shared.device, .places = {}, .fds = std::move(fds)};
  for (const auto& chunk : shared.chunks) chunks.places.push_back(chunk.place);
  auto imported = surroundings_.device.importChunks(std::move(chunks));
  if (!imported) return std::move(imported).error();
  for (std::size_t i = 0; i < imported->size(); ++i)
    if (!presence_.borrow(shared.chunks[i].granule, std::move((*imported)[i])))
      return Error{CudaError::invalidValue, "shared memory: granule " + std::to_string(shared.chunks[i].granule) + " is none of the session's"};
  return {};
}

bool Session::imported() {
  if (!imported_ && copy_ && copy_->done()) {
    presence_.adopted(copy_->prints());
    copy_.reset();
    imported_ = true;
  }
  return imported_;
}

Status Session::resume() {
  if (stage_ != Stage::frozen && !(stage_ == Stage::dormant && imported()))
    return Error{CudaError::invalidValue, "session " + std::to_string(id_) + " is neither frozen nor imported"};
  if (stage_ == Stage::frozen) {
    presence_.takeBack();
    presence_.resumed();
  }
  stage_ = Stage::serving;
  mute_ = false;
  // Whoever has frozen it has not told the ring's producer to ring for what came since: look, as after any rest.
  declared_ = wire::ConsumerState::asleep;
  awake();
  publishMemory();
  if (logs(LogLevel::info)) log(LogLevel::info, "session " + std::to_string(id_) + " (" + name_ + ") is served here from now on");
  return {};
}

}  // namespace rouse::executor

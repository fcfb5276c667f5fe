#include "test/executor/fake_device.h"

#include <algorithm>

namespace rouse::executor {
namespace {

FakeQueue& queueOf(memory::Stream& stream) { return *static_cast<FakeStream&>(stream).queue; }
std::string on(memory::Stream& stream) { return " s" + std::to_string(queueOf(stream).number); }

}  // namespace

FakeContext::~FakeContext() {
  for (const auto& queue : queues_)
    if (queue->streamLives) device_.broken("context destroyed before its streams");
  for (const auto& [address, chunk] : mapped_) leaveChunk(chunk);
  device_.contexts_.erase(this);
}

bool FakeContext::cancel() {
  cancelled_ = true;
  return true;
}

Status FakeContext::map(std::uint64_t address, std::span<const memory::Chunk> chunks) {
  for (const memory::Chunk& chunk : chunks) {
    if (device_.absent_.contains(chunk.id)) device_.broken("chunk without memory mapped");
    if (device_.dirty_[chunk.id]) device_.broken("chunk mapped unscrubbed");
    enterChunk(chunk.id);
    device_.bytes_.erase(chunk.id);
    mapped_.push_back({address, chunk.id});
    address += kGranuleBytes;
  }
  return {};
}

Status FakeContext::unmap(AddressRange range) {
  if (!idle()) device_.broken("unmap in a busy context");
  if (device_.failUnmap.contains(range.base)) return Error{CudaError::unknown, "cannot unmap"};
  device_.write("unmap " + std::to_string(range.bytes / kGranuleBytes));
  if (!copied_.empty()) device_.broken("unmap while copies have not been taken note of");
  for (std::uint64_t at = range.base; at != range.end(); at += kGranuleBytes) {
    restored_.erase(at);
    lent_.erase(at);
    copies_.erase(at);
  }
  std::erase_if(mapped_, [&](const auto& entry) {
    if (!range.contains(entry.first)) return false;
    leaveChunk(entry.second);
    return true;
  });
  return {};
}

AddressRange FakeContext::together(AddressRange granules) const {
  const std::uint64_t bytes = device_.mappedTogether * kGranuleBytes;
  AddressRange all = granules;
  const auto mapped = [&](std::uint64_t address) {
    return std::any_of(mapped_.begin(), mapped_.end(), [&](const auto& entry) { return entry.first == address; });
  };
  while (!isAligned(all.base, bytes) && mapped(all.base - kGranuleBytes)) all = {all.base - kGranuleBytes, all.bytes + kGranuleBytes};
  while (!isAligned(all.end(), bytes) && mapped(all.end())) all.bytes += kGranuleBytes;
  return all;
}

bool FakeContext::unmappable(AddressRange granules) const {
  return together(granules) == granules || !together(granules).overlaps(device_.usedByOthers);
}

void FakeContext::prepare(std::span<const memory::Arrival> arrivals) {
  device_.write("prepare " + std::to_string(arrivals.size()));
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (i != 0 && arrivals[i].address <= arrivals[i - 1].address) device_.broken("what comes is prepared in another order than its addresses'");
    if (!prepared_.emplace(arrivals[i].address, arrivals[i].chunk.id).second) device_.broken("what comes is prepared twice");
  }
}

void FakeContext::restore(memory::Stream& stream, std::span<const memory::Arrival> arrivals) {
  for (const memory::Arrival& arrival : arrivals) {
    if (arrival.home < device_.homes.data() || arrival.home >= device_.homes.data() + device_.homes.size())
      device_.broken("restore from memory that is no home");
    if (const auto prepared = prepared_.find(arrival.address); prepared != prepared_.end()) {
      if (prepared->second != arrival.chunk.id) device_.broken("a granule comes in another chunk than was prepared");
      prepared_.erase(prepared);
    }
    enterChunk(arrival.chunk.id);
    device_.bytes_[arrival.chunk.id] = *arrival.home;
    mapped_.push_back({arrival.address, arrival.chunk.id});
    restored_.insert(arrival.address);
    device_.versions[arrival.address] = device_.savedVersions[arrival.home];
    if (const auto* peer = static_cast<const FakePeerChunk*>(arrival.peer); peer != nullptr)
      run(stream, "fetch " + std::to_string(peer->number) + on(stream));
    else
      run(stream, "restore " + std::to_string(static_cast<int>(*arrival.home)) + on(stream));
  }
}

void FakeContext::save(memory::Stream& stream, std::uint64_t address, std::byte* home) {
  if (home < device_.homes.data() || home >= device_.homes.data() + device_.homes.size())
    device_.broken("save to memory that is no home");
  const bool mapped = std::any_of(mapped_.begin(), mapped_.end(), [&](const auto& entry) { return entry.first == address; });
  if (!mapped) device_.broken("save of what is not mapped");
  run(stream, "save " + std::to_string(address / kGranuleBytes % 256) + on(stream));
  const auto content = device_.contents.find(address);
  *home = content == device_.contents.end() ? static_cast<std::byte>(address / kGranuleBytes) : content->second;
  device_.savedVersions[home] = device_.versions[address];
  if (const auto at = find(address); at != mapped_.end() && at->second != memory::kNoChunk) {
    if (device_.inUse_[at->second] > 1 && *home != device_.bytes_[at->second]) device_.broken("a shared chunk has been written");
    device_.bytes_[at->second] = *home;
  }
}

Status FakeContext::fingerprint(memory::Stream& stream, const memory::FingerprintKey&, AddressRange granules,
                                std::span<memory::PageFingerprint> out) {
  if (out.size() != granules.bytes / kGranuleBytes) device_.broken("fingerprints: another number of places");
  device_.write("fingerprint " + std::to_string(out.size()) + on(stream));
  push(stream, [this, granules, out] {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint64_t address = granules.base + i * kGranuleBytes;
      if (device_.written.erase(address) != 0) ++device_.versions[address];
      out[i] = {address, device_.versions[address]};
    }
    return true;
  });
  return {};
}

void FakeContext::takeWritten(std::vector<std::uint64_t>& addresses) {
  if (!idle()) device_.broken("takeWritten in a busy context");
  std::erase_if(device_.written, [&](std::uint64_t address) {
    if (restored_.erase(address) != 0) addresses.push_back(address);
    return find(address) != mapped_.end();
  });
}

Status FakeContext::noticeWrites(AddressRange granules) {
  if (!idle()) device_.broken("noticeWrites in a busy context");
  for (std::uint64_t at = granules.base; at != granules.end(); at += kGranuleBytes) {
    const bool mapped = std::any_of(mapped_.begin(), mapped_.end(), [&](const auto& entry) { return entry.first == at; });
    if (!mapped || !restored_.insert(at).second) device_.broken("noticeWrites of what is not mapped, or was not written");
  }
  return {};
}

void FakeContext::enterChunk(std::uint32_t chunk) {
  if (++device_.inUse_[chunk] != 1) device_.broken("chunk mapped twice");
  device_.dirty_[chunk] = true;
}

void FakeContext::leaveChunk(std::uint32_t chunk) {
  if (chunk != memory::kNoChunk && --device_.inUse_[chunk] == 0) device_.inUse_.erase(chunk);
}

std::vector<std::pair<std::uint64_t, std::uint32_t>>::iterator FakeContext::find(std::uint64_t address) {
  return std::find_if(mapped_.begin(), mapped_.end(), [&](const auto& entry) { return entry.first == address; });
}

Result<bool> FakeContext::share(std::uint64_t address, memory::Chunk chunk) {
  const auto at = find(address);
  if (at != mapped_.end() && (restored_.count(address) == 0 || device_.written.count(address) != 0)) return false;
  if (at == mapped_.end() || at->second != chunk.id) {
    for (FakeContext* other : device_.contexts_)
      for (const auto& [theirs, mapped] : other->mapped_)
        if (mapped == chunk.id && other->lent_.count(theirs) == 0) device_.broken("share of a chunk that another can write");
    if (device_.inUse_.count(chunk.id) == 0) device_.broken("share of a chunk that nobody has");
    if (at != mapped_.end() && device_.bytes_[at->second] != device_.bytes_[chunk.id]) device_.broken("exchange for other bytes");
    ++device_.inUse_[chunk.id];
    device_.write("share " + std::to_string(static_cast<int>(device_.bytes_[chunk.id])));
    if (at != mapped_.end()) {
      leaveChunk(at->second);
      at->second = chunk.id;
    } else {
      mapped_.push_back({address, chunk.id});
    }
    device_.contents[address] = device_.bytes_[chunk.id];
  }
  restored_.insert(address);
  lent_.insert(address);
  return true;
}

void FakeContext::takeCopied(std::vector<std::uint64_t>& addresses) {
  addresses.insert(addresses.end(), copied_.begin(), copied_.end());
  copied_.clear();
}

void FakeContext::settle(memory::Stream& stream, std::uint64_t address, memory::Chunk chunk) {
  const auto at = find(address);
  if (at == mapped_.end() || copies_.count(address) == 0) return device_.broken("settling of what was not copied");
  enterChunk(chunk.id);
  at->second = chunk.id;
  device_.bytes_[chunk.id] = copies_.at(address);
  copies_.erase(address);
  run(stream, "settle " + std::to_string(static_cast<int>(device_.bytes_[chunk.id])) + on(stream));
}

void FakeContext::write(std::uint64_t address, std::byte content) {
  const auto at = find(address);
  if (at == mapped_.end()) return device_.broken("write of what is not mapped");
  if (lent_.erase(address) != 0) {
    leaveChunk(at->second);
    at->second = memory::kNoChunk;
    copied_.push_back(address);
    copies_[address] = content;
  } else if (at->second == memory::kNoChunk) {
    copies_[address] = content;
  } else {
    if (device_.inUse_[at->second] > 1) device_.broken("a shared chunk has been written");
    device_.bytes_[at->second] = content;
  }
  device_.contents[address] = content;
  if (restored_.count(address) != 0) device_.written.insert(address);
}

std::byte FakeContext::read(std::uint64_t address) {
  const auto at = find(address);
  if (at == mapped_.end()) {
    device_.broken("read of what is not mapped");
    return {};
  }
  return at->second == memory::kNoChunk ? copies_.at(address) : device_.bytes_[at->second];
}

Status FakeContext::mapHost(AddressRange range) {
  device_.write("mapHost " + std::to_string(range.bytes));
  return {};
}

Status FakeContext::unmapHost(AddressRange range) {
  if (!idle()) device_.broken("unmapHost in a busy context");
  device_.write("unmapHost " + std::to_string(range.bytes));
  return {};
}

std::unique_ptr<memory::Stream> FakeContext::createStream(int) {
  auto queue = std::make_shared<FakeQueue>();
  queue->number = device_.streamNumber_++;
  queues_.push_back(queue);
  return std::make_unique<FakeStream>(std::move(queue));
}

void FakeContext::push(memory::Stream& stream, std::function<bool()> work) {
  if (cancelled_) device_.broken("work submitted after cancel");
  queueOf(stream).work.push_back(std::move(work));
}

// Work of the kind that `hold` holds.
void FakeContext::run(memory::Stream& stream, std::string line) {
  device_.write(std::move(line));
  push(stream, [this] { return !device_.hold.load(std::memory_order_acquire); });
}

void FakeContext::record(memory::Stream& stream, memory::Event& event) {
  auto& fake = static_cast<FakeEvent&>(event);
  device_.write("record" + on(stream));
  device_.recorded.push_back(&event);
  push(stream, [reached = fake.reached, value = ++fake.recorded] {
    *reached = value;
    return true;
  });
}

void FakeContext::wait(memory::Stream& stream, memory::Event& event) {
  auto& fake = static_cast<FakeEvent&>(event);
  if (fake.recorded == 0) device_.broken("wait for an event that was never recorded");
  device_.write("wait" + on(stream));
  device_.awaited.push_back(&event);
  push(stream, [reached = fake.reached, value = fake.recorded] { return *reached >= value; });
}

void FakeContext::copy(memory::Stream& stream, const memory::CopyShape& shape) {
  run(stream, "copy " + std::to_string(shape.width) + on(stream));
}

void FakeContext::copyInline(memory::Stream& stream, std::uint64_t, std::span<const std::byte> bytes) {
  run(stream, "copyInline " + std::to_string(bytes.size()) + on(stream));
}

void FakeContext::fill(memory::Stream& stream, const memory::FillShape& shape) {
  run(stream, "fill " + std::to_string(shape.width) + on(stream));
}

void FakeContext::launch(memory::Stream& stream, const memory::LaunchRequest& request) {
  if (request.module == nullptr) device_.broken("launch without a module");
  run(stream, "launch " + std::to_string(request.function) + on(stream));
}

Status FakeContext::call(memory::Stream& stream, const memory::LibraryRequest& request) {
  run(stream, "call " + std::to_string(request.library) + "." + std::to_string(request.function) + on(stream));
  return {};
}

void FakeContext::signal(memory::Stream& stream, wire::Slot& slot, std::uint64_t value, bool timestamp) {
  device_.signals += 1;
  push(stream, [this, &slot, value, timestamp] {
    wire::signal(slot, value, cancelled_ ? CudaError::unknown : CudaError::success, timestamp ? 1 : 0);
    return true;
  });
}

void FakeContext::waitFor(memory::Stream& stream, const wire::Slot& slot, std::uint64_t value) {
  device_.write("waitFor" + on(stream));
  push(stream, [&slot, value] { return slot.value.load(std::memory_order_acquire) >= value; });
}

Result<std::unique_ptr<memory::ModuleInstance>> FakeContext::instantiate(std::shared_ptr<memory::Image> image,
                                                                         std::span<const std::uint64_t> addresses) {
  if (device_.failInstantiate) return Error{CudaError::memoryAllocation, "no room for code"};
  device_.write("instantiate " + std::to_string(addresses.size()));
  auto made = std::make_unique<FakeInstance>();
  for (std::size_t i = 0, given = 0; i < image->description().variables.size(); ++i)
    made->addresses.push_back(device_.properties().places(image->description().variables[i]) ? kPlacedVariables + i * 4096 : addresses[given++]);
  return std::unique_ptr<memory::ModuleInstance>(std::move(made));
}

Result<std::unique_ptr<memory::ModuleInstance>> FakeContext::adopt(std::shared_ptr<memory::Image> image,
                                                                   std::span<const std::uint64_t> addresses) {
  auto made = instantiate(std::move(image), addresses);
  if (made) device_.taken.back() = "adopt " + std::to_string(addresses.size());
  return made;
}

Result<bool> FakeContext::setLimit(memory::ContextLimit limit, std::uint64_t value) {
  if (value > 1'000'000) return Error{CudaError::invalidValue, "limit too large"};
  if (device_.limitsWait) return false;
  device_.write("limit " + std::to_string(static_cast<unsigned>(limit)) + " " + std::to_string(value));
  return true;
}

bool FakeContext::idle() const {
  return std::all_of(queues_.begin(), queues_.end(), [](const auto& queue) { return queue->work.empty(); });
}

bool FakeContext::pump() {
  bool any = false;
  for (bool did = true; did;) {
    did = false;
    for (const auto& queue : queues_) {
      while (!queue->work.empty()) {
        const bool done = queue->work.front()();
        if (!done && (!cancelled_ || device_.keepRunningWhenCancelled)) break;
        queue->work.pop_front();
        did = any = true;
      }
    }
  }
  std::erase_if(queues_, [](const auto& queue) { return !queue->streamLives && queue->work.empty(); });
  return any;
}

FakeContext& FakeDevice::contextOf(std::uint64_t address) {
  for (FakeContext* context : contexts_)
    if (context->find(address) != context->mapped_.end()) return *context;
  broken("nothing is mapped there");
  return context();
}

}  // namespace rouse::executor

#include "server/device/link_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace rouse::device {
namespace {

constexpr std::uint64_t kMagic = 0x3130'6b6e'694c'7352;  // "RsLink01"
constexpr std::size_t kFlowWords = sizeof(Flow) / 8;
constexpr std::size_t kBufferWords = 2 + kMaxFlows * kFlowWords;
static_assert(sizeof(Flow) % 8 == 0 && std::is_trivially_copyable_v<Flow>);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// More than clocks read in another order can differ, and less than anybody waits.
constexpr double kFutureNs = 1e9;

std::uint64_t ownerBits(std::uint32_t gpu) { return std::uint64_t{gpu + 1} << 48; }

std::string systemError(const char* what) { return std::string("links: ") + what + ": " + std::strerror(errno); }

}  // namespace

struct LinkBoard::Header {
  std::uint64_t magic;
  std::uint32_t gpus, links;
  LinkRate rates[kMaxLinks];
  LinkPath paths[memory::Topology::kMaxGpus][kMaxDirections];
  // The published buffer's index and, above kIndexBits, how often one was published. 0: nothing moves, nothing has.
  alignas(64) std::atomic<std::uint64_t> current;
  struct Charge {
    std::atomic<std::uint64_t> bytes, since;
  };
  alignas(64) Charge charges[memory::Topology::kMaxGpus][kMaxDirections];
};

namespace {
constexpr std::uint32_t kIndexBits = 16;
constexpr std::uint64_t indexOf(std::uint64_t current) { return current & ((1u << kIndexBits) - 1); }
}  // namespace

std::size_t LinkBoard::bytesFor(std::size_t gpus) {
  return sizeof(Header) + gpus * kBuffersPerGpu * kBufferWords * sizeof(std::uint64_t);
}

Result<wire::OwnedFd> LinkBoard::create(const memory::Topology& topology) {
  const auto header = std::make_unique<Header>();
  header->magic = kMagic;
  header->gpus = static_cast<std::uint32_t>(topology.gpus());
  std::vector<memory::LinkId> known;
  for (std::size_t gpu = 0; gpu < topology.gpus(); ++gpu) {
    for (std::size_t direction = 0; direction < 2 + topology.gpus(); ++direction) {
      LinkPath& path = header->paths[gpu][direction];
      const std::size_t other = direction - 2;  // where it is one of a GPU
      if (direction >= 2 && (other == gpu || !topology.hasNvlink(other, gpu))) continue;
      for (const memory::LinkId link : direction == 0   ? topology.fromHost(gpu)
                                       : direction == 1 ? topology.toHost(gpu)
                                                        : topology.betweenGpus(other, gpu)) {
        auto found = std::ranges::find(known, link);
        if (found == known.end()) {
          if (known.size() == kMaxLinks)
            return Error{CudaError::invalidValue, "links: more than " + std::to_string(kMaxLinks) + " between host and GPUs"};
          const memory::Link& described = topology.links()[link];
          header->rates[known.size()] = {described.bytesPerSecond * 1e-9, described.latencySeconds * 1e9};
          found = known.insert(known.end(), link);
        }
        path.links[path.count++] = static_cast<std::uint32_t>(found - known.begin());
      }
    }
  }
  header->links = static_cast<std::uint32_t>(known.size());

  wire::OwnedFd file(::memfd_create("rouse-links", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytesFor(topology.gpus()))) != 0 ||
      ::pwrite(file.get(), header.get(), sizeof(Header), 0) != static_cast<ssize_t>(sizeof(Header)) ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Error{CudaError::memoryAllocation, systemError("memory that executors share")};
  return file;
}

Result<std::unique_ptr<LinkBoard>> LinkBoard::attach(int fd, std::uint32_t gpu) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return Error{CudaError::invalidValue, systemError("descriptor")};
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes < bytesFor(1)) return Error{CudaError::invalidValue, "links: a file of " + std::to_string(bytes) + " bytes is too small"};
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return Error{CudaError::memoryAllocation, systemError("mapping")};
  std::unique_ptr<LinkBoard> board(new LinkBoard(memory, bytes, gpu));
  if (Status read = board->readHeader(); !read) return read.error();
  const Nanoseconds none = 0;  // the clock of the board stays where it is
  board->change(none, [&](LinkFlows& flows) {
    for (std::size_t i = 0; i < flows.count;) {
      if (flows.flows[i].id >> 48 == ownerBits(gpu) >> 48) {
        flows.remove(flows.flows[i]);
      } else {
        ++i;
      }
    }
  });
  return board;
}

LinkBoard::LinkBoard(void* memory, std::size_t bytes, std::uint32_t gpu)
    : header_(static_cast<Header*>(memory)), bytes_(bytes), gpu_(gpu) {}

LinkBoard::~LinkBoard() { ::munmap(header_, bytes_); }

// Copied once: what others may write there later changes nothing here.
Status LinkBoard::readHeader() {
  const auto bad = [](const std::string& what) { return Error{CudaError::invalidValue, "links: " + what}; };
  const std::uint32_t gpus = header_->gpus, links = header_->links;
  if (header_->magic != kMagic) return bad("this is no description of links");
  if (gpus == 0 || gpus > memory::Topology::kMaxGpus || links == 0 || links > kMaxLinks || bytes_ < bytesFor(gpus))
    return bad("a description of " + std::to_string(gpus) + " GPUs and " + std::to_string(links) + " links cannot be");
  if (gpu_ >= gpus)
    return bad("there is no GPU " + std::to_string(gpu_) + " among the " + std::to_string(gpus) + " of the topology");
  rates_.assign(header_->rates, header_->rates + links);
  for (const LinkRate& rate : rates_) {
    if (!std::isfinite(rate.bytesPerNs) || !std::isfinite(rate.latencyNs) || rate.bytesPerNs <= 0 || rate.latencyNs < 0)
      return bad("a link without a rate");
  }
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    paths_.emplace_back(header_->paths[gpu], header_->paths[gpu] + 2 + gpus);
    for (const LinkPath& path : paths_.back()) {
      if ((path.count == 0 && &path < &paths_.back()[2]) || path.count > kMaxPath)
        return bad("a path of " + std::to_string(path.count) + " links");
      for (std::uint32_t i = 0; i < path.count; ++i)
        if (path.links[i] >= links) return bad("a path over link " + std::to_string(path.links[i]) + " of " + std::to_string(links));
    }
  }
  return {};
}

double LinkBoard::bytesPerSecond(LinkDirection direction) const {
  const LinkPath& path = paths_[gpu_][static_cast<std::size_t>(direction)];
  double least = kNever;
  for (std::uint32_t i = 0; i < path.count; ++i) least = std::min(least, rates_[path.links[i]].bytesPerNs);
  return least * 1e9;
}

Nanoseconds LinkBoard::latency(LinkDirection direction) const {
  const LinkPath& path = paths_[gpu_][static_cast<std::size_t>(direction)];
  double sum = 0;
  for (std::uint32_t i = 0; i < path.count; ++i) sum += rates_[path.links[i]].latencyNs;
  return static_cast<Nanoseconds>(sum);
}

std::optional<LinkBoard::Shared> LinkBoard::sharedWay() const {
  const auto way = [&](std::uint32_t gpu) -> std::span<const std::uint32_t> {
    const LinkPath& path = paths_[gpu][static_cast<std::size_t>(LinkDirection::toDevice)];
    return {path.links.data(), path.count};
  };
  std::optional<Shared> shared;
  for (const std::uint32_t link : way(gpu_)) {
    bool alone = true;
    for (std::uint32_t other = 0; other < gpus(); ++other) alone = alone && (other == gpu_ || std::ranges::find(way(other), link) == way(other).end());
    const double rate = rates_[link].bytesPerNs * 1e9;
    if (!alone && (!shared || rate < shared->bytesPerSecond)) shared = {link, rate};
  }
  return shared;
}

std::atomic<std::uint64_t>* LinkBoard::buffer(std::uint64_t index) const {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(header_ + 1) + index * kBufferWords;
}

bool LinkBoard::check(LinkFlows& flows, Nanoseconds now) const {
  // attach() reads with the clock at 0.
  if (!std::isfinite(flows.now) || flows.now < 0 || (now != 0 && flows.now > static_cast<double>(now) + kFutureNs)) return false;
  for (Flow& flow : flows.all()) {
    if (!std::isfinite(flow.movesAt) || !std::isfinite(flow.remaining) || flow.remaining < 0 || flow.path.count == 0 ||
        flow.path.count > kMaxPath)
      return false;
    for (std::uint32_t i = 0; i < flow.path.count; ++i)
      if (flow.path.links[i] >= rates_.size()) return false;
  }
  return true;
}

// Returns the word that was current when all of it was read.
std::uint64_t LinkBoard::read(Nanoseconds now, LinkFlows& into) const {
  const std::uint64_t buffers = std::uint64_t{gpus()} * kBuffersPerGpu;
  for (;;) {
    const std::uint64_t current = header_->current.load(std::memory_order_acquire);
    into.now = 0;
    into.count = 0;
    if (current == 0 || indexOf(current) >= buffers) return current;
    const std::atomic<std::uint64_t>* words = buffer(indexOf(current));
    into.now = std::bit_cast<double>(words[0].load(std::memory_order_relaxed));
    into.count = std::min<std::uint64_t>(words[1].load(std::memory_order_relaxed), kMaxFlows);
    for (std::size_t i = 0; i < into.count; ++i) {
      std::array<std::uint64_t, kFlowWords> flow;
      for (std::size_t word = 0; word < kFlowWords; ++word)
        flow[word] = words[2 + i * kFlowWords + word].load(std::memory_order_relaxed);
      into.flows[i] = std::bit_cast<Flow>(flow);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    // The buffer is not written while it is the current one.
    if (header_->current.load(std::memory_order_relaxed) != current) continue;
    if (!check(into, now)) into.now = 0, into.count = 0;
    return current;
  }
}

bool LinkBoard::chargesPending() const {
  for (std::uint32_t gpu = 0; gpu < gpus(); ++gpu)
    for (std::uint32_t direction = 0; direction < directions(); ++direction)
      if (paths_[gpu][direction].count != 0 && header_->charges[gpu][direction].bytes.load(std::memory_order_relaxed) != 0) return true;
  return false;
}

void LinkBoard::addCharge(LinkFlows& flows, std::uint32_t gpu, std::uint32_t direction, double bytes, double since) const {
  const std::uint64_t id = ownerBits(gpu) | direction;
  if (since > flows.now) flows.progress(rates_, since);
  if (Flow* flow = flows.find(id)) {
    flow->remaining += bytes;
  } else {
    flows.add({.id = id, .movesAt = flows.now, .remaining = bytes, .path = paths_[gpu][direction]});
  }
}

template <class Change>
void LinkBoard::change(Nanoseconds now, Change change) {
  struct Taken {
    double bytes = 0, since = 0;
    std::uint32_t gpu = 0, direction = 0;
  };
  std::vector<Taken> charges;
  if (chargesPending()) {
    for (std::uint32_t gpu = 0; gpu < gpus(); ++gpu) {
      for (std::uint32_t direction = 0; direction < directions(); ++direction) {
        if (paths_[gpu][direction].count == 0) continue;  // rubbish
        auto& charge = header_->charges[gpu][direction];
        // In this order: a time that is left over would be too early for bytes that come later; bytes without one begin now.
        const auto bytes = static_cast<double>(charge.bytes.exchange(0, std::memory_order_acq_rel));
        if (bytes == 0) continue;
        const auto since = static_cast<double>(charge.since.exchange(0, std::memory_order_acq_rel));
        const auto latest = static_cast<double>(now);
        charges.push_back({bytes, since == 0 ? latest : std::min(since, latest), gpu, direction});
      }
    }
    std::ranges::sort(charges, {}, &Taken::since);
  }
  const auto flows = std::make_unique_for_overwrite<LinkFlows>();
  std::uint32_t mine = 0;
  while (taken_[mine].exchange(true, std::memory_order_acquire)) {
    if (++mine == kBuffersPerGpu) mine = 0, ::sched_yield();
  }
  for (;;) {
    const std::uint64_t current = read(now, *flows);
    // Nobody but a thread that has it in its hands can publish a buffer: this one's is not current, or is until another is.
    const std::uint64_t index = std::uint64_t{gpu_} * kBuffersPerGpu + mine;
    if (current != 0 && indexOf(current) == index) {
      std::uint32_t next = (mine + 1) % kBuffersPerGpu;
      while (taken_[next].exchange(true, std::memory_order_acquire)) next = (next + 1) % kBuffersPerGpu;
      taken_[mine].store(false, std::memory_order_release);
      mine = next;
      continue;
    }
    for (const Taken& charge : charges) addCharge(*flows, charge.gpu, charge.direction, charge.bytes, charge.since);
    flows->progress(rates_, static_cast<double>(now));
    change(*flows);
    std::atomic<std::uint64_t>* words = buffer(index);
    words[0].store(std::bit_cast<std::uint64_t>(flows->now), std::memory_order_relaxed);
    words[1].store(flows->count, std::memory_order_relaxed);
    for (std::size_t i = 0; i < flows->count; ++i) {
      const auto flow = std::bit_cast<std::array<std::uint64_t, kFlowWords>>(flows->flows[i]);
      for (std::size_t word = 0; word < kFlowWords; ++word)
        words[2 + i * kFlowWords + word].store(flow[word], std::memory_order_relaxed);
    }
    std::uint64_t expected = current;
    const std::uint64_t published = ((current >> kIndexBits) + 1) << kIndexBits | index;
    if (header_->current.compare_exchange_strong(expected, published, std::memory_order_acq_rel)) break;
  }
  taken_[mine].store(false, std::memory_order_release);
}

FlowId LinkBoard::start(Nanoseconds now, LinkDirection direction, std::uint64_t bytes, Nanoseconds since) {
  const LinkPath& path = paths_[gpu_][static_cast<std::size_t>(direction)];
  // Those below, a direction each, are what charge() adds to.
  const FlowId id = ownerBits(gpu_) | (kMaxDirections + nextFlow_.fetch_add(1, std::memory_order_relaxed) % (std::uint64_t{1} << 46));
  bool added = false;
  // Whether it had the links for itself shows at the time when it was due: what ends between then and now had its share.
  change(std::min(since, now), [&](LinkFlows& flows) {
    const bool alone = std::ranges::none_of(flows.all(), [&](const Flow& flow) {
      return std::ranges::any_of(std::span(flow.path.links).first(flow.path.count), [&](std::uint32_t link) {
        return std::ranges::find(path.links.begin(), path.links.begin() + path.count, link) != path.links.begin() + path.count;
      });
    });
    flows.progress(rates_, static_cast<double>(now));
    const double clock = flows.now;
    const double movesAt = (alone ? static_cast<double>(since) : clock) + static_cast<double>(latency(direction));
    const double moved = std::max(0.0, clock - movesAt) * bytesPerSecond(direction) * 1e-9;
    added = flows.add({.id = id,
                       .movesAt = std::max(movesAt, clock),
                       .remaining = std::max(0.0, static_cast<double>(bytes) - moved),
                       .path = path});
  });
  return added ? id : 0;
}

void LinkBoard::cancel(Nanoseconds now, FlowId flow) {
  change(now, [&](LinkFlows& flows) {
    if (Flow* found = flows.find(flow)) flows.remove(*found);
  });
}

void LinkBoard::credit(Nanoseconds now, FlowId flow, std::uint64_t bytes) {
  change(now, [&](LinkFlows& flows) {
    if (Flow* found = flows.find(flow)) found->remaining = std::max(0.0, found->remaining - static_cast<double>(bytes));
  });
}

LinkBoard::View LinkBoard::look(Nanoseconds now, FlowId flow) {
  if (chargesPending()) change(now, [](LinkFlows&) {});
  const auto flows = std::make_unique_for_overwrite<LinkFlows>();
  read(now, *flows);
  flows->progress(rates_, static_cast<double>(now));
  const Flow* found = flows->find(flow);
  return found != nullptr ? View{found->remaining, false} : View{0, true};
}

Nanoseconds LinkBoard::whenLeft(Nanoseconds now, FlowId flow, double remaining) {
  const auto flows = std::make_unique_for_overwrite<LinkFlows>();
  read(now, *flows);
  flows->progress(rates_, static_cast<double>(now));
  // Nothing takes longer than an hour but by rubbish in the memory.
  const double at = std::min(flows->whenLeft(rates_, flow, remaining), static_cast<double>(now) + 3.6e12);
  return static_cast<Nanoseconds>(std::ceil(at));
}

void LinkBoard::charge(Nanoseconds now, LinkDirection direction, std::uint64_t bytes) noexcept {
  auto& charge = header_->charges[gpu_][static_cast<std::size_t>(direction)];
  std::uint64_t none = 0;
  charge.since.compare_exchange_strong(none, static_cast<std::uint64_t>(now), std::memory_order_relaxed);
  charge.bytes.fetch_add(bytes, std::memory_order_release);
}

}  // namespace rouse::device

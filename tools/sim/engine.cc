#include "tools/sim/engine.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>
#include <unordered_map>

#include "sched/scheduler.h"
#include "swap/link_model.h"
#include "tools/sim/block_pool.h"

namespace rouse::sim {
namespace {

using namespace sched;
using Clock = std::chrono::steady_clock;

// The links that transfers can share with each other: those of one switch, or one NVLink.
struct Way {
  std::vector<memory::Link> links;
  std::unique_ptr<swap::LinkModel> model;
  std::map<swap::TransferId, std::uint64_t> carries;  // transfer → key of what comes
  std::uint64_t version = 0;                          // of its next completion
};

struct Coming {  // a model on its way to a GPU
  FunctionId function{};
  GpuId gpu{};
  Source source;
  std::size_t way = 0;
  swap::TransferId transfer = 0;
  std::uint64_t bytes = 0;
};

struct Running {
  RequestId id{};
  Time arrived{}, begun{}, waitsFrom{};  // waitsFrom: its kernels may begin: memory has been allocated
  std::uint32_t function = 0;
  GpuId gpu{};
  Source source;
};

struct Event {
  Time at{};
  std::uint64_t number = 0;  // earlier ones first
  enum class Kind : std::uint8_t { ends, transfer, begins, timer } kind = Kind::ends;
  std::uint64_t what = 0, version = 0;
  bool operator>(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
};

double cpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Engine {
 public:
  Engine(const Setup& setup, const std::vector<Arrival>& arrivals)
      : setup_(setup), arrivals_(arrivals), scheduler_(make(setup)), gpusPerNode_(setup.node.topology.gpus()) {
    waits_.resize(arrivals.size());
    result_.functions.resize(setup.modelOf.size());
    result_.gpus.resize(gpusPerNode_ * setup.copies);
    build();
  }

  Outcome run() {
    const auto began = Clock::now();
    const double cpu = cpuSeconds();
    std::size_t next = 0;
    while (next < arrivals_.size() || !events_.empty()) {
      if (events_.empty() || (next < arrivals_.size() && arrivals_[next].at <= events_.top().at)) {
        arrive(next);
        ++next;
        continue;
      }
      const Event event = events_.top();
      events_.pop();
      if (event.kind == Event::Kind::timer &&
          (event.version != timer_ || (next == arrivals_.size() && running_.empty() && waiting_ == 0)))
        continue;
      now_ = std::max(now_, event.at);
      if (next == arrivals_.size() && now_ > arrivals_.back().at + kPatience)
        throw std::logic_error(std::to_string(waiting_) + " requests are never run");
      handle(event);
    }
    result_.cpuSeconds = cpuSeconds() - cpu;
    finish(began);
    return std::move(result_);
  }

 private:
  static constexpr Duration kPatience = std::chrono::hours(1);  // after the last arrival

  static Scheduler make(const Setup& setup) {
    auto policies = makePolicies(setup.policies, setup.seed);
    if (!policies) throw std::invalid_argument(policies.error().message);
    return Scheduler(std::move(*policies));
  }

  const Model& model(FunctionId id) const { return setup_.models.models[setup_.modelOf[index(id)]]; }
  std::size_t local(GpuId id) const { return index(id) % gpusPerNode_; }
  static std::uint64_t keyOf(FunctionId function, GpuId gpu) { return std::uint64_t{index(function)} << 32 | index(gpu); }

  void build() {
    const memory::Topology& topology = setup_.node.topology;
    for (unsigned node = 0; node < setup_.copies; ++node) {
      std::vector<std::size_t> wayOf(gpusPerNode_);
      std::vector<unsigned> switchOf(gpusPerNode_);
      for (std::size_t gpu = 0; gpu < gpusPerNode_; ++gpu) {
        wayOf[gpu] = ways_.size();
        for (std::size_t other = 0; other < gpu; ++other)
          if (topology.shareSwitch(gpu, other)) wayOf[gpu] = wayOf[other];
        if (wayOf[gpu] == ways_.size()) ways_.emplace_back();
        switchOf[gpu] = static_cast<unsigned>(wayOf[gpu]);
        // Its own link, and the uplink where there is one, numbered within the way.
        std::vector<memory::LinkId> path;
        for (const memory::LinkId link : topology.fromHost(gpu)) {
          const memory::Link& one = topology.links()[link];
          auto& links = ways_[wayOf[gpu]].links;
          auto found = std::find_if(links.begin(), links.end(), [&](const memory::Link& known) { return known.name == one.name; });
          if (found == links.end()) found = links.insert(links.end(), one);
          path.push_back(static_cast<memory::LinkId>(found - links.begin()));
        }
        hostWay_.push_back(wayOf[gpu]);
        hostPath_.push_back(std::move(path));
      }
      for (std::size_t gpu = 0; gpu < gpusPerNode_; ++gpu) {
        const auto id = static_cast<GpuId>(node * gpusPerNode_ + gpu);
        const auto path = topology.fromHost(gpu);
        GpuSpec spec;
        spec.memoryBytes = setup_.node.functionMemory;
        spec.linkBytesPerSecond = topology.links()[path.back()].bytesPerSecond;
        spec.uplinkBytesPerSecond = topology.links()[path.front()].bytesPerSecond;
        spec.switchId = switchOf[gpu];
        for (std::size_t other = 0; other < gpusPerNode_; ++other) {
          if (other == gpu || !topology.hasNvlink(other, gpu)) continue;
          const auto link = topology.betweenGpus(other, gpu);
          spec.peers.push_back({static_cast<GpuId>(node * gpusPerNode_ + other), topology.bytesPerSecond(link)});
          peerWay_[{node * gpusPerNode_ + other, index(id)}] = ways_.size();
          ways_.emplace_back().links.push_back(topology.links()[link[0]]);
        }
        step(GpuAdded{id, spec});
        if (setup_.naiveBlocks) pools_.emplace_back(setup_.node.functionMemory);
      }
    }
    for (Way& way : ways_) way.model = std::make_unique<swap::LinkModel>(way.links);
    for (std::uint32_t f = 0; f < setup_.modelOf.size(); ++f) {
      const Model& one = setup_.models.models[setup_.modelOf[f]];
      FunctionSpec spec;
      spec.deadline = one.deadline;
      spec.percentile = setup_.models.percentile;
      spec.memoryBytes = one.memoryBytes;
      spec.transferBytes = one.parameterBytes;
      spec.run = one.run, spec.hostSwap = one.hostSwap, spec.peerSwap = one.peerSwap;
      step(FunctionAdded{static_cast<FunctionId>(f), spec});
    }
  }

  bool counted(Time arrived) const { return arrived.time_since_epoch() >= setup_.warmUp; }

  void arrive(std::size_t number) {
    const Arrival& one = arrivals_[number];
    now_ = std::max(now_, one.at);
    if (counted(now_)) ++result_.functions[one.function].requests;
    ++waiting_;
    waits_[number] = true;
    step(RequestArrived{static_cast<RequestId>(number), static_cast<FunctionId>(one.function)});
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::ends: return end(event.what);
      case Event::Kind::transfer: return transferred(event.what, event.version);
      case Event::Kind::begins: return begin(event.what);
      case Event::Kind::timer: return step(TimerFired{});
    }
  }

  void step(const sched::Event& event) {
    std::vector<Action> actions = std::exchange(spare_, {});
    actions.clear();
    if (setup_.measureSteps) {
      const auto began = Clock::now();
      require(scheduler_.step(event, now_, actions));
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - began).count();
      stepSum_ += us;
      ++stepTimes_[std::min<std::size_t>(stepTimes_.size() - 1, static_cast<std::size_t>(us * 20))];
    } else {
      require(scheduler_.step(event, now_, actions));
    }
    ++result_.steps;
    for (const Action& action : actions) std::visit([&](const auto& one) { act(one); }, action);
    spare_ = std::move(actions);
  }

  static void require(const Status& status) {
    if (!status) throw std::logic_error("the scheduler refused an event: " + status.error().message);
  }

  const Arrival& leaveQueue(RequestId id) {
    const auto number = static_cast<std::size_t>(id);
    if (number >= waits_.size() || !waits_[number]) throw std::logic_error("a request that does not wait was run or refused");
    waits_[number] = false;
    --waiting_;
    return arrivals_[number];
  }

  void act(const SetTimer& timer) {
    ++timer_;
    if (timer.at) events_.push({*timer.at, ++numbers_, Event::Kind::timer, 0, timer_});
  }

  void act(const Refuse& refuse) {
    const Arrival& arrival = leaveQueue(refuse.request);
    if (counted(arrival.at)) ++result_.functions[arrival.function].refused;
  }

  void act(const Evict& evict) {
    for (const Leave& one : evict.leave) {
      ++result_.evictions;
      const auto here = here_.find(keyOf(one.function, evict.gpu));
      if (here == here_.end()) throw std::logic_error("a model that is not there was evicted");
      if (one.whole)
        here_.erase(here);
      else
        here->second += one.bytes;
      if (setup_.naiveBlocks && one.whole) pools_[index(evict.gpu)].release(static_cast<std::uint32_t>(index(one.function)));
    }
  }

  void act(const Fetch& fetch) { bring(fetch.function, fetch.gpu, fetch.source); }

  void act(const sched::Run& run) {
    const Arrival& arrival = leaveQueue(run.request);
    if (arrival.function != index(run.function)) throw std::logic_error("a request was run as another function's");
    Running one{run.request, arrival.at, now_, now_, arrival.function, run.gpu, run.source};
    ++result_.runs;
    Duration allocation{};
    if (run.source.kind != Source::Kind::resident) {
      if (setup_.naiveBlocks) allocation = pools_[index(run.gpu)].allocate(one.function, model(run.function).memoryBytes);
      result_.allocations.push_back(static_cast<float>(seconds(allocation) / seconds(model(run.function).run)));
    }
    one.waitsFrom = now_ + allocation;
    const auto number = static_cast<std::uint64_t>(run.request);
    running_.emplace(number, one);
    if (allocation.count() != 0)
      events_.push({one.waitsFrom, ++numbers_, Event::Kind::begins, number, 0});
    else
      begin(number);
  }

  void begin(std::uint64_t number) {
    const Running& one = running_.at(number);
    const auto id = static_cast<FunctionId>(one.function);
    const Source source = one.source;
    if (source.kind != Source::Kind::resident) bring(id, one.gpu, source);
    const std::uint64_t key = keyOf(id, one.gpu);
    if (coming_.contains(key))
      waitsFor_.emplace(key, number);  // its end is known when the last byte is there
    else
      events_.push({now_ + model(id).run, ++numbers_, Event::Kind::ends, number, 0});
  }

  void bring(FunctionId function, GpuId gpu, const Source& source) {
    Coming one{function, gpu, source, 0, 0, 0};
    std::vector<memory::LinkId> path;
    if (source.kind == Source::Kind::peer) {
      ++result_.peerSwaps;
      one.way = peerWay_.at({index(source.peer), index(gpu)});
      path = {0};
    } else {
      ++result_.hostSwaps;
      one.way = hostWay_[index(gpu)];
      path = hostPath_[index(gpu)];
    }
    Way& way = ways_[one.way];
    const std::uint64_t key = keyOf(function, gpu);
    const auto part = here_.find(key);
    one.bytes = part == here_.end() ? model(function).parameterBytes : part->second;
    if (part != here_.end()) here_.erase(part);
    one.transfer = way.model->start(now_.time_since_epoch().count(), path, one.bytes);
    if (!coming_.emplace(key, one).second) throw std::logic_error("a model that is on its way was asked for again");
    way.carries.emplace(one.transfer, key);
    expect(one.way);
  }

  void expect(std::size_t number) {
    Way& way = ways_[number];
    const auto next = way.model->nextCompletion();
    ++way.version;
    if (next) events_.push({Time(Duration(*next)), ++numbers_, Event::Kind::transfer, number, way.version});
  }

  void transferred(std::size_t number, std::uint64_t version) {
    Way& way = ways_[number];
    if (way.version != version) return;
    const auto done = way.model->advance(now_.time_since_epoch().count());
    std::vector<std::uint64_t> keys;
    for (const auto& one : done) {
      keys.push_back(way.carries.at(one.id));
      way.carries.erase(one.id);
    }
    expect(number);
    for (const std::uint64_t key : keys) {
      const Coming one = coming_.at(key);
      coming_.erase(key);
      here_.emplace(key, 0);
      const Model& what = model(one.function);
      const bool peer = one.source.kind == Source::Kind::peer;
      const double alone = setup_.node.topology.bytesPerSecond(setup_.node.topology.fromHost(local(one.gpu)));
      const SwapShape shape = peer ? peerShape(what, setup_.models) : hostShape(what, setup_.models, alone, one.bytes);
      const auto [first, last] = waitsFor_.equal_range(key);
      for (auto waits = first; waits != last; ++waits) {
        const Running& request = running_.at(waits->second);
        const Time ends = std::max(request.waitsFrom + what.run + shape.overRun, now_ + shape.afterTransfer);
        events_.push({ends, ++numbers_, Event::Kind::ends, waits->second, 0});
      }
      waitsFor_.erase(first, last);
      step(ModelArrived{one.function, one.gpu});
    }
  }

  void end(std::uint64_t number) {
    const Running one = running_.at(number);
    running_.erase(number);
    const float latency = static_cast<float>(milliseconds(now_ - one.arrived));
    GpuResult& gpu = result_.gpus[index(one.gpu)];
    gpu.busySeconds += seconds(now_ - one.begun);
    if (counted(one.arrived)) {
      FunctionResult& function = result_.functions[one.function];
      function.latencies.push_back(latency);
      function.inTime += now_ - one.arrived <= model(static_cast<FunctionId>(one.function)).deadline;
      gpu.latencies.push_back(latency);
    }
    step(RequestFinished{one.id, now_ - one.begun, true});
  }

  void finish(Clock::time_point began) {
    result_.wallSeconds = std::chrono::duration<double>(Clock::now() - began).count();
    result_.virtualSeconds = seconds(now_.time_since_epoch());
    if (waiting_ != 0 || !running_.empty())
      throw std::logic_error(std::to_string(waiting_) + " requests were never run");
    for (const Way& way : ways_)
      for (std::size_t link = 0; link < way.links.size(); ++link)
        result_.links.push_back(
            {way.links[link].name, way.model->carriedBytes(static_cast<memory::LinkId>(link)), way.links[link].bytesPerSecond});
    if (!setup_.measureSteps) return;
    result_.stepMeanUs = stepSum_ / static_cast<double>(result_.steps);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < stepTimes_.size(); ++i) {
      below += stepTimes_[i];
      if (static_cast<double>(below) < 0.99 * static_cast<double>(result_.steps)) continue;
      result_.stepP99Us = static_cast<double>(i + 1) / 20;
      break;
    }
  }

  const Setup& setup_;
  const std::vector<Arrival>& arrivals_;
  Scheduler scheduler_;
  std::size_t gpusPerNode_;
  Outcome result_;
  Time now_{};
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t numbers_ = 0, timer_ = 0;
  std::vector<Way> ways_;
  std::vector<std::size_t> hostWay_;
  std::vector<std::vector<memory::LinkId>> hostPath_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> peerWay_;
  std::unordered_map<std::uint64_t, std::uint64_t> here_;  // models on GPUs: bytes that are missing
  std::unordered_map<std::uint64_t, Coming> coming_;
  std::unordered_multimap<std::uint64_t, std::uint64_t> waitsFor_;
  std::unordered_map<std::uint64_t, Running> running_;
  std::vector<bool> waits_;  // by request
  std::size_t waiting_ = 0;
  std::vector<BlockPool> pools_;
  std::vector<Action> spare_;
  double stepSum_ = 0;
  std::vector<std::uint64_t> stepTimes_ = std::vector<std::uint64_t>(20 * 1000);  // by a twentieth of a microsecond
};

}  // namespace

std::size_t Outcome::compliant(double percentile) const {
  return static_cast<std::size_t>(
      std::count_if(functions.begin(), functions.end(), [&](const FunctionResult& f) { return f.complies(percentile); }));
}

Outcome simulate(const Setup& setup, const std::vector<Arrival>& arrivals) { return Engine(setup, arrivals).run(); }

double percentileOf(std::vector<float> values, double part) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, rank) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace rouse::sim

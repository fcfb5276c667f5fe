#include "tools/sim/baselines.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace rouse::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kLookSeconds = 2;

// One GPU that its functions share: each that has a request gets the same part of its time.
class SharedGpu {
 public:
  explicit SharedGpu(GpuResult& result) : result_(result) {}

  struct Done {
    std::uint32_t function = 0;
    double arrived = 0, at = 0;
  };

  double next() const {
    double least = kNever;
    for (const Job& job : jobs_) least = std::min(least, job.left);
    return jobs_.empty() ? kNever : now_ + least * static_cast<double>(jobs_.size());
  }
  void advance(double to, std::vector<Done>& done) {
    while (next() <= to) {
      const double at = next();
      spend(at);
      const auto first = std::min_element(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) { return a.left < b.left; });
      done.push_back({first->function, first->arrived, at});
      const Job ended = *first;
      jobs_.erase(first);
      for (auto one = behind_.begin(); one != behind_.end(); ++one) {
        if (one->function != ended.function) continue;
        jobs_.push_back(*one);
        behind_.erase(one);
        break;
      }
    }
    spend(to);
  }
  void add(std::uint32_t function, double arrived, double takes) {
    const bool runs = std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.function == function; });
    (runs ? behind_ : jobs_).push_back({function, arrived, takes});
  }

 private:
  struct Job {
    std::uint32_t function = 0;
    double arrived = 0, left = 0;
  };

  void spend(double to) {
    if (to <= now_) return;
    if (!jobs_.empty()) result_.busySeconds += to - now_;
    for (Job& job : jobs_) job.left = std::max(0.0, job.left - (to - now_) / static_cast<double>(jobs_.size()));
    now_ = to;
  }

  GpuResult& result_;
  double now_ = 0;
  std::deque<Job> jobs_, behind_;  // one of each function; those that wait for it
};

class Bench {
  const Setup& setup_;

 public:
  explicit Bench(const Setup& setup) : setup_(setup), gpuCount_(setup.node.topology.gpus()) {
    result.functions.resize(setup.modelOf.size());
    result.gpus.resize(gpuCount_);
    for (GpuResult& gpu : result.gpus) gpus.emplace_back(gpu);
  }

  const Model& model(std::uint32_t function) const { return setup_.models.models[setup_.modelOf[function]]; }
  bool counted(double arrived) const { return arrived >= sched::seconds(setup_.warmUp); }
  void asked(std::uint32_t function, double at) {
    if (counted(at)) ++result.functions[function].requests;
  }
  void advance(double to) {
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
      done_.clear();
      gpus[gpu].advance(to, done_);
      for (const SharedGpu::Done& one : done_) {
        lastEnd[one.function] = one.at;
        --inside[one.function];
        ++result.runs;
        if (!counted(one.arrived)) continue;
        const auto latency = static_cast<float>((one.at - one.arrived) * 1e3);
        result.functions[one.function].latencies.push_back(latency);
        result.functions[one.function].inTime += latency <= sched::milliseconds(model(one.function).deadline);
        result.gpus[gpu].latencies.push_back(latency);
      }
    }
    result.virtualSeconds = to;
  }
  void serve(std::uint32_t function, double arrived, std::size_t gpu) {
    gpus[gpu].add(function, arrived, sched::seconds(model(function).native));
    ++inside[function];
  }

  Outcome result;
  std::vector<SharedGpu> gpus;
  std::vector<double> lastEnd = std::vector<double>(setup_.modelOf.size());
  std::vector<std::uint32_t> inside = std::vector<std::uint32_t>(setup_.modelOf.size());

 private:
  std::size_t gpuCount_;
  std::vector<SharedGpu::Done> done_;
};

}  // namespace

Outcome simulateNative(const Setup& setup, const std::vector<Arrival>& arrivals, std::size_t functionsPerGpu) {
  Bench bench(setup);
  const std::size_t gpus = bench.gpus.size();
  double now = 0;
  for (const Arrival& one : arrivals) {
    now = sched::seconds(one.at.time_since_epoch());
    bench.asked(one.function, now);
    if (one.function / gpus >= functionsPerGpu) continue;
    bench.advance(now);
    bench.serve(one.function, now, one.function % gpus);
  }
  for (SharedGpu& gpu : bench.gpus)
    while (gpu.next() < kNever) bench.advance(now = std::max(now, gpu.next()));
  return std::move(bench.result);
}

Outcome simulateKeepAlive(const Setup& setup, const std::vector<Arrival>& arrivals) {
  enum class Where : std::uint8_t { away, wanted, starting, here };
  struct Function {
    Where where = Where::away;
    std::size_t gpu = 0;
    double ready = 0, keep = 0, last = -1;
    std::vector<float> gaps;
    std::vector<double> waiting;
  };
  Bench bench(setup);
  const std::size_t gpus = bench.gpus.size();
  std::vector<Function> functions(setup.modelOf.size());
  for (const Arrival& one : arrivals) {
    Function& f = functions[one.function];
    const double at = sched::seconds(one.at.time_since_epoch());
    if (f.last >= 0) f.gaps.push_back(static_cast<float>(at - f.last));
    f.last = at;
  }
  std::vector<std::size_t> places(gpus, setup.node.nativeFunctions);
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    functions[i].keep = percentileOf(functions[i].gaps, 0.99);
    if (i / gpus >= setup.node.nativeFunctions) continue;
    functions[i].where = Where::here, functions[i].gpu = i % gpus;
    --places[i % gpus];
  }
  std::deque<std::uint32_t> wanted;
  const auto look = [&](double now) {
    for (std::uint32_t i = 0; i < functions.size(); ++i) {
      Function& f = functions[i];
      if (f.where != Where::here || bench.inside[i] != 0 || now - bench.lastEnd[i] <= f.keep) continue;
      f.where = Where::away;
      ++places[f.gpu];
    }
    for (std::size_t gpu = 0; gpu < gpus; ++gpu)
      for (; places[gpu] != 0 && !wanted.empty(); --places[gpu]) {
        Function& f = functions[wanted.front()];
        f.where = Where::starting, f.gpu = gpu, f.ready = now + sched::seconds(bench.model(wanted.front()).cold);
        wanted.pop_front();
      }
  };
  const auto start = [&](double now) {
    for (std::uint32_t i = 0; i < functions.size(); ++i) {
      Function& f = functions[i];
      if (f.where != Where::starting || f.ready > now) continue;
      f.where = Where::here;
      bench.lastEnd[i] = now;
      for (const double arrived : f.waiting) bench.serve(i, arrived, f.gpu);
      f.waiting.clear();
    }
  };
  double now = 0, next = kLookSeconds;
  const auto until = [&](double to) {
    for (; next <= to; next += kLookSeconds) {
      bench.advance(next);
      start(next);
      look(next);
    }
    bench.advance(to);
  };
  for (const Arrival& one : arrivals) {
    until(now = sched::seconds(one.at.time_since_epoch()));
    Function& f = functions[one.function];
    bench.asked(one.function, now);
    if (f.where == Where::here) {
      bench.serve(one.function, now, f.gpu);
      continue;
    }
    f.waiting.push_back(now);
    if (f.where == Where::away) f.where = Where::wanted, wanted.push_back(one.function);
  }
  until(now + 60);
  return std::move(bench.result);
}

std::size_t executed(const Outcome& result) {
  return static_cast<std::size_t>(std::count_if(result.functions.begin(), result.functions.end(),
                                                [](const FunctionResult& f) { return !f.latencies.empty(); }));
}

}  // namespace rouse::sim

#include "client-shim/cudart/graph/capture.h"

#include <algorithm>
#include <set>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "client-shim/core/log.h"
#include "client-shim/cudart/session.h"
#include "client-shim/cudart/thread_state.h"

namespace rouse::cudart::graph {

std::atomic<unsigned> captures{0};

namespace {

struct Capture {
  std::uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  client::Stream* origin = nullptr;
  std::shared_ptr<Graph> graph;  // null: `to` is the program's
  Graph* to = nullptr;
  bool invalid = false;
  std::vector<Edge> left;  // what streams that were destroyed meanwhile had captured last
};

struct Member {
  std::shared_ptr<Capture> capture;
  std::vector<Edge> dependencies;
  // As the program is shown them.
  std::vector<cudaGraphNode_t> shown;
  std::vector<cudaGraphEdgeData> shownEdges;
};

struct CapturedEvent {
  std::shared_ptr<Capture> capture;  // which may have ended
  std::vector<Edge> dependencies;
};

struct State {
  std::set<std::shared_ptr<Capture>> active;
  std::unordered_map<client::Stream*, Member> members;
  std::unordered_map<cudaEvent_t, CapturedEvent> events;
  std::uint64_t lastId = 0;
};
State& state() {
  static State& all = *new State;
  return all;
}

void recount() { captures.store(static_cast<unsigned>(state().active.size() + state().events.size()), std::memory_order_relaxed); }

Member* memberOf(client::Stream& stream) {
  const auto found = state().members.find(&stream);
  return found != state().members.end() ? &found->second : nullptr;
}

cudaError_t invalidate(Capture& capture, cudaError_t error, const char* what) {
  if (!capture.invalid) client::log(client::LogLevel::warn, "a stream capture is invalidated: %s", what);
  capture.invalid = true;
  return error;
}

void merge(std::vector<Edge>& into, const std::vector<Edge>& from) {
  for (const Edge& edge : from)
    if (std::none_of(into.begin(), into.end(), [&](const Edge& have) { return have.node == edge.node; })) into.push_back(edge);
}

bool blockingCaptures(const client::Device& device) {
  return std::ranges::any_of(state().members, [&](const auto& member) { return !member.first->nonBlocking() && &member.first->device() == &device; });
}

// What the legacy stream would have to wait for, or be waited for by.
cudaError_t checkLegacy(const client::Device& device) {
  cudaError_t error = cudaSuccess;
  for (auto& [stream, member] : state().members)
    if (!stream->nonBlocking() && &stream->device() == &device)
      error = invalidate(*member.capture, cudaErrorStreamCaptureImplicit, "the legacy stream is used while a blocking stream captures");
  return error;
}

// All that lies before these nodes, themselves included.
std::unordered_set<const Node*> pastOf(const std::vector<Edge>& edges) {
  std::unordered_set<const Node*> past;
  std::vector<const Node*> next;
  for (const Edge& edge : edges)
    if (past.insert(edge.node).second) next.push_back(edge.node);
  while (!next.empty()) {
    const Node* node = next.back();
    next.pop_back();
    for (const Edge& edge : node->dependencies)
      if (past.insert(edge.node).second) next.push_back(edge.node);
  }
  return past;
}

void finish(const std::shared_ptr<Capture>& capture) {
  std::erase_if(state().members, [&](const auto& member) { return member.second.capture == capture; });
  for (auto& [event, captured] : state().events)
    if (captured.capture == capture) captured.dependencies.clear();
  capture->to->capturing = false;
  state().active.erase(capture);
  recount();
}

}  // namespace

Node* Capturing::add(Params params) {
  Member& member = *memberOf(*stream_);
  Node* node = member.capture->to->add(std::move(params), member.dependencies, &stream_->device());
  member.dependencies = {{node, {}}};
  return node;
}

cudaError_t interceptSlowly(client::Stream& stream, Capturing* capturing) {
  auto lock = lockGraphs();
  if (Member* member = memberOf(stream)) {
    if (member->capture->invalid) return cudaErrorStreamCaptureInvalidated;
    capturing->stream_ = &stream;
    capturing->lock_ = std::move(lock);
    return cudaSuccess;
  }
  return stream.legacy() ? checkLegacy(stream.device()) : cudaSuccess;
}

cudaError_t refuseSlowly(client::Stream& stream) {
  const auto lock = lockGraphs();
  if (Member* member = memberOf(stream))
    return invalidate(*member->capture, cudaErrorStreamCaptureUnsupported, "a call that a capturing stream cannot have");
  return stream.legacy() ? checkLegacy(stream.device()) : cudaSuccess;
}

cudaError_t refuseEventSlowly(cudaEvent_t event) {
  const auto lock = lockGraphs();
  const auto found = state().events.find(event);
  if (found == state().events.end()) return cudaSuccess;
  return invalidate(*found->second.capture, cudaErrorCapturedEvent, "an event that has been captured is asked about");
}

cudaError_t checkUnsafeSlowly(bool wholeDevice) {
  const auto lock = lockGraphs();
  cudaError_t error = cudaSuccess;
  const auto forbid = [&](Capture& capture) {
    error = invalidate(capture, cudaErrorStreamCaptureUnsupported, "a call that is potentially unsafe, or waits for the device");
  };
  if (wholeDevice) {
    for (auto& [stream, member] : state().members)
      if (&stream->device() == &currentDevice()) forbid(*member.capture);
    return error;
  }
  if (threadState.captureMode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  for (const auto& capture : state().active) {
    const bool own = capture->thread == std::this_thread::get_id();
    const bool forbids = own ? capture->mode != cudaStreamCaptureModeRelaxed
                             : threadState.captureMode == cudaStreamCaptureModeGlobal && capture->mode == cudaStreamCaptureModeGlobal;
    if (forbids) forbid(*capture);
  }
  return error;
}

cudaError_t recordSlowly(cudaEvent_t event, client::Stream& stream, bool external, bool* done) {
  *done = false;
  Capturing capturing;
  if (const cudaError_t error = interceptSlowly(stream, &capturing); error != cudaSuccess) return error;
  if (!capturing) {
    const auto lock = lockGraphs();
    state().events.erase(event);
    recount();
    return external ? cudaErrorIllegalState : cudaSuccess;
  }
  *done = true;
  if (external) {
    (void)capturing.add(RecordParams{event});
    return cudaSuccess;
  }
  Member& member = *memberOf(stream);
  state().events[event] = {member.capture, member.dependencies};
  recount();
  return cudaSuccess;
}

cudaError_t waitSlowly(client::Stream& stream, cudaEvent_t event, bool recorded, bool external, bool* done) {
  const auto lock = lockGraphs();
  *done = false;
  Member* member = memberOf(stream);
  if (member != nullptr && member->capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (member != nullptr && external) {
    Capturing capturing;
    if (const cudaError_t error = interceptSlowly(stream, &capturing); error != cudaSuccess) return error;
    (void)capturing.add(WaitParams{event});
    *done = true;
    return cudaSuccess;
  }
  const auto found = state().events.find(event);
  if (found == state().events.end()) {
    if (member == nullptr) return stream.legacy() ? checkLegacy(stream.device()) : cudaSuccess;
    *done = true;
    if (!recorded) return cudaSuccess;
    return invalidate(*member->capture, cudaErrorStreamCaptureIsolation, "a capturing stream waits for an event from outside the capture");
  }
  *done = true;
  CapturedEvent& captured = found->second;
  const std::shared_ptr<Capture> capture = captured.capture;
  if (!state().active.contains(capture)) return cudaErrorCapturedEvent;
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (stream.legacy()) return invalidate(*capture, cudaErrorStreamCaptureImplicit, "the legacy stream would join it");
  if (member != nullptr && member->capture != capture) {
    (void)invalidate(*member->capture, cudaErrorStreamCaptureMerge, "it waits for another capture");
    return invalidate(*capture, cudaErrorStreamCaptureMerge, "another capture waits for it");
  }
  if (member == nullptr) {
    member = &state().members[&stream];
    member->capture = capture;
  }
  merge(member->dependencies, captured.dependencies);
  return cudaSuccess;
}

void forgetEvent(cudaEvent_t event) {
  const auto lock = lockGraphs();
  if (state().events.erase(event) != 0) recount();
}

cudaError_t begin(client::Stream& stream, cudaStreamCaptureMode mode, Graph* to, const std::vector<Edge>& dependencies) {
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  if (stream.legacy()) return cudaErrorStreamCaptureUnsupported;
  const auto lock = lockGraphs();
  if (Member* member = memberOf(stream)) return invalidate(*member->capture, cudaErrorIllegalState, "it begins twice");
  if (to != nullptr && to->capturing) return cudaErrorInvalidValue;
  auto capture = std::make_shared<Capture>();
  capture->id = ++state().lastId;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  if (to == nullptr) capture->graph = std::make_shared<Graph>();
  capture->to = to != nullptr ? to : capture->graph.get();
  capture->to->capturing = true;
  state().active.insert(capture);
  state().members[&stream] = {capture, dependencies, {}, {}};
  recount();
  return cudaSuccess;
}

cudaError_t end(client::Stream& stream, cudaGraph_t* graph) {
  const auto lock = lockGraphs();
  Member* member = memberOf(stream);
  if (member == nullptr) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = member->capture;
  if (capture->origin != &stream) return invalidate(*capture, cudaErrorStreamCaptureUnmatched, "it is ended on a stream that it has not begun on");
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id()) return cudaErrorStreamCaptureWrongThread;
  cudaError_t error = capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  if (error == cudaSuccess) {
    const auto past = pastOf(member->dependencies);
    for (const Edge& edge : capture->left)
      if (!past.contains(edge.node)) error = cudaErrorStreamCaptureUnjoined;
    for (const auto& [other, each] : state().members) {
      if (each.capture != capture || other == &stream) continue;
      for (const Edge& edge : each.dependencies)
        if (!past.contains(edge.node)) error = cudaErrorStreamCaptureUnjoined;
    }
  }
  finish(capture);
  if (graph != nullptr) *graph = error == cudaSuccess ? capture->to->handle() : nullptr;
  if (error == cudaSuccess && capture->graph) adopt(capture->graph);
  return error;
}

cudaError_t info(client::Stream& stream, CaptureInfo* info) {
  *info = {};
  if (!anyCapture()) return cudaSuccess;
  const auto lock = lockGraphs();
  Member* member = memberOf(stream);
  // To ask invalidates nothing (CUDA Runtime API, cudaStreamIsCapturing).
  if (member == nullptr) return stream.legacy() && blockingCaptures(stream.device()) ? cudaErrorStreamCaptureImplicit : cudaSuccess;
  info->id = member->capture->id;
  if (member->capture->invalid) {
    info->status = cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
  }
  info->status = cudaStreamCaptureStatusActive;
  info->graph = member->capture->to;
  member->shown.clear();
  member->shownEdges.clear();
  for (const Edge& edge : member->dependencies) {
    member->shown.push_back(edge.node->handle());
    member->shownEdges.push_back(edge.data);
  }
  info->dependencies = member->shown.data();
  info->edges = member->shownEdges.data();
  info->count = member->shown.size();
  return cudaSuccess;
}

cudaError_t updateDependencies(client::Stream& stream, const std::vector<Edge>& dependencies, bool replace) {
  const auto lock = lockGraphs();
  Member* member = memberOf(stream);
  if (member == nullptr) return cudaErrorIllegalState;
  if (member->capture->invalid) return cudaErrorStreamCaptureInvalidated;
  for (const Edge& edge : dependencies)
    if (edge.node->graph != member->capture->to) return cudaErrorInvalidValue;
  if (replace) member->dependencies.clear();
  merge(member->dependencies, dependencies);
  return cudaSuccess;
}

void leave(client::Stream& stream) {
  if (!anyCapture()) return;
  const auto lock = lockGraphs();
  Member* member = memberOf(stream);
  if (member == nullptr) return;
  const std::shared_ptr<Capture> capture = member->capture;
  capture->left.insert(capture->left.end(), member->dependencies.begin(), member->dependencies.end());
  state().members.erase(&stream);
  if (capture->origin == &stream) finish(capture);  // nobody could end it
}

}  // namespace rouse::cudart::graph

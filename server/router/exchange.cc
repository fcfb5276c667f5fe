#include "server/router/exchange.h"

#include <algorithm>

namespace rouse::router {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A body, either way, that comes in more slowly than this for longer than body_timeout is given up, however regular its
// drops.
constexpr double kLeastBytesPerSecond = 8192;
constexpr unsigned kMostNotTaken = 8;  // connections that the function did not take

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Exchange::Exchange(Core& core, ClientStream& client, RequestParser& request, const Route& route,
                   std::shared_ptr<const Target> target, std::string requestId)
    : core_(core),
      client_(client),
      request_(request),
      target_(std::move(target)),
      requestId_(std::move(requestId)),
      number_(core.nextRequest++),
      arrived_(Clock::now()),
      wake_(core.io) {
  const std::string_view given = text(request.get()["traceparent"]);
  traceparent_ = isTraceparent(given) ? std::string(given) : core.ids.traceparent();
  head_ = requestHead(request.get(), {.target = route.target,
                                      .prefix = route.prefix,
                                      .client = client_.address(),
                                      .requestId = requestId_,
                                      .traceparent = traceparent_});
  core_.history.begin(number_, requestId_, traceparent_, target_->name, arrived_, target_->deadline);
  method_ = request.get().method();
  oldClient_ = request.get().version() < 11;
  mayKeepAlive_ = request.get().keep_alive();
  client_.setInterrupt([this] { interrupt(); });
}

Exchange::~Exchange() {
  client_.setInterrupt(nullptr);
  client_.unwatch();
  core_.heldBytes -= held_.size();
  if (inside_) core_.gate.leave(ticket_, Outcome::cancelled);
}

// The client has gone, or time is up: nothing that is waited for here will be waited for any longer.
void Exchange::interrupt() {
  interrupted_ = true;
  wake_.cancel();
  ErrorCode ignored;
  if (backend_) backend_->socket.close(ignored);
}

void Exchange::fail(Outcome outcome, Answer answer) {
  if (!failure_) failure_ = Failure{outcome, std::move(answer)};
}

Clock::time_point Exchange::pieceDeadline(Clock::duration spent, std::uint64_t bytes) const {
  const std::chrono::duration<double> allowed(static_cast<double>(bytes) / kLeastBytesPerSecond);
  const Clock::duration left = core_.options.bodyTimeout + std::chrono::duration_cast<Clock::duration>(allowed) - spent;
  return Clock::now() + std::min<Clock::duration>(core_.options.bodyTimeout, left);
}

asio::awaitable<Exchange::Ending> Exchange::run() {
  bool inside = co_await readAhead();
  if (inside) {
    if (bodyBytes_ != 0) core_.history.note(number_, {.kind = router::Step::Kind::body, .bytes = bodyBytes_});
    unsigned notTaken = 0;
    for (bool again = false;; again = true) {
      inside = co_await enter(again);
      if (!inside) break;
      const Step step = co_await converse();
      co_await endUpload();
      backend_.reset();
      response_.reset();
      const Outcome outcome = failure_ ? failure_->outcome : outcome_;
      if (outcome == Outcome::failed) core_.onFailure(target_->name);
      inside_ = false;
      stages_ = core_.gate.stages(ticket_);
      core_.gate.leave(ticket_, outcome);
      if (step == Step::done) break;
      if (step == Step::notTaken && ++notTaken >= kMostNotTaken) break;
      if (step == Step::tryAgain) {
        tried_ = true;
        if (core_.directory.losses(target_->name) != lossesBefore_) failedOn_ = gpu_;
        ++core_.metrics.of(target_->name).retries;
      }
      if (client_.gone() || client_.expired()) break;
      core_.history.note(number_, {.kind = router::Step::Kind::again,
                                   .text = failure_ ? failure_->answer.body : "the function had not taken it"});
      failure_.reset();
    }
  }
  co_return finish();
}

asio::awaitable<bool> Exchange::enter(bool again) {
  client_.watch();
  admission_.reset();
  ticket_ = core_.gate.enter({.function = target_->name,
                              .request = number_,
                              .arrived = arrived_,
                              .deadline = arrived_ + target_->deadline,
                              .giveUp = arrived_ + target_->queueTimeout,
                              .again = again,
                              .failedOn = failedOn_},
                             [this](Admission admission) {
                               admission_ = std::move(admission);
                               wake_.cancel();
                             });
  while (!admission_ && !interrupted_) {
    wake_.expires_at(Time::max());
    ErrorCode ignored;
    co_await wake_.async_wait(into(ignored));
  }
  if (!admission_) core_.gate.cancel(ticket_);
  inside_ = admission_ && std::holds_alternative<Admitted>(*admission_);
  if (interrupted_) {
    if (inside_) {
      inside_ = false;
      core_.gate.leave(ticket_, Outcome::cancelled);
    }
    fail(Outcome::cancelled, errorAnswer(408, "the client went away"));
    co_return false;
  }
  if (inside_) {
    admitted_ = Clock::now();
    gpu_ = std::get<Admitted>(*admission_).gpu;
    core_.history.note(number_, {.kind = router::Step::Kind::admitted,
                                 .at = admitted_,
                                 .gpu = gpu_.value_or(router::Step::kNoGpu)});
    if (!again) queueSeconds_ = seconds(admitted_ - arrived_);
    co_return true;
  }
  const Refused& refused = std::get<Refused>(*admission_);
  core_.history.note(number_, {.kind = router::Step::Kind::refused,
                               .count = static_cast<std::uint32_t>(refused.retryAfter.count()),
                               .code = name(refused.reason)});
  const char* why = "";
  switch (refused.reason) {
    case RefusalReason::queueFull:
      why = "its queue is full";
      break;
    case RefusalReason::waitedTooLong:
      why = "it could not be admitted in time";
      break;
    case RefusalReason::hopeless:
      why = "its deadline cannot be met";
      break;
    case RefusalReason::stopped:
      why = "the function is stopped";
      break;
    case RefusalReason::closing:
      why = "the server is shutting down";
      break;
  }
  // After a first try it is the function that failed.
  Answer answer = errorAnswer(tried_ ? 502 : 503,
                              tried_ ? "the function '" + target_->name + "' failed, and was not back for a second try"
                                     : "the request to '" + target_->name + "' was refused: " + why);
  answer.retryAfter = refused.retryAfter;
  fail(tried_ ? Outcome::failed : Outcome::refused, std::move(answer));
  co_return false;
}

bool Exchange::heldWhole() const { return request_.is_done() && held_.size() == bodyBytes_; }

bool Exchange::mayTryAgain() const {
  return target_->retry && !tried_ && heldWhole() && !headSent_ && !client_.gone() && !client_.expired();
}

// One try: from a connection to the end of the answer.
asio::awaitable<Exchange::Step> Exchange::converse() {
  lossesBefore_ = core_.directory.losses(target_->name);
  for (;;) {
    backend_ = core_.backends.takeKept(*target_);
    if (!backend_) co_await connect();
    if (!backend_) co_return client_.gone() || client_.expired() ? Step::done : Step::notTaken;
    const ErrorCode written = co_await sendRequest();
    // Also after an error: it may have answered what it did not want to read.
    const ErrorCode read = co_await readResponseHead();
    if (read) {
      co_await endUpload();
      const Step step = onNoHead(written, read);
      if (step == Step::notTaken) continue;
      co_return step;
    }
    break;
  }
  core_.history.note(number_, {.kind = router::Step::Kind::head, .count = response_->get().result_int()});
  if (auto fault = faultOfHead()) {
    fail(Outcome::failed, errorAnswer(502, "the answer of '" + target_->name + "' is no HTTP: " + *fault));
    co_return mayTryAgain() ? Step::tryAgain : Step::done;
  }
  if (response_->get().result_int() >= 500 && mayTryAgain() && core_.directory.losses(target_->name) != lossesBefore_) {
    fail(Outcome::failed, errorAnswer(502, "the GPU of '" + target_->name + "' was lost"));
    co_return Step::tryAgain;
  }
  co_await relayResponse();
  co_return Step::done;
}

asio::awaitable<void> Exchange::connect() {
  auto connected = co_await core_.backends.connect(
      target_, Clock::now() + std::min<std::chrono::milliseconds>(target_->timeout, 1s));
  if (interrupted_) {
    fail(Outcome::cancelled, errorAnswer(408, "the client went away"));
    co_return;
  }
  if (!connected) {
    Answer answer = errorAnswer(502, "'" + target_->name + "' cannot be reached: " + connected.error().message);
    answer.retryAfter = 1s;
    fail(Outcome::failed, std::move(answer));
    co_return;
  }
  backend_ = std::move(*connected);
}

Exchange::Ending Exchange::finish() {
  client_.deadline().none();
  client_.unwatch();
  client_.setInterrupt(nullptr);
  FunctionMetrics& metrics = core_.metrics.of(target_->name);
  const Outcome outcome = failure_ ? failure_->outcome : outcome_;
  const auto now = Clock::now();
  ++metrics.requests[static_cast<std::size_t>(outcome)];
  metrics.requestBytes += bodyBytes_;
  metrics.responseBytes += responseBytes_;
  if (admitted_ != Time{}) {
    metrics.queue.add(queueSeconds_);
    metrics.run.add(seconds(now - admitted_));
    if (gpu_) core_.metrics.ran(*gpu_, seconds(now - admitted_));
  }
  if (answered_) {
    metrics.whole.add(seconds(now - arrived_));
    if (now - arrived_ > target_->deadline) ++metrics.late;
  }
  metrics.add(stages_, arrived_, admitted_, now);
  // What the client did is nobody's failure.
  if (outcome != Outcome::cancelled && outcome != Outcome::invalid)
    metrics.recent.add(now, outcome == Outcome::answered ? std::optional(now - arrived_) : std::nullopt, target_->deadline);
  const bool told = failure_ && !truncated_ && outcome != Outcome::cancelled;
  core_.history.end(number_, outcome, told ? failure_->answer.status : status_, stages_, admitted_, now);
  Ending ending;
  if (!failure_) {
    ending.keepAlive = keepAlive_;
  } else if (truncated_) {
    client_.abort();
  } else if (outcome != Outcome::cancelled) {
    ending.answer = std::move(failure_->answer);
    ending.keepAlive = request_.is_done() && mayKeepAlive_;
  } else {
    client_.close();
  }
  return ending;
}

}  // namespace rouse::router

#include "server/router/exchange.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>

namespace rouse::router {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A body, either way, that comes in more slowly than this for longer than body_timeout is given up, however regular its drops.
constexpr double kLeastBytesPerSecond = 8192;
constexpr unsigned kMostInformational = 8;  // answers of 1xx before the answer
constexpr unsigned kMostNotTaken = 8;       // connections that the function did not take
constexpr std::size_t kInOneWrite = 65536;  // of a held body, together with the head; more is sent beside the answer
constexpr std::uint32_t kMostResponseHead = 65536;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

std::string_view sizeLine(std::array<char, 24>& to, std::size_t bytes, bool first) {
  const int length = std::snprintf(to.data(), to.size(), first ? "%zx\r\n" : "\r\n%zx\r\n", bytes);
  return {to.data(), static_cast<std::size_t>(length)};
}

// The connection has ended, in whatever way; anything else is about what came over it.
bool isEnd(const ErrorCode& error) {
  return error == http::error::partial_message || error == http::error::end_of_stream ||
         error.category() != http::make_error_code(http::error::end_of_stream).category();
}

asio::const_buffer view(std::string_view text) { return asio::buffer(text.data(), text.size()); }

}  // namespace

Exchange::Exchange(Core& core, ClientStream& client, RequestParser& request, const Route& route, std::shared_ptr<const Target> target,
                   std::string requestId)
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

Clock::time_point Exchange::pieceDeadline(Clock::time_point since, std::uint64_t bytes) const {
  const auto whole = since + core_.options.bodyTimeout +
                     std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(static_cast<double>(bytes) / kLeastBytesPerSecond));
  return std::min(Clock::now() + core_.options.bodyTimeout, whole);
}

asio::awaitable<Exchange::Ending> Exchange::run() {
  bool inside = co_await readAhead();
  if (inside) {
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
      core_.gate.leave(ticket_, outcome);
      if (step == Step::done) break;
      if (step == Step::notTaken && ++notTaken >= kMostNotTaken) break;
      if (step == Step::tryAgain) {
        tried_ = true;
        ++core_.metrics.of(target_->name).retries;
      }
      if (client_.gone() || client_.expired()) break;
      failure_.reset();
    }
  }
  co_return finish();
}

asio::awaitable<bool> Exchange::readAhead() {
  const auto length = request_.content_length();
  if (length && *length > target_->maxBody) {
    fail(Outcome::invalid, errorAnswer(413, "a body of " + std::to_string(*length) + " bytes, the limit of '" + target_->name + "' is " +
                                                std::to_string(target_->maxBody)));
    co_return false;
  }
  framing_ = length ? Framing::length : request_.chunked() ? Framing::chunked : Framing::none;
  if (request_.is_done()) co_return true;
  const auto expect = request_.get()[http::field::expect];
  if (!expect.empty()) {
    if (!boost::beast::iequals(expect, "100-continue")) {
      fail(Outcome::invalid, errorAnswer(417, "an expectation other than 100-continue"));
      co_return false;
    }
    if (client_.buffer().size() == 0 && !oldClient_) {
      const std::vector<asio::const_buffer> go{view("HTTP/1.1 100 Continue\r\n\r\n")};
      const bool sent = co_await writeClient(go);
      if (!sent) co_return false;
    }
  }
  const Clock::time_point since = Clock::now();
  // As much at once as has been promised; a client that promises a lot and sends nothing has little kept for it.
  while (!request_.is_done() && held_.size() < kHeldBytes && core_.heldBytes + kPieceBytes <= kHeldBytesOfAll) {
    const std::size_t before = held_.size();
    const std::size_t piece = std::min(kPieceBytes, kHeldBytes - before);
    held_.resize(before + piece);
    core_.heldBytes += piece;
    client_.deadline().at(pieceDeadline(since, before));
    ErrorCode error;
    const std::size_t got = co_await readPiece(client_.socket(), client_.buffer(), request_, asio::buffer(held_.data() + before, piece), error);
    held_.resize(before + got);
    core_.heldBytes -= piece - got;
    bodyBytes_ += got;
    client_.deadline().none();
    if (bodyBytes_ > target_->maxBody) {
      fail(Outcome::invalid, errorAnswer(413, "a body longer than the limit of '" + target_->name + "', " + std::to_string(target_->maxBody) + " bytes"));
    } else if (client_.expired()) {
      fail(Outcome::invalid, errorAnswer(408, "the body comes too slowly"));
    } else if (error) {
      fail(isEnd(error) ? Outcome::cancelled : Outcome::invalid, errorAnswer(400, "the body is not what its head says: " + error.message()));
    }
    if (failure_) co_return false;
  }
  // What is held whole has a known length.
  if (request_.is_done()) framing_ = Framing::length;
  co_return true;
}

asio::awaitable<bool> Exchange::enter(bool again) {
  client_.watch();
  admission_.reset();
  ticket_ = core_.gate.enter({.function = target_->name,
                              .request = number_,
                              .arrived = arrived_,
                              .deadline = arrived_ + target_->deadline,
                              .giveUp = arrived_ + target_->queueTimeout,
                              .again = again},
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
    if (!again) queueSeconds_ = seconds(admitted_ - arrived_);
    co_return true;
  }
  const Refused& refused = std::get<Refused>(*admission_);
  const char* why = "";
  switch (refused.reason) {
    case RefusalReason::queueFull: why = "its queue is full"; break;
    case RefusalReason::waitedTooLong: why = "it could not be admitted in time"; break;
    case RefusalReason::hopeless: why = "its deadline cannot be met"; break;
    case RefusalReason::stopped: why = "the function is stopped"; break;
    case RefusalReason::closing: why = "the server is shutting down"; break;
  }
  // After a first try it is the function that failed.
  Answer answer = errorAnswer(tried_ ? 502 : 503, tried_ ? "the function '" + target_->name + "' failed, and was not back for a second try"
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
  auto connected = co_await core_.backends.connect(target_, Clock::now() + std::min<std::chrono::milliseconds>(target_->timeout, 1s));
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

// The head and the beginning of the body. The rest, if there is one, follows beside the answer.
asio::awaitable<ErrorCode> Exchange::sendRequest() {
  const std::string framing = framingLines(framing_, request_.is_done() ? bodyBytes_ : request_.content_length().value_or(0));
  const std::size_t together = std::min(held_.size(), kInOneWrite);
  std::array<char, 24> line;
  std::vector<asio::const_buffer> buffers{view(head_), view(framing)};
  if (framing_ == Framing::chunked && together > 0) buffers.push_back(view(sizeLine(line, together, true)));
  if (together > 0) buffers.push_back(asio::buffer(held_.data(), together));
  if (framing_ == Framing::chunked && together > 0) buffers.push_back(view("\r\n"));
  client_.deadline().after(target_->timeout);
  ErrorCode error;
  co_await asio::async_write(backend_->socket, buffers, into(error));
  if (!error && (together < held_.size() || !request_.is_done())) {
    uploading_ = true;
    asio::co_spawn(core_.io, upload(together), asio::detached);
  }
  co_return error;
}

asio::awaitable<void> Exchange::upload(std::size_t sent) {
  ErrorCode error;
  std::array<char, 24> line;
  const bool chunked = framing_ == Framing::chunked;
  const auto send = [&](const char* data, std::size_t size) -> asio::awaitable<void> {
    std::vector<asio::const_buffer> buffers;
    if (chunked) buffers.push_back(view(sizeLine(line, size, true)));
    buffers.push_back(asio::buffer(data, size));
    if (chunked) buffers.push_back(view("\r\n"));
    client_.deadline().after(target_->timeout);
    co_await asio::async_write(backend_->socket, buffers, into(error));
  };
  while (sent < held_.size() && !error) {
    const std::size_t piece = std::min(held_.size() - sent, kInOneWrite);
    co_await send(held_.data() + sent, piece);
    sent += piece;
  }
  std::vector<char> piece(request_.is_done() ? 0 : kPieceBytes);
  const Clock::time_point since = Clock::now();
  const std::uint64_t before = bodyBytes_;
  while (!error && !request_.is_done() && !interrupted_) {
    uploadReads_ = true;
    client_.deadline().at(pieceDeadline(since, bodyBytes_ - before));
    ErrorCode reading;
    const std::size_t got = co_await readPiece(client_.socket(), client_.buffer(), request_, asio::buffer(piece), reading);
    uploadReads_ = false;
    bodyBytes_ += got;
    if (interrupted_) break;
    if (reading || bodyBytes_ > target_->maxBody) {
      // The function is not to take what it has for all of it.
      if (!reading) {
        fail(Outcome::invalid, errorAnswer(413, "a body longer than the limit of '" + target_->name + "', " + std::to_string(target_->maxBody) + " bytes"));
      } else if (isEnd(reading)) {
        fail(Outcome::cancelled, errorAnswer(400, "the client went away"));
      } else {
        fail(Outcome::invalid, errorAnswer(400, "the body is not what its head says: " + reading.message()));
      }
      interrupt();
      break;
    }
    if (got > 0) co_await send(piece.data(), got);
  }
  if (!error && !interrupted_ && chunked) co_await asio::async_write(backend_->socket, view("0\r\n\r\n"), into(error));
  // From here on it is the function's time that counts, and the client has nothing more to say.
  if (!interrupted_ && request_.is_done()) {
    client_.deadline().after(target_->timeout);
  }
  uploading_ = false;
  wake_.cancel();
}

asio::awaitable<void> Exchange::endUpload() {
  if (!uploading_) co_return;
  ErrorCode ignored;
  if (backend_) backend_->socket.close(ignored);
  client_.socket().cancel(ignored);
  interrupted_ = true;
  while (uploading_) {
    wake_.expires_at(Time::max());
    co_await wake_.async_wait(into(ignored));
  }
  interrupted_ = client_.gone() || client_.expired();
}

asio::awaitable<ErrorCode> Exchange::readResponseHead() {
  ErrorCode error;
  for (unsigned i = 0; i <= kMostInformational; ++i) {
    response_.emplace();
    response_->header_limit(kMostResponseHead);
    response_->body_limit(boost::none);
    if (method_ == http::verb::head) response_->skip(true);
    co_await http::async_read_header(backend_->socket, backend_->buffer, *response_, into(error));
    if (error || response_->get().result_int() >= 200 || response_->get().result_int() == 101) co_return error;
  }
  co_return http::error::bad_status;
}

// No answer: whose fault is it, and has the function had the request?
Exchange::Step Exchange::onNoHead(const ErrorCode& write, const ErrorCode& read) {
  if (failure_) return Step::done;  // the upload says why
  if (client_.expired()) {
    if (uploadReads_) {
      fail(Outcome::invalid, errorAnswer(408, "the body comes too slowly"));
    } else {
      fail(Outcome::timedOut, errorAnswer(504, "'" + target_->name + "' has not answered within " + std::to_string(target_->timeout.count()) + " ms"));
    }
    return Step::done;
  }
  if (client_.gone()) {
    fail(Outcome::cancelled, errorAnswer(408, "the client went away"));
    return Step::done;
  }
  const bool garbage = response_->got_some();
  fail(Outcome::failed, errorAnswer(502, garbage ? "the answer of '" + target_->name + "' is no HTTP: " + read.message()
                                                 : "'" + target_->name + "' has closed the connection without an answer"));
  // A Unix socket is reset when its other end is closed with bytes in it that nobody has read: the request was not, not to its end.
  const bool unread = !garbage && (write || read == asio::error::connection_reset || read == asio::error::broken_pipe);
  if (unread && backend_->used && heldWhole()) {
    failure_.reset();
    return Step::notTaken;
  }
  return mayTryAgain() ? Step::tryAgain : Step::done;
}

std::optional<std::string> Exchange::faultOfHead() const {
  const auto& response = response_->get();
  if (response.result_int() == 101) return "it switches protocols, which it was not asked for";
  const auto lengths = response.count(http::field::content_length), codings = response.count(http::field::transfer_encoding);
  if (lengths > 1) return "Content-Length is given twice";
  if (lengths != 0 && codings != 0) return "Content-Length together with Transfer-Encoding";
  if (codings > 1 || (codings == 1 && !boost::beast::iequals(response[http::field::transfer_encoding], "chunked")))
    return "a Transfer-Encoding other than chunked";
  return std::nullopt;
}

asio::awaitable<bool> Exchange::writeClient(const std::vector<asio::const_buffer>& buffers) {
  ErrorCode error;
  co_await asio::async_write(client_.socket(), buffers, into(error));
  if (error || client_.closed()) fail(Outcome::cancelled, errorAnswer(408, "the client went away"));
  co_return !failure_;
}

asio::awaitable<void> Exchange::relayResponse() {
  ResponseParser& response = *response_;
  const unsigned status = response.get().result_int();
  const bool bodiless = method_ == http::verb::head || status == 204 || status == 304;
  ResponsePassage passage{.requestId = requestId_,
                          .framing = Framing::none,
                          .length = std::nullopt,
                          .keepAlive = request_.is_done() && mayKeepAlive_,
                          .clientMinor = oldClient_ ? 0u : 1u};
  if (const auto length = response.content_length(); length && status != 204) passage.length = *length;
  if (!bodiless) passage.framing = passage.length ? Framing::length : oldClient_ ? Framing::close : Framing::chunked;
  if (passage.framing == Framing::close) passage.keepAlive = false;

  std::string head = responseHead(response.get(), passage);
  const bool chunked = passage.framing == Framing::chunked;
  std::vector<char> piece(bodiless ? 0 : kPieceBytes);
  std::array<char, 24> line;
  const Clock::time_point since = Clock::now();
  // Without waiting for a body that has not begun: heads go out as they come.
  bool first = true;
  std::size_t got = 0;
  for (;;) {
    got = 0;
    ErrorCode error;
    if (!bodiless && !response.is_done() && (!first || backend_->buffer.size() != 0)) {
      if (!uploading_) client_.deadline().after(target_->timeout);
      got = co_await readPiece(backend_->socket, backend_->buffer, response, asio::buffer(piece), error);
    }
    if (error) {
      if (client_.gone() && !failure_) fail(Outcome::cancelled, errorAnswer(408, "the client went away"));
      if (!failure_) {
        const bool late = client_.expired();
        fail(late ? Outcome::timedOut : Outcome::failed,
             errorAnswer(late ? 504 : 502, late ? "'" + target_->name + "' does not go on with its answer"
                                                : "'" + target_->name + "' has broken its answer off: " + error.message()));
      }
      truncated_ = headSent_;
      co_return;
    }
    const bool over = bodiless || response.is_done();
    std::vector<asio::const_buffer> buffers;
    if (first) buffers.push_back(view(head));
    if (chunked && got > 0) buffers.push_back(view(sizeLine(line, got, true)));
    if (got > 0) buffers.push_back(asio::buffer(piece.data(), got));
    if (chunked && got > 0) buffers.push_back(view("\r\n"));
    if (chunked && over) buffers.push_back(view("0\r\n\r\n"));
    responseBytes_ += got;
    if (!buffers.empty()) {
      if (!uploading_) client_.deadline().at(pieceDeadline(since, responseBytes_));
      headSent_ = true;
      const bool sent = co_await writeClient(buffers);
      if (!sent) {
        truncated_ = true;
        co_return;
      }
    }
    first = false;
    if (over) break;
  }
  answered_ = true;
  const bool wholeRequest = request_.is_done() && !uploading_;
  if (wholeRequest && response.keep_alive()) core_.backends.keep(*target_, std::move(backend_));
  keepAlive_ = passage.keepAlive && wholeRequest;
  if (status >= 500) outcome_ = Outcome::functionError;
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
  }
  if (answered_) {
    metrics.whole.add(seconds(now - arrived_));
    if (now - arrived_ > target_->deadline) ++metrics.late;
  }
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

// The way back: the head of the answer, what it means that there is none, and the answer as it is passed on.
#include <boost/asio/write.hpp>

#include "server/router/chunk_text.h"
#include "server/router/exchange.h"

namespace rouse::router {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kMostInformational = 8;  // answers of 1xx before the answer
constexpr std::uint32_t kMostResponseHead = 65536;

}  // namespace

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
      fail(Outcome::timedOut, errorAnswer(504, "'" + target_->name + "' has not answered within " +
                                                   std::to_string(target_->timeout.count()) + " ms"));
    }
    return Step::done;
  }
  if (client_.gone()) {
    fail(Outcome::cancelled, errorAnswer(408, "the client went away"));
    return Step::done;
  }
  const bool garbage = response_->got_some();
  fail(Outcome::failed,
       errorAnswer(502, garbage ? "the answer of '" + target_->name + "' is no HTTP: " + read.message()
                                : "'" + target_->name + "' has closed the connection without an answer"));
  // A Unix socket is reset when its other end is closed with bytes in it that nobody has read: the request was not, not
  // to its end.
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
  const auto lengths = response.count(http::field::content_length),
             codings = response.count(http::field::transfer_encoding);
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
  const unsigned status = status_ = response.get().result_int();
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
  SizeLine line;
  Clock::duration writing{};
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
             errorAnswer(late ? 504 : 502,
                         late ? "'" + target_->name + "' does not go on with its answer"
                              : "'" + target_->name + "' has broken its answer off: " + error.message()));
      }
      truncated_ = headSent_;
      co_return;
    }
    const bool over = bodiless || response.is_done();
    std::vector<asio::const_buffer> buffers;
    if (first) buffers.push_back(view(head));
    if (chunked && got > 0) buffers.push_back(view(sizeLine(line, got)));
    if (got > 0) buffers.push_back(asio::buffer(piece.data(), got));
    if (chunked && got > 0) buffers.push_back(view("\r\n"));
    if (chunked && over) buffers.push_back(view("0\r\n\r\n"));
    responseBytes_ += got;
    if (!buffers.empty()) {
      if (!uploading_) client_.deadline().at(pieceDeadline(writing, responseBytes_));
      headSent_ = true;
      const Clock::time_point begun = Clock::now();
      const bool sent = co_await writeClient(buffers);
      writing += Clock::now() - begun;
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

}  // namespace rouse::router

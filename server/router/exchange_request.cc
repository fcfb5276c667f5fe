// The way there: what is read of a request before the gate is asked, and how it is sent.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>

#include "server/router/chunk_text.h"
#include "server/router/exchange.h"

namespace rouse::router {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kInOneWrite = 65536;  // of a held body, together with the head; more is sent beside the answer

// The connection has ended, in whatever way; anything else is about what came over it.
bool isEnd(const ErrorCode& error) {
  return error == http::error::partial_message || error == http::error::end_of_stream ||
         error.category() != http::make_error_code(http::error::end_of_stream).category();
}

}  // namespace

asio::awaitable<bool> Exchange::readAhead() {
  const auto length = request_.content_length();
  if (length && *length > target_->maxBody) {
    fail(Outcome::invalid, errorAnswer(413, "a body of " + std::to_string(*length) + " bytes, the limit of '" +
                                                target_->name + "' is " + std::to_string(target_->maxBody)));
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
    client_.deadline().at(pieceDeadline(Clock::now() - since, before));
    ErrorCode error;
    const std::size_t got = co_await readPiece(client_.socket(), client_.buffer(), request_,
                                               asio::buffer(held_.data() + before, piece), error);
    held_.resize(before + got);
    core_.heldBytes -= piece - got;
    bodyBytes_ += got;
    client_.deadline().none();
    if (bodyBytes_ > target_->maxBody) {
      fail(Outcome::invalid, errorAnswer(413, "a body longer than the limit of '" + target_->name + "', " +
                                                  std::to_string(target_->maxBody) + " bytes"));
    } else if (client_.expired()) {
      fail(Outcome::invalid, errorAnswer(408, "the body comes too slowly"));
    } else if (error) {
      fail(isEnd(error) ? Outcome::cancelled : Outcome::invalid,
           errorAnswer(400, "the body is not what its head says: " + error.message()));
    }
    if (failure_) co_return false;
  }
  // What is held whole has a known length.
  if (request_.is_done()) framing_ = Framing::length;
  co_return true;
}

// The head and the beginning of the body. The rest, if there is one, follows beside the answer.
asio::awaitable<ErrorCode> Exchange::sendRequest() {
  const std::string framing =
      framingLines(framing_, request_.is_done() ? bodyBytes_ : request_.content_length().value_or(0));
  const std::size_t together = std::min(held_.size(), kInOneWrite);
  SizeLine line;
  std::vector<asio::const_buffer> buffers{view(head_), view(framing)};
  if (framing_ == Framing::chunked && together > 0) buffers.push_back(view(sizeLine(line, together)));
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
  SizeLine line;
  const bool chunked = framing_ == Framing::chunked;
  const auto send = [&](const char* data, std::size_t size) -> asio::awaitable<void> {
    std::vector<asio::const_buffer> buffers;
    if (chunked) buffers.push_back(view(sizeLine(line, size)));
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
  Clock::duration reading{};
  const std::uint64_t before = bodyBytes_;
  while (!error && !request_.is_done() && !interrupted_) {
    uploadReads_ = true;
    const Clock::time_point begun = Clock::now();
    client_.deadline().at(pieceDeadline(reading, bodyBytes_ - before));
    ErrorCode broken;
    const std::size_t got =
        co_await readPiece(client_.socket(), client_.buffer(), request_, asio::buffer(piece), broken);
    uploadReads_ = false;
    reading += Clock::now() - begun;
    bodyBytes_ += got;
    if (interrupted_) break;
    if (broken || bodyBytes_ > target_->maxBody) {
      // The function is not to take what it has for all of it.
      if (!broken) {
        fail(Outcome::invalid, errorAnswer(413, "a body longer than the limit of '" + target_->name + "', " +
                                                    std::to_string(target_->maxBody) + " bytes"));
      } else if (isEnd(broken)) {
        fail(Outcome::cancelled, errorAnswer(400, "the client went away"));
      } else {
        fail(Outcome::invalid, errorAnswer(400, "the body is not what its head says: " + broken.message()));
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

}  // namespace rouse::router

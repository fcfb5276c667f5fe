// One request that goes to its function, and the answer that comes back.
//
// The body is read ahead, up to kHeldBytes, before the gate is asked, so that a slow client keeps nobody's GPU; what is
// longer is streamed afterwards, beside the answer. A body that is held whole can be sent a second time: after the
// function's connection has ended early, or its GPU's executor, if the function allows it and nothing of an answer has
// gone out; once. A connection that was not taken at all (refused, or one kept from before whose other end had gone)
// has done nothing, and is tried again in any case.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "server/router/answer.h"
#include "server/router/client_stream.h"
#include "server/router/core.h"
#include "server/router/forward_head.h"
#include "server/router/route.h"

namespace rouse::router {

class Exchange {
 public:
  // `request`: its head is there, and nothing of its body has been read.
  Exchange(Core&, ClientStream&, RequestParser& request, const Route&, std::shared_ptr<const Target>,
           std::string requestId);
  ~Exchange();
  Exchange(const Exchange&) = delete;

  // What is left to be done on the client's connection.
  struct Ending {
    std::optional<Answer>
        answer;              // the router's own, to be sent; nullopt: the function's has been, or nobody wants one
    bool keepAlive = false;  // another request may follow
  };
  asio::awaitable<Ending> run();

 private:
  struct Failure {
    Outcome outcome = Outcome::failed;
    Answer answer;
  };
  enum class Step { done, tryAgain, notTaken };

  asio::awaitable<bool> readAhead();
  asio::awaitable<bool> enter(bool again);
  asio::awaitable<Step> converse();
  asio::awaitable<void> connect();
  asio::awaitable<ErrorCode> sendRequest();
  asio::awaitable<void> upload(std::size_t sent);
  asio::awaitable<void> endUpload();
  asio::awaitable<ErrorCode> readResponseHead();
  Step onNoHead(const ErrorCode& write, const ErrorCode& read);
  std::optional<std::string> faultOfHead() const;
  asio::awaitable<void> relayResponse();
  asio::awaitable<bool> writeClient(const std::vector<asio::const_buffer>&);

  bool heldWhole() const;
  bool mayTryAgain() const;
  void fail(Outcome, Answer);
  void interrupt();
  Ending finish();
  // Until when the next piece has to be there: `spent` has been waited for the client's `bytes` so far.
  std::chrono::steady_clock::time_point pieceDeadline(std::chrono::steady_clock::duration spent,
                                                      std::uint64_t bytes) const;

  Core& core_;
  ClientStream& client_;
  RequestParser& request_;
  std::shared_ptr<const Target> target_;
  std::string requestId_, traceparent_;
  // Of the request's head, before its body adds to it (forward_head.h).
  std::string head_;
  http::verb method_ = http::verb::get;
  bool oldClient_ = false, mayKeepAlive_ = false;
  std::uint64_t number_;
  Time arrived_, admitted_{};
  double queueSeconds_ = 0;

  std::string held_;  // of the body, from its beginning
  std::uint64_t bodyBytes_ = 0, responseBytes_ = 0;
  Framing framing_ = Framing::none;  // of the request, as it goes on

  asio::steady_timer wake_;
  Ticket ticket_ = 0;
  std::optional<Admission> admission_;
  bool inside_ = false;  // admitted, and not left yet
  bool tried_ = false;   // the one second try

  std::unique_ptr<Backend> backend_;
  std::optional<ResponseParser> response_;
  std::uint64_t lossesBefore_ = 0;
  std::optional<std::uint32_t> gpu_, failedOn_;  // of this try; of the one before, where that was lost
  bool uploading_ = false, uploadReads_ = false, interrupted_ = false;
  bool headSent_ = false, truncated_ = false, answered_ = false, keepAlive_ = false;
  Outcome outcome_ = Outcome::answered;
  unsigned status_ = 0;  // of the answer that was passed on
  Stages stages_;        // of the last try
  std::optional<Failure> failure_;
};

}  // namespace rouse::router

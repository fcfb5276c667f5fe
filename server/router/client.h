// One client's connection: requests one after the other, each checked, routed and answered.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/router/client_stream.h"
#include "server/router/core.h"
#include "server/router/exchange.h"

namespace rouse::router {

class Client : public std::enable_shared_from_this<Client> {
 public:
  Client(Core&, Socket, std::string address);

  // `over` is called once, when nothing of it is pending any more.
  void start(std::function<void(Client&)> over);
  void close() { stream_.close(); }
  // No more requests after the one that is being answered.
  void drain();

 private:
  asio::awaitable<void> run();
  enum class Head {
    good,  // in request_; nothing of its body has been read
    bad,   // refusal_ says why
    none,  // the connection is over
  };
  asio::awaitable<Head> readHead();
  Head takeHead(std::size_t size);
  Head refuse(unsigned status, const std::string& what);
  asio::awaitable<bool> serve();
  asio::awaitable<bool> answer(const Answer&, bool keepAlive);
  asio::awaitable<void> linger();
  Answer own(const Route&) const;

  Core& core_;
  ClientStream stream_;
  std::optional<RequestParser> request_;
  std::optional<Answer> refusal_;
  std::string requestId_;
  bool draining_ = false, idle_ = false;
};

}  // namespace rouse::router

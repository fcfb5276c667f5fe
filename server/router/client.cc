#include "server/router/client.h"

#include <spdlog/spdlog.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

#include "server/roused/version.h"
#include "server/router/repository_request.h"
#include "server/router/request_head.h"

namespace rouse::router {
namespace {

using namespace std::chrono_literals;

// What is still read from a client that was told off, so that it reads why before its connection is reset.
constexpr std::size_t kLingerBytes = std::size_t{1} << 20;
constexpr auto kLinger = 2s;

std::string_view bytes(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

}  // namespace

Client::Client(Core& core, Socket socket, std::string address)
    : core_(core), stream_(core.io, std::move(socket), std::move(address), core.options.maxHeader + 2 * kPieceBytes) {}

void Client::start(std::function<void(Client&)> over) {
  asio::co_spawn(core_.io, run(),
                 [self = shared_from_this(), over = std::move(over)](const std::exception_ptr& thrown) {
                   try {
                     if (thrown) std::rethrow_exception(thrown);
                   } catch (const std::exception& error) {
                     spdlog::error("router: a connection ended by an error of ours: {}", error.what());
                   }
                   self->close();
                   over(*self);
                 });
}

void Client::drain() {
  draining_ = true;
  if (idle_) close();
}

// GCC 12 destroys what is awaited in the condition of a loop before it resumes: everything here is awaited in
// statements of its own.
asio::awaitable<void> Client::run() {
  for (bool more = true; more;) {
    const Head head = co_await readHead();
    more = head != Head::none;
    if (head == Head::bad) more = co_await answer(*refusal_, false);
    if (head == Head::good) more = co_await serve();
  }
  if (!stream_.closed()) co_await linger();
  stream_.close();
}

Client::Head Client::refuse(unsigned status, const std::string& what) {
  refusal_ = errorAnswer(status, what);
  return Head::bad;
}

asio::awaitable<Client::Head> Client::readHead() {
  const std::size_t limit = core_.options.maxHeader;
  std::size_t searched = 0;
  bool begun = false;
  requestId_.clear();
  request_.reset();
  stream_.clearExpired();
  stream_.deadline().after(core_.options.idleTimeout);
  auto& buffer = stream_.buffer();
  for (;;) {
    // RFC 9112 §2.2: an empty line before a request is overlooked. One.
    if (!begun && bytes(buffer).starts_with("\r\n")) buffer.consume(2);
    if (buffer.size() > 0 && !begun) {
      begun = true;
      stream_.deadline().after(core_.options.headerTimeout);
    }
    const std::size_t end = endOfHead(bytes(buffer), searched);
    if ((end != std::string_view::npos ? end : buffer.size()) > limit)
      co_return refuse(431, "a head longer than " + std::to_string(limit) + " bytes (router.max_header)");
    if (end != std::string_view::npos) co_return takeHead(end);
    if (draining_ && !begun) co_return Head::none;
    searched = buffer.size();
    ErrorCode error;
    idle_ = !begun;
    const auto space = buffer.prepare(std::min<std::size_t>(4096, limit + 1024 - buffer.size()));
    const std::size_t got = co_await stream_.socket().async_read_some(space, into(error));
    idle_ = false;
    if (error && stream_.expired() && begun) co_return refuse(408, "the head comes too slowly");
    if (error) {
      stream_.close();
      co_return Head::none;
    }
    buffer.commit(got);
  }
}

Client::Head Client::takeHead(std::size_t size) {
  auto& buffer = stream_.buffer();
  const std::string_view head = bytes(buffer).substr(0, size);
  if (const auto bad = checkRequestHead(head)) return refuse(bad->status, bad->what);
  request_.emplace();
  request_->header_limit(core_.options.maxHeader);
  request_->body_limit(boost::none);
  ErrorCode error;
  const std::size_t read = request_->put(asio::buffer(head.data(), head.size()), error);
  if (error || read != head.size() || !request_->is_header_done()) {
    request_.reset();
    return refuse(400, "the head is no HTTP: " + (error ? error.message() : "it ends elsewhere"));
  }
  buffer.consume(size);
  stream_.deadline().none();
  return Head::good;
}

// What the router answers itself.
Answer Client::own(const Route& route) const {
  const Directory& directory = core_.directory;
  const auto yesOrNo = [](bool yes) { return Answer{.status = yes ? 200u : 400u, .body = "", .retryAfter = {}}; };
  switch (route.kind) {
    case Route::Kind::live:
      return yesOrNo(true);
    case Route::Kind::ready:
      return yesOrNo(directory.allReady());
    case Route::Kind::modelReady:
      if (!directory.find(route.function)) break;
      return yesOrNo(directory.ready(route.function));
    case Route::Kind::server: {
      auto extensions = nlohmann::json::array();
      if (servesRepository(core_)) extensions.push_back("model_repository");
      return {.status = 200,
              .body = nlohmann::json{{"name", "rouse"}, {"version", daemon::kVersion}, {"extensions", std::move(extensions)}}.dump(),
              .retryAfter = {}};
    }
    default:
      break;
  }
  if (!route.function.empty() && !ofRepository(route)) return errorAnswer(404, "no function '" + route.function + "'");
  return errorAnswer(404, "nothing is served here; functions are at /v2/models/FUNCTION/infer and /fn/FUNCTION/");
}

asio::awaitable<bool> Client::serve() {
  const auto& request = request_->get();
  const std::string_view given = text(request["X-Request-Id"]);
  requestId_ = isRequestId(given) ? std::string(given) : core_.ids.requestId();
  Route route = router::route(text(request.target()));
  bool keepAlive = request.keep_alive();
  Answer reply;
  auto target = route.kind == Route::Kind::forward ? core_.directory.find(route.function) : nullptr;
  if (target) {
    Exchange exchange(core_, stream_, *request_, route, std::move(target), requestId_);
    Exchange::Ending ending = co_await exchange.run();
    keepAlive = ending.keepAlive && !draining_;
    if (!ending.answer) co_return keepAlive;
    reply = std::move(*ending.answer);
  } else if (ofRepository(route) && servesRepository(core_)) {
    reply = co_await answerRepository(core_, stream_, *request_, route);
    core_.metrics.countOther(reply.status);
  } else {
    const bool reads = request.method() == http::verb::get || request.method() == http::verb::head;
    const bool ours = route.kind != Route::Kind::unknown && route.kind != Route::Kind::forward && !ofRepository(route);
    reply = ours && !reads ? errorAnswer(405, "only GET and HEAD are served here") : own(route);
    core_.metrics.countOther(reply.status);
  }
  const bool more = co_await answer(reply, keepAlive && !draining_);
  co_return more;
}

// A body that nobody has read ends the connection: it would be taken for the next request.
asio::awaitable<bool> Client::answer(const Answer& reply, bool keepAlive) {
  if (!request_) core_.metrics.countOther(reply.status);
  keepAlive = keepAlive && request_ && request_->is_done();
  const bool head = request_ && request_->get().method() == http::verb::head;
  const std::string message = serialize(reply, requestId_, keepAlive, head);
  stream_.clearExpired();
  stream_.deadline().after(core_.options.bodyTimeout);
  ErrorCode error;
  co_await asio::async_write(stream_.socket(), asio::buffer(message), into(error));
  stream_.deadline().none();
  if (error) stream_.close();
  co_return keepAlive && !error;
}

asio::awaitable<void> Client::linger() {
  ErrorCode error;
  stream_.socket().shutdown(asio::socket_base::shutdown_send, error);
  stream_.clearExpired();
  stream_.deadline().after(kLinger);
  std::vector<char> discarded(8192);
  for (std::size_t left = kLingerBytes; !error && left > 0;) {
    const std::size_t got = co_await stream_.socket().async_read_some(asio::buffer(discarded), into(error));
    left -= std::min(left, got);
  }
}

}  // namespace rouse::router

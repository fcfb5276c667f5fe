#include "server/router/repository_request.h"

#include <spdlog/spdlog.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace rouse::router {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRequestBytes = 65536;  // of a body
// Loads and unloads that are under way at a time, those included whose clients have gone.
constexpr std::size_t kMostLoading = 64;

// Who is asked, and the one who asks: whichever of them is over first.
struct PendingMove {
  explicit PendingMove(asio::io_context& io) : wake(io) {}
  asio::steady_timer wake;
  std::optional<Status> result;
  bool interrupted = false;
};

// Why this client may not do it; nullopt: it may.
std::optional<Answer> refusal(const Core& core, ClientStream& stream, const http::request<http::buffer_body>& request, const Route& route) {
  if (request.method() != http::verb::post) return errorAnswer(405, "only POST is served here");
  if (route.kind == Route::Kind::index) return std::nullopt;
  // A page in somebody's browser can send this to any address that the browser reaches.
  if (request.find(http::field::origin) != request.end())
    return errorAnswer(403, "requests of web pages (Origin) cannot load or unload");
  switch (core.options.repository) {
    case RepositoryAccess::all:
      return std::nullopt;
    case RepositoryAccess::socket: {
      ErrorCode error;
      if (stream.socket().local_endpoint(error).protocol().family() == AF_UNIX && !error) return std::nullopt;
      return errorAnswer(403, "functions are loaded and unloaded over the Unix socket only (router.repository)");
    }
    default:
      return errorAnswer(403, "functions cannot be loaded or unloaded over HTTP here (router.repository)");
  }
}

// All of the body into `body`; an answer if it cannot be had.
asio::awaitable<std::optional<Answer>> readBody(const Core& core, ClientStream& stream, RequestParser& request, std::string& body) {
  const auto length = request.content_length();
  const auto tooLong = [] { return errorAnswer(413, "a body longer than the limit here, " + std::to_string(kMostRequestBytes) + " bytes"); };
  if (length && *length > kMostRequestBytes) co_return tooLong();
  const auto expect = request.get()[http::field::expect];
  if (!request.is_done() && !expect.empty()) {
    if (!boost::beast::iequals(expect, "100-continue")) co_return errorAnswer(417, "an expectation other than 100-continue");
    if (request.get().version() >= 11) {
      static constexpr std::string_view kGo = "HTTP/1.1 100 Continue\r\n\r\n";
      ErrorCode error;
      stream.deadline().after(core.options.bodyTimeout);
      co_await asio::async_write(stream.socket(), asio::buffer(kGo), into(error));
      if (error) co_return errorAnswer(408, "the client went away");
    }
  }
  stream.deadline().after(core.options.bodyTimeout);  // for all of it
  std::string piece(4096, '\0');
  std::optional<Answer> failure;
  while (!request.is_done() && !failure) {
    ErrorCode error;
    const std::size_t got = co_await readPiece(stream.socket(), stream.buffer(), request, asio::buffer(piece), error);
    body.append(piece, 0, got);
    if (body.size() > kMostRequestBytes)
      failure = tooLong();
    else if (stream.expired())
      failure = errorAnswer(408, "the body comes too slowly");
    else if (error)
      failure = errorAnswer(400, "the body is not what its head says: " + error.message());
  }
  stream.deadline().none();
  co_return failure;
}

// What is wrong with the object of a load or unload; empty: nothing. A parameter that changes nothing here may be there; one that would
// have to is refused.
std::string faultOf(const json& object, const Route& route) {
  const auto parameters = object.find("parameters");
  if (parameters == object.end()) return "";
  if (!parameters->is_object()) return "'parameters' must be an object";
  for (const auto& [key, value] : parameters->items()) {
    if (key == "unload_dependents" && route.kind == Route::Kind::unload) {
      if (!value.is_boolean()) return "the parameter 'unload_dependents' must be true or false";
      continue;  // no function depends on another
    }
    return "the parameter '" + key.substr(0, 64) + "' is not supported: what a function is, its file in functions.d says";
  }
  return "";
}

Answer indexAnswer(const Core& core, bool readyOnly) {
  json models = json::array();
  for (const Repository::Model& model : core.repository->models())
    if (!readyOnly || model.state == "READY") models.push_back({{"name", model.name}, {"state", model.state}, {"reason", model.reason}});
  return {.status = 200, .body = models.dump(-1, ' ', false, json::error_handler_t::replace), .retryAfter = {}};
}

asio::awaitable<Answer> moved(Core& core, ClientStream& stream, const Route& route) {
  const char* const verb = route.kind == Route::Kind::load ? "load" : "unload";
  if (*core.loading >= kMostLoading) {
    Answer answer = errorAnswer(503, std::to_string(kMostLoading) + " functions are being loaded or unloaded, which is the limit");
    answer.retryAfter = std::chrono::seconds(1);
    co_return answer;
  }
  spdlog::info("function {}: {}, asked for over HTTP by {}", route.function, verb, stream.address());
  auto waiting = std::make_shared<PendingMove>(core.io);
  ++*core.loading;
  auto done = [loading = core.loading, waiting](Status status) {
    --*loading;
    waiting->result = std::move(status);
    waiting->wake.cancel();
  };
  stream.setInterrupt([waiting] {
    waiting->interrupted = true;
    waiting->wake.cancel();
  });
  stream.watch();
  if (route.kind == Route::Kind::load)
    core.repository->load(route.function, std::move(done));
  else
    core.repository->unload(route.function, std::move(done));
  while (!waiting->result && !waiting->interrupted) {
    waiting->wake.expires_at(Time::max());
    ErrorCode ignored;
    co_await waiting->wake.async_wait(into(ignored));
  }
  stream.unwatch();
  stream.setInterrupt(nullptr);
  if (!waiting->result) {
    stream.close();
    co_return errorAnswer(408, "the client went away");
  }
  if (waiting->result->ok()) co_return Answer{.status = 200, .body = "", .retryAfter = {}};
  const Error& error = waiting->result->error();
  co_return errorAnswer(error.code == CudaError::devicesUnavailable ? 503 : 400, std::string("failed to ") + verb + " '" + route.function + "': " + error.message);
}

}  // namespace

bool ofRepository(const Route& route) { return route.kind == Route::Kind::index || route.kind == Route::Kind::load || route.kind == Route::Kind::unload; }

bool servesRepository(const Core& core) { return core.repository != nullptr && core.options.repository != RepositoryAccess::off; }

asio::awaitable<Answer> answerRepository(Core& core, ClientStream& stream, RequestParser& request, const Route& route) {
  if (auto refused = refusal(core, stream, request.get(), route)) co_return std::move(*refused);
  std::string body;
  auto unread = co_await readBody(core, stream, request, body);
  if (unread) co_return std::move(*unread);
  json object = json::object();
  if (!body.empty()) object = json::parse(body, nullptr, false);
  if (!object.is_object()) co_return errorAnswer(400, "the body is no JSON object");
  if (route.kind == Route::Kind::index) {
    const auto ready = object.find("ready");
    if (ready != object.end() && !ready->is_boolean()) co_return errorAnswer(400, "'ready' must be true or false");
    co_return indexAnswer(core, ready != object.end() && ready->get<bool>());
  }
  if (const std::string fault = faultOf(object, route); !fault.empty()) co_return errorAnswer(400, fault);
  Answer answer = co_await moved(core, stream, route);
  co_return answer;
}

}  // namespace rouse::router

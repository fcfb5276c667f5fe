#include "server/functions/health_check.h"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>

#include "server/router/backend_pool.h"
#include "server/router/http.h"
#include "server/router/lazy_deadline.h"

namespace rouse::functions {
namespace {

using namespace router;

constexpr std::uint32_t kMostHead = 16384;
constexpr std::size_t kMostBody = 65536;

asio::awaitable<std::string> problemOf(asio::io_context& io, std::shared_ptr<const Target> target, std::string path,
                                       std::chrono::milliseconds patience) {
  BackendPool pool(io);
  auto connected = co_await pool.connect(target, std::chrono::steady_clock::now() + patience);
  if (!connected) co_return connected.error().message;
  if (path.empty()) co_return "";
  const std::unique_ptr<Backend> backend = std::move(*connected);
  bool late = false;
  LazyDeadline deadline(io.get_executor(), [&] {
    late = true;
    ErrorCode ignored;
    backend->socket.close(ignored);
  });
  deadline.after(patience);
  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nUser-Agent: rouse-health\r\n\r\n";
  ErrorCode error;
  co_await asio::async_write(backend->socket, asio::buffer(request), into(error));
  ResponseParser response;
  response.header_limit(kMostHead);
  if (!error) co_await http::async_read_header(backend->socket, backend->buffer, response, into(error));
  if (late) co_return "no answer to GET " + path + " within " + std::to_string(patience.count()) + " ms";
  if (error) co_return "GET " + path + ": " + error.message();
  const unsigned status = response.get().result_int();
  // All of a short answer: a server that writes to a closed socket complains.
  std::array<char, 4096> piece;
  for (std::size_t read = 0; !error && !late && !response.is_done() && read < kMostBody;) {
    const std::size_t got = co_await readPiece(backend->socket, backend->buffer, response, asio::buffer(piece), error);
    read += got;
  }
  if (status < 200 || status > 299) co_return "GET " + path + " was answered with " + std::to_string(status);
  co_return "";
}

asio::awaitable<void> run(asio::io_context& io, std::shared_ptr<const Target> target, std::string path,
                          std::chrono::milliseconds patience, std::function<void(std::string)> done) {
  std::string problem = co_await problemOf(io, std::move(target), std::move(path), patience);
  done(std::move(problem));
}

}  // namespace

void checkHealth(asio::io_context& io, std::shared_ptr<const router::Target> target, const std::string& path,
                 std::chrono::milliseconds patience, std::function<void(std::string)> done) {
  asio::co_spawn(io, run(io, std::move(target), path, patience, std::move(done)), asio::detached);
}

}  // namespace rouse::functions

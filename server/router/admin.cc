#include "server/router/admin.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <optional>

#include "server/router/answer.h"
#include "server/router/lazy_deadline.h"
#include "server/router/request_head.h"

namespace rouse::router {
namespace {

constexpr std::size_t kMostVisits = 32;
constexpr std::size_t kMostHead = 8192;
constexpr std::chrono::seconds kPatience{10};

}  // namespace

struct Admin::Visit {
  explicit Visit(Socket accepted) : socket(std::move(accepted)), wake(socket.get_executor()) {}
  Socket socket;
  asio::steady_timer wake;  // the page is there, or nobody waits for it any more
  std::optional<std::string> page;
};

Admin::Admin(asio::io_context& io, wire::OwnedFd listening, Metrics metrics)
    : io_(io),
      metrics_(std::move(metrics)),
      acceptor_(io, std::move(listening), "", [this](Socket socket, const std::string&) {
        if (visits_.size() >= kMostVisits) return;
        auto visit = std::make_shared<Visit>(std::move(socket));
        visits_.insert(visit);
        asio::co_spawn(io_, serve(visit), asio::detached);
      }) {}

Admin::~Admin() = default;

void Admin::stop() {
  acceptor_.stop();
  ErrorCode ignored;
  for (const auto& visit : visits_) {
    visit->socket.close(ignored);
    visit->wake.cancel();
  }
}

// One request a connection.
asio::awaitable<void> Admin::serve(std::shared_ptr<Visit> visit) {
  LazyDeadline deadline(io_.get_executor(), [&] {
    ErrorCode ignored;
    visit->socket.close(ignored);
    visit->wake.cancel();
  });
  deadline.after(kPatience);
  std::string head(kMostHead, '\0');
  std::size_t size = 0, end = std::string::npos;
  ErrorCode error;
  while (!error && end == std::string::npos && size < head.size()) {
    const std::size_t got =
        co_await visit->socket.async_read_some(asio::buffer(head.data() + size, head.size() - size), into(error));
    size += got;
    end = endOfHead(std::string_view(head).substr(0, size), size - got);
  }
  if (!error) {
    Answer answer = errorAnswer(400, "no request, or one that is too long");
    if (end != std::string::npos && !checkRequestHead(std::string_view(head).substr(0, end))) {
      answer = errorAnswer(404, "only GET /metrics is served here");
      if (head.starts_with("GET /metrics ") || head.starts_with("GET /metrics?")) {
        metrics_([visit](std::string page) {
          visit->page = std::move(page);
          visit->wake.cancel();
        });
        while (!visit->page && visit->socket.is_open()) {
          visit->wake.expires_at(asio::steady_timer::time_point::max());
          ErrorCode ignored;
          co_await visit->wake.async_wait(into(ignored));
        }
        answer = {.status = 200, .body = visit->page.value_or(""), .contentType = "text/plain; version=0.0.4; charset=utf-8", .retryAfter = {}};
      }
    }
    const std::string message = serialize(answer, "", false, false);
    co_await asio::async_write(visit->socket, asio::buffer(message), into(error));
    visit->socket.shutdown(asio::socket_base::shutdown_both, error);
  }
  visits_.erase(visit);
}

}  // namespace rouse::router

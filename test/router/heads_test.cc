// What is taken for a request, where it goes, and what is made of its head: without sockets.
#include <boost/beast/http/parser.hpp>
#include <catch2/catch.hpp>

#include "server/router/answer.h"
#include "server/router/forward_head.h"
#include "server/router/listen_address.h"
#include "server/router/metrics.h"
#include "server/router/request_head.h"
#include "server/router/route.h"
#include "server/router/trace_context.h"

using namespace rouse::router;
using namespace std::string_literals;

namespace {

unsigned statusOf(const std::string& head) {
  const auto bad = checkRequestHead(head);
  if (!bad) return 200;
  INFO(bad->what);
  CHECK(!bad->what.empty());
  return bad->status;
}
std::string get(const std::string& fields) { return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"; }

}  // namespace

TEST_CASE("a request head that everybody reads in one way is taken") {
  CHECK(statusOf(get("")) == 200);
  CHECK(statusOf(get("Content-Length: 0\r\n")) == 200);
  CHECK(statusOf(get("Content-Length: 18446744073709\r\n")) == 200);
  CHECK(statusOf(get("Transfer-Encoding: chunked\r\n")) == 200);
  CHECK(statusOf(get("TRANSFER-ENCODING:\tChunked \r\n")) == 200);
  CHECK(statusOf(get("X-Text: \x80\xff and\ttabs\r\nEmpty:\r\n")) == 200);
  CHECK(statusOf("GET / HTTP/1.0\r\n\r\n") == 200);
  CHECK(statusOf("BREW /pot?x=y HTTP/1.1\r\nHost: [::1]:80\r\n\r\n") == 200);
}

TEST_CASE("what two readers could read in two ways is refused") {
  const auto [fields, status] = GENERATE(table<std::string, unsigned>({
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
      {"Content-Length: 5\r\nContent-Length: 5\r\n", 400},
      {"Content-Length: 5\r\ncontent-length: 6\r\n", 400},
      {"Content-Length: 5, 5\r\n", 400},
      {"Content-Length: +5\r\n", 400},
      {"Content-Length: -1\r\n", 400},
      {"Content-Length: 0x10\r\n", 400},
      {"Content-Length: 5 5\r\n", 400},
      {"Content-Length:\r\n", 400},
      {"Content-Length: 99999999999999999999\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked, identity\r\n", 501},
      {"Transfer-Encoding: gzip, chunked\r\n", 501},
      {"Transfer-Encoding: xchunked\r\n", 501},
      {"Transfer-Encoding: \"chunked\"\r\n", 501},
      {"Transfer-Encoding : chunked\r\n", 400},
      {" Transfer-Encoding: chunked\r\n", 400},
      {"X: a\r\n Transfer-Encoding: chunked\r\n", 400},
      {"X: a\r\n\tb\r\n", 400},
      {"X: a\nTransfer-Encoding: chunked\r\n", 400},
      {"X: a\rTransfer-Encoding: chunked\r\n", 400},
      {"X: a\0b\r\n"s, 400},
      {"X\0: a\r\n"s, 400},
      {"X: \x01\r\n", 400},
      {"X: \x7f\r\n", 400},
      {"X\x80: a\r\n", 400},
      {": a\r\n", 400},
      {"no colon\r\n", 400},
      {"Host: b\r\n", 400},
  }));
  INFO(fields);
  CHECK(statusOf(get(fields)) == status);
}

TEST_CASE("request lines that are none are refused") {
  const auto [line, status] = GENERATE(table<std::string, unsigned>({
      {"GET /\r\nHost: a\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400},
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", 505},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
      {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET", 400},
      {"\x16\x03\x01\x02\r\n\r\n", 400},
      {"", 400},
  }));
  INFO(line);
  CHECK(statusOf(line) == status);
}

TEST_CASE("the end of a head is found however it comes") {
  const std::string head = get("A: b\r\n"), more = head + "body\r\n\r\n";
  for (std::size_t i = 0; i < head.size(); ++i) {
    CHECK(endOfHead(more.substr(0, i), 0) == std::string::npos);
    CHECK(endOfHead(more, i) == head.size());
  }
}

TEST_CASE("targets lead to functions") {
  using Kind = Route::Kind;
  const auto [target, kind, function, forwarded, prefix] =
      GENERATE(table<std::string, Kind, std::string, std::string, std::string>({
          {"/v2/health/live", Kind::live, "", "", ""},
          {"/v2/health/ready", Kind::ready, "", "", ""},
          {"/v2", Kind::server, "", "", ""},
          {"/v2/models/m/ready", Kind::modelReady, "m", "", ""},
          {"/v2/models/m/versions/3/ready", Kind::modelReady, "m", "", ""},
          {"/v2/models/m/infer", Kind::forward, "m", "/v2/models/m/infer", ""},
          {"/v2/models/m", Kind::forward, "m", "/v2/models/m", ""},
          {"/v2/models/m?x=1", Kind::forward, "m", "/v2/models/m?x=1", ""},
          {"/v2/models/m/versions/3/infer", Kind::forward, "m", "/v2/models/m/versions/3/infer", ""},
          {"/fn/f", Kind::forward, "f", "/", "/fn/f"},
          {"/fn/f?q", Kind::forward, "f", "/?q", "/fn/f"},
          {"/fn/f/a/b?q=/x", Kind::forward, "f", "/a/b?q=/x", "/fn/f"},
          {"/fn/f/../g", Kind::forward, "f", "/../g", "/fn/f"},
          {"http://host:1/fn/f/a", Kind::forward, "f", "/a", "/fn/f"},
          {"http://host", Kind::unknown, "", "", ""},
          {"/", Kind::unknown, "", "", ""},
          {"*", Kind::unknown, "", "", ""},
          {"/fn/", Kind::unknown, "", "", ""},
          {"/fn//a", Kind::unknown, "", "", ""},
          {"/fn/%66/a", Kind::unknown, "", "", ""},
          {"/fn/../v2", Kind::unknown, "", "", ""},
          {"/fn/f#x", Kind::unknown, "", "", ""},
          {"/v2/models/", Kind::unknown, "", "", ""},
          {"/v2/repository/index", Kind::index, "", "", ""},
          {"/v2/repository/index?x", Kind::index, "", "", ""},
          {"/v2/repository/models/m/load", Kind::load, "m", "", ""},
          {"/v2/repository/models/m/unload", Kind::unload, "m", "", ""},
          {"/v2/repository", Kind::unknown, "", "", ""},
          {"/v2/repository/models", Kind::unknown, "", "", ""},
          {"/v2/repository/models/m", Kind::unknown, "", "", ""},
          {"/v2/repository/models//load", Kind::unknown, "", "", ""},
          {"/v2/repository/models/%6d/load", Kind::unknown, "", "", ""},
          {"/v2/repository/models/m/load/", Kind::unknown, "", "", ""},
          {"/v2/repository/models/m/n/load", Kind::unknown, "", "", ""},
          {"/v2/repository/index/x", Kind::unknown, "", "", ""},
          {"/v2x/models/m/infer", Kind::unknown, "", "", ""},
          {"//fn/f", Kind::unknown, "", "", ""},
      }));
  INFO(target);
  const Route found = route(target);
  CHECK(found.kind == kind);
  CHECK(found.function == function);
  CHECK(found.target == forwarded);
  CHECK(found.prefix == prefix);
}

TEST_CASE("names of functions") {
  CHECK(isFunctionName("resnet-50_v1.5"));
  CHECK(isFunctionName(std::string(64, 'a')));
  for (const char* name : {"", ".", "..", "-a", "a/b", "a b", "a%20", "\xc3\xa4"}) CHECK_FALSE(isFunctionName(name));
  CHECK_FALSE(isFunctionName(std::string(65, 'a')));
}

TEST_CASE("trace contexts are kept if they are such, and made if not") {
  CHECK(isTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  CHECK(isTraceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"));
  for (const char* bad : {"", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                          "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                          "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                          "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"})
    CHECK_FALSE(isTraceparent(bad));
  IdMaker ids;
  CHECK(isTraceparent(ids.traceparent()));
  CHECK(ids.traceparent() != ids.traceparent());
  CHECK(isRequestId(ids.requestId()));
  CHECK_FALSE(isRequestId("a b"));
  CHECK_FALSE(isRequestId(std::string(129, 'a')));
}

TEST_CASE("what goes on to a function is the router's own head") {
  RequestParser parser;
  const std::string head =
      "POST /fn/f/x HTTP/1.1\r\nHost: example:8080\r\nConnection: keep-alive, X-Private, Content-Type\r\nKeep-Alive: "
      "5\r\nX-Private: 1\r\n"
      "Transfer-Encoding: chunked\r\nTE: trailers\r\nTrailer: X\r\nUpgrade: h2c\r\nProxy-Authorization: "
      "secret\r\nExpect: 100-continue\r\n"
      "Content-Type: text/plain\r\nX-Forwarded-For: 1.2.3.4\r\nx-forwarded-for: 5.6.7.8\r\nX-Request-Id: "
      "spoofed\r\nAccept: a\r\nAccept: b\r\n\r\n";
  ErrorCode error;
  parser.put(boost::asio::buffer(head), error);
  REQUIRE(!error);
  const std::string sent =
      requestHead(parser.get(),
                  {.target = "/x", .prefix = "/fn/f", .client = "9.9.9.9", .requestId = "id", .traceparent = "trace"}) +
      framingLines(Framing::length, 7);
  CHECK(sent ==
        "POST /x HTTP/1.1\r\nHost: example:8080\r\nAccept: a\r\nAccept: b\r\nX-Forwarded-For: 1.2.3.4, 5.6.7.8, "
        "9.9.9.9\r\n"
        "X-Forwarded-Proto: http\r\nX-Forwarded-Host: example:8080\r\nX-Forwarded-Prefix: /fn/f\r\nX-Request-Id: id\r\n"
        "traceparent: trace\r\nContent-Length: 7\r\n\r\n");
}

TEST_CASE("what comes back from a function is the router's own head") {
  ResponseParser parser;
  const std::string head =
      "HTTP/1.1 200 Fine\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nContent-Length: 3\r\nX-Request-Id: "
      "other\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n";
  ErrorCode error;
  parser.put(boost::asio::buffer(head), error);
  REQUIRE(!error);
  CHECK(responseHead(parser.get(), {.requestId = "id", .framing = Framing::length, .length = 3}) ==
        "HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX-Request-Id: id\r\nContent-Length: 3\r\n\r\n");
  CHECK(responseHead(
            parser.get(),
            {.requestId = "id", .framing = Framing::close, .length = {}, .keepAlive = false, .clientMinor = 0}) ==
        "HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX-Request-Id: id\r\nConnection: close\r\n\r\n");
}

TEST_CASE("the router's own answers") {
  Answer answer = errorAnswer(503, "a \"quoted\" reason");
  answer.retryAfter = std::chrono::milliseconds(1500);
  CHECK(serialize(answer, "id", false, false) ==
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 31\r\nRetry-After: "
        "2\r\nX-Request-Id: id\r\n"
        "Connection: close\r\n\r\n{\"error\":\"a \\\"quoted\\\" reason\"}");
  CHECK(serialize({.status = 200, .body = "", .retryAfter = {}}, "", true, true) ==
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

TEST_CASE("places to listen at") {
  CHECK(parseHostPort("127.0.0.1:80")->port == 80);
  CHECK(parseHostPort("[::1]:8080")->host == "::1");
  CHECK(parseHostPort(":1")->host == "0.0.0.0");
  CHECK(parseHostPort("localhost:0")->host == "127.0.0.1");
  for (const char* bad : {"", "80", "a", "::1:80", "example.com:80", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:x"})
    CHECK_FALSE(parseHostPort(bad));
}

TEST_CASE("counters as Prometheus reads them") {
  Metrics metrics;
  FunctionMetrics& f = metrics.of("f");
  ++f.requests[static_cast<std::size_t>(Outcome::timedOut)];
  f.queue.add(0.003);
  f.queue.add(100);
  metrics.countOther(404);
  const std::string text = metrics.prometheus([](std::uint32_t gpu) { return "gpu=\"" + std::to_string(gpu) + "\""; });
  for (const char* line :
       {"# TYPE rouse_requests_total counter\n", "rouse_requests_total{function=\"f\",outcome=\"timed_out\"} 1\n",
        "rouse_request_queue_seconds_bucket{function=\"f\",le=\"0.0025\"} 0\n",
        "rouse_request_queue_seconds_bucket{function=\"f\",le=\"0.005\"} 1\n",
        "rouse_request_queue_seconds_bucket{function=\"f\",le=\"+Inf\"} 2\n",
        "rouse_request_queue_seconds_sum{function=\"f\"} 100.003\n",
        "rouse_router_other_requests_total{code=\"404\"} 1\n"})
    CHECK_THAT(text, Catch::Contains(line));
}

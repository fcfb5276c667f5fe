// Requests that go well.
#include "fixture.h"

using namespace rouse::test;
namespace router = rouse::router;

TEST_CASE("a request goes to its function and its answer comes back") {
  RunningRouter running;
  running.add("f");
  std::mutex mutex;
  std::string head;
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([&](const Message& request) {
                          const std::lock_guard lock(mutex);
                          head = request.head;
                          return response("got " + request.body, "X-Mine: 1\r\n");
                        }));
  running.start();
  Message answer = running.ask(
      post("/v2/models/f/infer?a=b", "input",
           "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nX-Request-Id: mine\r\n"));
  CHECK(answer.status() == 200);
  CHECK(answer.body == "got input");
  CHECK(field(answer.head, "x-mine") == "1");
  CHECK(field(answer.head, "x-request-id") == "mine");
  {
    const std::lock_guard lock(mutex);
    CHECK(head.starts_with("POST /v2/models/f/infer?a=b HTTP/1.1\r\n"));
    CHECK(field(head, "traceparent") == "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    CHECK(field(head, "x-request-id") == "mine");
    CHECK(field(head, "x-forwarded-for") == "unknown");
    CHECK(field(head, "x-forwarded-proto") == "http");
    CHECK(field(head, "host") == "h");
  }
  answer = running.ask(get("/fn/f/deep/path?x"));
  CHECK(answer.body == "got ");
  {
    const std::lock_guard lock(mutex);
    CHECK(head.starts_with("GET /deep/path?x HTTP/1.1\r\n"));
    CHECK(field(head, "x-forwarded-prefix") == "/fn/f");
    CHECK(field(head, "traceparent").size() == 55);
    CHECK(field(head, "content-length").empty());
  }
  CHECK(function.connections == 1);  // kept between the two
  CHECK(eventually([&] { return running.count("f", Outcome::answered) == 2; }));
}

TEST_CASE("what the router answers itself") {
  RunningRouter running;
  running.add("f");
  running.start();
  Wire wire = running.connect();
  const auto ask = [&](const std::string& request, bool head = false) {
    wire.send(request);
    return readMessage(wire, head);
  };
  CHECK(ask(get("/v2/health/live")).status() == 200);
  CHECK(ask(get("/v2/health/ready")).status() == 200);
  CHECK(ask(get("/v2/models/f/ready")).status() == 200);
  CHECK(ask(get("/v2/models/g/ready")).status() == 404);
  running.directory.isReady = false;
  CHECK(ask(get("/v2/health/live")).status() == 200);
  CHECK(ask(get("/v2/health/ready")).status() == 400);
  CHECK(ask(get("/v2/models/f/ready")).status() == 400);
  CHECK(ask("HEAD /v2 HTTP/1.1\r\nHost: h\r\n\r\n", true).status() == 200);
  CHECK_THAT(ask(get("/v2")).body, Catch::Contains("\"name\":\"rouse\""));
  CHECK(ask(post("/v2/health/live", "")).status() == 405);
  const Message unknown = ask(get("/fn/nobody/"));
  CHECK(unknown.status() == 404);
  CHECK(unknown.body == "{\"error\":\"no function 'nobody'\"}");
  CHECK(ask(get("/")).status() == 404);
  // A body that is not read ends the connection.
  CHECK(ask(post("/fn/nobody/", "abc")).status() == 404);
  CHECK(wire.ends());
}

TEST_CASE("requests that arrive together are answered one after the other") {
  RunningRouter running;
  running.add("f");
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([](const Message& request) {
                          return response("<" + request.body + ">");
                        }));
  running.start();
  Wire wire = running.connect();
  std::string all = "\r\n";
  for (int i = 0; i < 50; ++i) all += post("/fn/f/", std::to_string(i));
  wire.send(all);
  for (int i = 0; i < 50; ++i) CHECK(readMessage(wire).body == "<" + std::to_string(i) + ">");
  wire.send(post("/fn/f/", "last", "Connection: close\r\n"));
  const Message last = readMessage(wire);
  CHECK((last.body == "<last>" && field(last.head, "connection") == "close"));
  CHECK(wire.ends());
}

TEST_CASE("HTTP/1.0 clients, HEAD, and answers without a body") {
  RunningRouter running;
  running.add("f");
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([](const Message& request) -> std::string {
                          if (request.head.starts_with("HEAD"))
                            return "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
                          if (request.head.starts_with("GET /204")) return "HTTP/1.1 204 No Content\r\n\r\n";
                          if (request.head.starts_with("GET /103"))
                            return "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + response("late");
                          return "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                                 "chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n";
                        }));
  running.start();
  Wire old = running.connect();
  old.send("GET /fn/f/ HTTP/1.0\r\n\r\n");
  const Message answer = readMessage(old);
  CHECK((answer.body == "abcde" && field(answer.head, "transfer-encoding").empty() &&
         field(answer.head, "connection") == "close"));

  Wire wire = running.connect();
  wire.send("HEAD /fn/f/ HTTP/1.1\r\nHost: h\r\n\r\n" + get("/fn/f/204") + get("/fn/f/103") + get("/fn/f/"));
  const Message head = readMessage(wire, true);
  CHECK((head.status() == 200 && field(head.head, "content-length") == "1000"));
  const Message none = readMessage(wire, true);
  CHECK((none.status() == 204 && field(none.head, "content-length").empty() &&
         field(none.head, "transfer-encoding").empty()));
  CHECK(readMessage(wire).body == "late");
  const Message chunked = readMessage(wire);
  CHECK((chunked.body == "abcde" && field(chunked.head, "transfer-encoding") == "chunked"));
}

TEST_CASE("many clients at once: every answer is its own request's, and none is lost") {
  RunningRouter running;
  running.add("f", [](router::Target& target) { target.connections = 4; }, {.concurrency = 4, .waiting = 1000});
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([](const Message& request) {
                          return response("<" + request.body + ">");
                        }));
  running.start();
  constexpr int kClients = 16, kRequests = 200;
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c, wire = running.connect()]() mutable {
      for (int i = 0; i < kRequests; ++i) {
        const std::string body = std::to_string(c * 1000000 + i);
        wire.send(post("/fn/f/", body));
        const Message answer = readMessage(wire);
        if (answer.status() == 200 && answer.body == "<" + body + ">") ++right;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(right == kClients * kRequests);
  CHECK(eventually([&] { return running.count("f", Outcome::answered) == kClients * kRequests; }));
  CHECK(function.connections <= 4);
}

TEST_CASE("when the router stops, what is under way is finished and the rest refused") {
  RunningRouter running;
  running.add("f");
  std::atomic<bool> go = false;
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([&](const Message&) {
                          eventually([&] { return go.load(); });
                          return response("done");
                        }));
  running.start();
  Wire wire = running.connect(), idle = running.connect();
  wire.send(get("/fn/f/"));
  REQUIRE(eventually([&] { return running.running("f") == 1; }));
  go = true;
  running.stop();
  CHECK(readMessage(wire).body == "done");
  CHECK(wire.ends());
  CHECK(idle.ends());
}

// Bodies: long, chunked, slow, beside each other.
#include "fixture.h"

using namespace rouse::test;
namespace router = rouse::router;

namespace {

std::string pattern(std::size_t bytes, unsigned seed) {
  std::string text(bytes, '\0');
  unsigned x = seed | 1;
  for (char& c : text) {
    x = x * 1664525 + 1013904223;
    c = static_cast<char>(x >> 24);
  }
  return text;
}

std::string chunks(const std::string& body, std::size_t size) {
  std::string text;
  for (std::size_t at = 0; at < body.size(); at += size) {
    const std::string piece = body.substr(at, size);
    char line[32];
    std::snprintf(line, sizeof line, "%zX;n=%zu\r\n", piece.size(), at);
    text += line + piece + "\r\n";
  }
  return text + "0\r\nX-Trailer: 1\r\n\r\n";
}

}  // namespace

TEST_CASE("bodies arrive as they were sent, whatever their length and framing, both ways") {
  RunningRouter running;
  running.add("f");
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([](const Message& request) {
                          if (field(request.head, "x-answer") == "chunked")
                            return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
                                   chunks(request.body, 40000);
                          return response(request.body);
                        }));
  running.start();
  const std::size_t size = GENERATE(0, 1, 32768, 65536, 65537, 1 << 20, (1 << 20) + 1, 5000000);
  const bool chunkedIn = GENERATE(false, true), chunkedOut = GENERATE(false, true);
  INFO(size << " " << chunkedIn << chunkedOut);
  const std::string body = pattern(size, 7);
  Wire wire = running.connect();
  const std::string fields = chunkedOut ? "X-Answer: chunked\r\n" : "";
  // A client that does not read before it has written everything is served, too: the function of this test takes all of
  // a body first.
  std::thread writer([&] {
    wire.send(chunkedIn ? "POST /fn/f/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n" + fields + "\r\n" +
                              chunks(body, 50000)
                        : post("/fn/f/", body, fields));
  });
  writer.join();
  const Message answer = readMessage(wire);
  CHECK(answer.whole);
  CHECK(answer.body.size() == body.size());
  CHECK(answer.body == body);
  wire.send(post("/fn/f/", "again"));
  CHECK(readMessage(wire).body == "again");
}

TEST_CASE("a function may answer before it has read the body") {
  RunningRouter running;
  running.add("f");
  FakeFunction function(running.path("f.sock"), [](Wire& wire) {
    wire.until("\r\n\r\n");
    wire.send(response("too much", "Connection: close\r\n", "413 Payload Too Large"));
  });
  running.start();
  const std::size_t size = GENERATE(100, 500000, 30000000);
  Wire wire = running.connect();
  std::thread writer([&] { wire.send(post("/fn/f/", std::string(size, 'x'), "Connection: close\r\n")); });
  const Message answer = readMessage(wire);
  CHECK(
      (answer.status() == 413 || answer.status() == 502));  // 502: its connection was reset before the answer was read
  wire.rest();
  writer.join();
}

TEST_CASE("an answer is passed on as it comes, without waiting for its end") {
  RunningRouter running;
  running.add("f");
  std::atomic<int> step = 0;
  FakeFunction function(running.path("f.sock"), [&](Wire& wire) {
    readMessage(wire);
    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    eventually([&] { return step >= 1; });
    wire.send("5\r\nfirst\r\n");
    eventually([&] { return step >= 2; });
    wire.send("6\r\nsecond\r\n0\r\n\r\n");
  });
  running.start();
  Wire wire = running.connect();
  wire.send(get("/fn/f/"));
  CHECK(wire.until("\r\n\r\n").has_value());
  step = 1;
  CHECK(wire.until("first\r\n").has_value());
  step = 2;
  CHECK(wire.until("0\r\n\r\n").has_value());
}

TEST_CASE("a client that does not read holds up nobody, and its bytes are not collected") {
  RunningRouter running;
  running.options.bodyTimeout = 300ms;
  running.add("f", [](router::Target&) {}, {.concurrency = 2, .waiting = 8});
  std::atomic<std::size_t> written = 0;
  FakeFunction function(running.path("f.sock"), [&](Wire& wire) {
    while (true) {
      const Message request = readMessage(wire);
      if (!request.whole) return;
      if (request.head.starts_with("GET /small")) {
        wire.send(response("small"));
        continue;
      }
      wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
      const std::string piece(65536, 'x');
      for (int i = 0; i < 10000 && wire.send(piece); ++i) written += piece.size();
      return;
    }
  });
  running.start();
  Wire greedy = running.connect();
  greedy.send(get("/fn/f/large"));
  for (int i = 0; i < 20; ++i) CHECK(running.ask(get("/fn/f/small")).body == "small");
  CHECK(eventually([&] { return running.count("f", Outcome::cancelled) == 1; }));
  CHECK(written < 4000000);
  CHECK(eventually([&] { return running.running("f") == 0; }));
}

TEST_CASE("Expect: 100-continue") {
  RunningRouter running;
  running.add("f");
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([](const Message& request) {
                          return response(request.body + field(request.head, "expect"));
                        }));
  running.start();
  Wire wire = running.connect();
  wire.send("POST /fn/f/ HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  CHECK(wire.until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  wire.send("body");
  CHECK(readMessage(wire).body == "body");
  CHECK(running.ask("POST /fn/f/ HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: miracles\r\n\r\nbody").status() ==
        417);
}

TEST_CASE("bodies over the function's limit") {
  RunningRouter running;
  const std::uint64_t limit = GENERATE(1000, 2000000);
  running.add("f", [&](router::Target& target) { target.maxBody = limit; });
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([](const Message& request) {
                          return response(std::to_string(request.body.size()));
                        }));
  running.start();
  CHECK(running.ask(post("/fn/f/", std::string(limit, 'x'))).body == std::to_string(limit));
  CHECK(running.ask("POST /fn/f/ HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(limit + 1) + "\r\n\r\n")
            .status() == 413);
  Wire wire = running.connect();
  std::thread writer([&] {
    wire.send("POST /fn/f/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
              chunks(std::string(limit + 1, 'x'), 10000));
  });
  CHECK(readMessage(wire).status() == 413);
  wire.rest();
  writer.join();
  CHECK(running.ask(post("/fn/f/", "ok")).body == "2");
}

TEST_CASE("a body's trailers are no fields of its head") {
  RunningRouter running;
  running.add("f");
  std::mutex mutex;
  std::string head;
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([&](const Message& request) {
                          const std::lock_guard lock(mutex);
                          head = request.head;
                          return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Evil: "
                                 "1\r\nContent-Type: evil\r\n\r\n";
                        }));
  running.start();
  Wire wire = running.connect();
  wire.send(
      "POST /fn/f/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nHost: evil\r\nX-Evil: "
      "1\r\nConnection: close\r\n\r\n");
  const Message answer = readMessage(wire);
  CHECK((answer.body == "ok" && answer.head.find("vil") == std::string::npos));
  const std::lock_guard lock(mutex);
  CHECK((head.find("vil") == std::string::npos && field(head, "host") == "h"));
}

TEST_CASE("a function may take its time over its answer: only what the client keeps waiting is counted") {
  RunningRouter running;
  running.options.bodyTimeout = 100ms;
  running.add("f");
  FakeFunction function(running.path("f.sock"), [](Wire& wire) {
    readMessage(wire);
    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10; ++i) {
      std::this_thread::sleep_for(60ms);
      wire.send("1\r\nx\r\n");
    }
    wire.send("0\r\n\r\n");
  });
  running.start();
  const Message answer = running.ask(get("/fn/f/"));
  CHECK((answer.whole && answer.body == "xxxxxxxxxx"));
}

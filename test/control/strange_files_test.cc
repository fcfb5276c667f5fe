// Descriptors that keep who uses them, of files whose file system does not answer say: the daemon goes on, and so do others' modules.
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "schemas/wire/segment.h"
#include "schemas/wire/standard_descriptors.h"
#include "server/roused/session_sleep.h"
#include "test/control/daemon_fixture.h"
#include "test/control/unanswering_file.h"

using namespace rouse;
using namespace std::chrono_literals;
using rouse::test::attached;
using rouse::test::Client;
using rouse::test::RunningDaemon;
using rouse::test::Scratch;
using rouse::test::UnansweringFile;

namespace {

std::vector<wire::OwnedFd> one(wire::OwnedFd fd) {
  std::vector<wire::OwnedFd> fds;
  fds.push_back(std::move(fd));
  return fds;
}

}  // namespace

TEST_CASE("who sends a file that cannot be closed, looked at or read keeps nobody else") {
  Scratch scratch;
  const UnansweringFile strange(scratch.path() / "strange");
  if (!strange.mounted()) {
    WARN("no file system could be mounted: nothing was tested");
    return;
  }
  RunningDaemon daemon;
  // With what takes none.
  Client wrong(daemon.settings.socket);
  REQUIRE(wrong.channel.send(1, channel::StatusRequest{}, one(strange.open())).ok());
  CHECK_THAT(wrong.cutOffReason(), Catch::Contains("with a descriptor, which it has none of"));
  Client unattached(daemon.settings.socket);
  REQUIRE(unattached.channel.send(1, channel::LoadModule{0, 3, 0}, one(strange.open())).ok());
  CHECK_THAT(unattached.cutOffReason(), Catch::Contains("loadModule before attach"));

  // As modules: as many as there are readers, and more.
  std::vector<std::unique_ptr<Client>> kept;
  for (int i = 0; i < 3; ++i) {
    Client& client = *kept.emplace_back(std::make_unique<Client>(daemon.settings.socket));
    attached(client.attach());
    REQUIRE(client.channel.send(client.nextId, channel::LoadModule{0, UnansweringFile::kBytes, 0}, one(strange.open())).ok());
  }
  Client client(daemon.settings.socket);
  attached(client.attach());
  const auto file = scratch.write("module", "content");
  const auto answer = client.call(channel::LoadModule{0, 7, 0}, one(wire::OwnedFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC))));
  CHECK(std::holds_alternative<channel::ModuleInfo>(answer.body));
  // It ends as well.
  const auto begin = std::chrono::steady_clock::now();
  daemon.stop();
  daemon.daemon.reset();
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
}

TEST_CASE("a process that has its wake-ups block keeps nobody who looks at them") {
  boost::asio::io_context io;
  const auto ring = wire::RingSegment::create(0);
  REQUIRE(ring.ok());
  const wire::OwnedFd wake(::eventfd(0, EFD_CLOEXEC));  // without EFD_NONBLOCK, as a process can make it at any time
  auto sleep = daemon::SessionSleep::begin(io.get_executor(), *ring, wake, {}, {}, {});
  REQUIRE(sleep.ok());
  std::atomic<bool> over{false};
  std::thread rescue([&] {
    for (int i = 0; i < 200 && !over; ++i) std::this_thread::sleep_for(10ms);
    if (!over) ::eventfd_write(wake.get(), 1);
  });
  const auto begin = std::chrono::steady_clock::now();
  (*sleep)->watch([] {});
  const auto took = std::chrono::steady_clock::now() - begin;
  over = true;
  rescue.join();
  CHECK(took < 1s);
}

TEST_CASE("a process that was started without standard descriptors has them, and no more") {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    wire::openStandardDescriptors();
    bool open = true;
    for (const int fd : {0, 1, 2}) open = open && ::fcntl(fd, F_GETFD) >= 0;
    const int next = ::open("/dev/null", O_RDONLY);
    ::close(next);
    const bool left = next == ::open("/dev/null", O_RDONLY);
    ::_exit(open && left && next > 2 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

#include "test/system/hostile/pool.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "server/control/sync_channel.h"

namespace rouse::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kBuild = ROUSE_BUILD_DIR;

// Output of the child goes to the file.
pid_t spawn(std::vector<std::string> command, const std::vector<std::string>& more, const fs::path& output) {
  std::vector<char*> arguments, environment;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  std::vector<std::string> variables = more;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = -1;
  if (posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environment.data()) != 0) pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

std::string contents(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

Pool& Pool::instance() {
  static Pool pool;
  return pool;
}

Pool::Pool() {
  char path[] = "/tmp/rouse-hostile-XXXXXX";
  if (::mkdtemp(path) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder_ = path;
  socket_ = folder_ / "rouse.sock";
  daemon_ = spawn({std::string(kBuild) + "/bin/roused", "--no-config", "--socket", socket_, "--device", "cpu", "--gpus",
                   "1", "--gpu-memory", "1GiB"},
                  {}, folder_ / "roused.log");
  for (int i = 0; i < 1500; ++i) {
    // The daemon listens once it can; it answers for its devices only when they are ready.
    if (auto socket = channel::SyncChannel::connect(socket_); socket.ok()) {
      neighbour_ = std::thread([this] { runNeighbour(); });
      return;
    }
    if (::waitpid(daemon_, nullptr, WNOHANG) == daemon_) break;
    std::this_thread::sleep_for(20ms);
  }
  throw std::runtime_error("roused did not start: " + contents(folder_ / "roused.log"));
}

Pool::~Pool() {
  stopping_ = true;
  if (neighbour_.joinable()) neighbour_.join();
  ::kill(daemon_, SIGTERM);
  ::waitpid(daemon_, nullptr, 0);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Pool::runNeighbour() {
  for (int seed = 1; !stopping_; ++seed) {
    const fs::path output = folder_ / "neighbour.log";
    fs::remove(output);
    const pid_t pid =
        spawn({std::string(kBuild) + "/test/programs/o3/mixed_work", std::to_string(seed), "6"},
              {"ROUSE_SOCKET=" + socket_, std::string("LD_LIBRARY_PATH=") + kBuild + "/lib/rouse"}, output);
    int status = -1;
    ::waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fs::copy_file(output, folder_ / "neighbour-failed.log", fs::copy_options::overwrite_existing);
      ++neighbourFailures_;
    }
    ++neighbourRuns_;
  }
}

std::string Pool::status() const {
  auto socket = channel::SyncChannel::connect(socket_);
  if (!socket.ok()) return socket.error().message;
  channel::SyncChannel channel(std::move(*socket));
  if (!channel.send(1, channel::StatusRequest{}).ok()) return "the request could not be sent";
  auto answer = channel.receive(20000ms);
  if (!answer.ok() || !answer->has_value()) return "no answer within 20 s";
  const auto* reply = std::get_if<channel::StatusReply>(&(*answer)->body);
  return reply != nullptr ? reply->json : "another answer";
}

void Pool::expectUnharmed() {
  INFO("daemon's log:\n" << contents(folder_ / "roused.log"));
  REQUIRE(::waitpid(daemon_, nullptr, WNOHANG) == 0);
  const std::string report = status();
  INFO("status: " << report);
  CHECK(report.find("\"state\":\"serving\"") != std::string::npos);
  CHECK(report.find("\"restarts\":0") != std::string::npos);
  INFO("neighbour: " << contents(folder_ / "neighbour-failed.log"));
  CHECK(neighbourFailures_ == 0);
}

void Pool::awaitNeighbour(int runs) {
  const int wanted = neighbourRuns_ + runs;
  for (int i = 0; i < 6000 && neighbourRuns_ < wanted; ++i) std::this_thread::sleep_for(10ms);
  CHECK(neighbourRuns_ >= wanted);
}

}  // namespace rouse::test

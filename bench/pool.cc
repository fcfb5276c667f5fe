#include "bench/pool.h"

#include <fcntl.h>
#include <signal.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "bench/report.h"

namespace rouse::bench {
namespace {

namespace fs = std::filesystem;

fs::path binaryDirectory() { return fs::read_symlink("/proc/self/exe").parent_path(); }

struct Child {
  pid_t pid = -1;
  int in = -1;   // to its standard input
  int out = -1;  // from its standard output
};

// `errors`: a descriptor for its standard error; negative: ours.
Child start(const std::vector<std::string>& arguments, const std::vector<std::string>& environment, bool pipes, int errors = -1) {
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  if (pipes && (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)) throw std::runtime_error("pipe failed");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    if (pipes) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
    }
    if (errors >= 0) dup2(errors, STDERR_FILENO);
    for (const auto& entry : environment) putenv(strdup(entry.c_str()));
    std::vector<char*> argv;
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  if (pipes) {
    close(in[0]);
    close(out[1]);
  }
  return {pid, in[1], out[0]};
}

std::string readAll(int fd) {
  std::string text;
  char bytes[4096];
  for (ssize_t n = 0; (n = read(fd, bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<std::size_t>(n));
  return text;
}

// What a child with pipes prints until it ends, nothing being said to it; and whether it ended with 0.
struct Finished {
  std::string text;
  bool well;
};
Finished finish(const Child& child) {
  close(child.in);
  std::string text = readAll(child.out);
  close(child.out);
  int status = 0;
  waitpid(child.pid, &status, 0);
  return {std::move(text), WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

bool accepts(const fs::path& socketPath) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socketPath.c_str(), sizeof address.sun_path - 1);
  const bool ok = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return ok;
}

// User and system ticks of one process, and its children's by pid.
double ticks(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  const auto afterName = text.rfind(')');
  if (afterName == std::string::npos) return 0;
  std::istringstream fields(text.substr(afterName + 2));
  std::string field;
  double user = 0, system = 0;
  for (int i = 3; i <= 15 && fields >> field; ++i) {
    if (i == 14) user = std::stod(field);
    if (i == 15) system = std::stod(field);
  }
  return user + system;
}

std::vector<pid_t> childrenOf(pid_t pid) {
  std::vector<pid_t> children;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

// One that nobody has now.
std::uint16_t freePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no free port");
  close(fd);
  return ntohs(address.sin_port);
}

}  // namespace

fs::path binaryPath(const std::string& name) { return binaryDirectory() / name; }

IdleClients::~IdleClients() {
  for (const int fd : stdins_) close(fd);
  for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
}

Client::Client(Client&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), in_(other.in_), out_(other.out_), buffer_(std::move(other.buffer_)) {}

Client::~Client() {
  if (pid_ < 0) return;
  close(in_);
  close(out_);
  waitpid(pid_, nullptr, 0);
}

void Client::tell(const std::string& line) {
  const std::string text = line + "\n";
  if (write(in_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) throw std::runtime_error("a client has ended");
}

nlohmann::json Client::hear() {
  for (;;) {
    if (const auto end = buffer_.find('\n'); end != std::string::npos) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return nlohmann::json::parse(line);
    }
    char bytes[65536];
    const ssize_t n = read(out_, bytes, sizeof bytes);
    if (n <= 0) throw std::runtime_error("a client has ended without an answer");
    buffer_.append(bytes, static_cast<std::size_t>(n));
  }
}

Pool::Pool(const PoolOptions& options) {
  char path[] = "/tmp/rouse-bench-XXXXXX";
  if (!mkdtemp(path)) throw std::runtime_error("cannot make a folder in /tmp");
  directory_ = path;
  const fs::path config = directory_ / "rouse.toml";
  std::ofstream(config) << "[daemon]\nsocket = \"" << (directory_ / "rouse.sock").string() << "\"\n\n"
                        << "[devices]\nkind = \"" << options.device << "\"\ncount = " << options.gpus
                        << "\nmemory = " << options.memoryBytes << "\nhost_store = " << options.hostStoreBytes << "\n\n"
                        << "[functions]\ngpus = " << (options.functionGpus != 0 ? options.functionGpus : options.gpus) << "\n\n"
                        << "[executor]\norphan_timeout = \"0s\"\ndiscard_launches = " << (options.discardLaunches ? "true" : "false") << "\n";
  if (!options.functions.empty()) {
    port_ = freePort();
    do adminPort_ = freePort();
    while (adminPort_ == port_);
    std::ofstream(config, std::ios::app) << "\n[router]\nlisten = \"127.0.0.1:" << port_ << "\"\nsocket = \"" << routerSocket()
                                         << "\"\nadmin = \"127.0.0.1:" << adminPort_ << "\"\n";
    // Functions have users of their own, where roused is root.
    fs::permissions(directory_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
    fs::create_directory(directory_ / "functions.d");
    for (const auto& [name, text] : options.functions) std::ofstream(directory_ / "functions.d" / (name + ".toml")) << text;
  }
  const fs::path log = directory_ / "roused.log";
  const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  std::vector<std::string> arguments{binaryDirectory() / "roused", "--config", config};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  daemon_ = start(arguments, {}, false, errors).pid;
  close(errors);
  const double deadline = now() + 60;  // a large host store is filled with pages first
  while (!accepts(directory_ / "rouse.sock")) {
    if (waitpid(daemon_, nullptr, WNOHANG) == daemon_ || now() > deadline) {
      std::ostringstream text;
      text << std::ifstream(log).rdbuf();
      throw std::runtime_error("the private roused did not start: " + text.str());
    }
    usleep(2000);
  }
}

Pool::~Pool() {
  kill(daemon_, SIGTERM);
  waitpid(daemon_, nullptr, 0);
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

std::vector<std::string> Pool::environment() const {
  return {"ROUSE_SOCKET=" + (directory_ / "rouse.sock").string()};
}

nlohmann::json Pool::runClient(const std::string& what) const {
  const Finished client = finish(start({binaryDirectory() / "rouse-bench", "remoting-client", what}, environment(), true));
  if (!client.well) throw std::runtime_error("measurement '" + what + "' failed");
  return nlohmann::json::parse(client.text);
}

IdleClients Pool::startIdleClients(int count) const {
  IdleClients clients;
  std::vector<int> outputs;
  for (int i = 0; i < count; ++i) {
    const Child child = start({binaryDirectory() / "rouse-bench", "remoting-client", "wait-idle"}, environment(), true);
    clients.pids_.push_back(child.pid);
    clients.stdins_.push_back(child.in);
    outputs.push_back(child.out);
  }
  for (const int out : outputs) {
    char line[16];
    const bool attached = read(out, line, sizeof line) > 0;
    close(out);
    if (!attached) throw std::runtime_error("an idle client could not attach");
  }
  return clients;
}

Client Pool::startClient(const std::vector<std::string>& arguments) const {
  std::vector<std::string> all{binaryDirectory() / "rouse-bench"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Child child = start(all, environment(), true);
  return {child.pid, child.in, child.out};
}

std::string Pool::rouse(std::vector<std::string> arguments) const {
  const std::string verb = arguments.front();
  arguments.insert(arguments.begin(), binaryDirectory() / "rouse");
  arguments.insert(arguments.end(), {"--socket", directory_ / "rouse.sock"});
  const Finished tool = finish(start(arguments, {}, true));
  if (!tool.well) throw std::runtime_error("rouse " + verb + " failed: " + tool.text);
  return tool.text;
}

void Pool::migrate(const Client& client, unsigned gpu) const {
  const nlohmann::json seen = status();  // which a loop over what it has must not outlive
  std::string session;
  for (const auto& function : seen.at("functions"))
    if (function.at("pid") == client.pid()) session = function.at("session").dump();
  rouse({"migrate", session, std::to_string(gpu)});
}

void Pool::tell(std::vector<std::string> arguments) const { rouse(std::move(arguments)); }

nlohmann::json Pool::status() const { return nlohmann::json::parse(rouse({"status", "--json"})); }

double Pool::cpuSeconds() const {
  double total = ticks(daemon_);
  for (const pid_t child : childrenOf(daemon_)) total += ticks(child);
  return total / static_cast<double>(sysconf(_SC_CLK_TCK));
}

bool rousedAccepts(const std::string& flag, const std::string& value) {
  char path[] = "/tmp/rouse-bench-XXXXXX";
  const int errors = mkostemp(path, O_CLOEXEC);
  if (errors < 0) throw std::runtime_error("cannot make a file in /tmp");
  unlink(path);
  // The last device named is the one that counts; a value that is refused is named in what roused says.
  const pid_t pid = start({binaryDirectory() / "roused", "--no-config", "--device", "none", flag, value}, {}, false, errors).pid;
  waitpid(pid, nullptr, 0);
  lseek(errors, 0, SEEK_SET);
  const std::string text = readAll(errors);
  close(errors);
  return text.find(flag) == std::string::npos && text.find("'" + value + "'") == std::string::npos;
}

}  // namespace rouse::bench

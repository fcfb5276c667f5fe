// What a function prints: to the log with its name, so much and no more, and the last of it kept. On the event loop's
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::functions {

class OutputLog {
 public:
  static constexpr std::size_t kLineBytes = 2000;  // longer lines are cut into several
  static constexpr std::size_t kKeptLines = 500;   // for `rouse logs`
  static constexpr std::size_t kKeptBytes = 64 << 10;
  static constexpr double kLinesPerSecond = 100,
                          kBurst = 500;  // to the log; what is more is counted, and kept all the same

  using OnLine = std::function<void(const std::string&)>;
  OutputLog(boost::asio::io_context&, OnLine log);
  ~OutputLog();

  // For a new process; returns its standard output and error. What earlier ones print is still read.
  Result<wire::OwnedFd> open();
  // The same through a named pipe at `path`, in the place of what is there: printing on goes well while no daemon reads (kPipeBytes are kept for the
  // next, then it waits), since the process has the pipe open for reading too.
  static constexpr int kPipeBytes = 1 << 20;
  Result<wire::OwnedFd> open(const std::string& path);
  // Of a process that has such a pipe already.
  Status reopen(const std::string& path);
  // A line of roused's own, kept among the function's; the log has it in another way.
  void note(const std::string& line);

  // The last `lines`, each ended by a line feed.
  std::string last(std::size_t lines) const;
  // Empty: nothing was printed.
  std::string lastLine() const { return kept_.empty() ? "" : kept_.back(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Pipe;
  void await(const std::shared_ptr<Pipe>&);
  void read(wire::OwnedFd);
  void add(std::string line);
  void keep(std::string line);

  boost::asio::io_context& io_;
  OnLine log_;
  std::shared_ptr<OutputLog*> self_;  // for pipes that outlive it
  std::deque<std::string> kept_;
  std::size_t keptBytes_ = 0;
  double allowed_ = kBurst;
  std::chrono::steady_clock::time_point allowedAt_;
  std::uint64_t dropped_ = 0, droppedNow_ = 0;
};

}  // namespace rouse::functions

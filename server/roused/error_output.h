// What a child process writes to its standard error: passed on to ours as it comes, and its last line kept, since that
// is often why it ends. Everything happens on the event loop's thread.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <string>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::daemon {

class ErrorOutput {
 public:
  explicit ErrorOutput(boost::asio::io_context& io) : pipe_(io) {}

  // Begins anew. Returns what the child gets as its standard error; to be closed here once it has it.
  Result<wire::OwnedFd> open();
  // Reads what is there now, and no more after it: for a child that has ended.
  void close();
  // Printable, 300 characters at most. Empty: it has written nothing.
  std::string lastLine() const;

 private:
  void await();
  ssize_t take();  // as read(2)

  boost::asio::posix::stream_descriptor pipe_;
  std::string line_, last_;  // being written; the last whole one that was not empty
};

}  // namespace rouse::daemon

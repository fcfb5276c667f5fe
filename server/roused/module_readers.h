// Threads that read what clients say their modules lie in. A file system may keep its readers for ever, one that the client serves itself say (FUSE):
// as many as there are to be go on, whoever is kept.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>

namespace rouse::daemon {

class ModuleReaders {
 public:
  // What is left to be done on the event loop's thread.
  using Then = std::function<void()>;
  // On a reader's thread. Its Then has all that must not be destroyed there.
  using Job = std::function<Then()>;

  ModuleReaders(boost::asio::io_context&, std::size_t readers);
  // Waits for those that get on, for a moment; nothing they come to is done any more.
  ~ModuleReaders();

  void run(Job);
  // Of the job that calls this: it is not kept. A job that has not said so for a second is.
  static void getsOn();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rouse::daemon

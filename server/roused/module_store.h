// Modules of device code, each content once on the node, however many functions load it. A content is a sealed memfd
// under a number of the daemon's; what makes two contents the same is their SHA-256, computed here. Whatever is done with a client's file is done by
// readers (module_readers.h): it may lie in a file system that the client serves, and answers when that likes. Everything else, callbacks included,
// happens on the event loop's thread.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"
#include "server/roused/module_readers.h"

namespace rouse::daemon {

inline constexpr std::uint64_t kMaxModuleBytes = std::uint64_t{1} << 30;

using Digest = std::array<std::uint8_t, 32>;

// Lives as long as somebody holds it; then its memory is freed, but its number is never another content's.
struct ModuleContent {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  Digest digest{};
  wire::OwnedFd memfd;  // sealed against any change
};
using ModuleContentPtr = std::shared_ptr<const ModuleContent>;

// A range of a file as it is now. Two equal ones hold the same bytes: the file's change time tells (not on file systems
// that do not keep it for writes through mappings, and not within the clock's grain: see recallable()).
struct FileRange {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t fileBytes = 0;
  std::int64_t changedNs = 0, modifiedNs = 0;
  std::uint64_t offset = 0, bytes = 0;
  auto operator<=>(const FileRange&) const = default;
};

class ModuleStore {
 public:
  explicit ModuleStore(boost::asio::io_context&, std::size_t threads = 2);
  ~ModuleStore();  // callbacks of what is under way are dropped

  using Done = std::function<void(Result<ModuleContentPtr>)>;
  // Takes a descriptor that a client sent. It must be open for reading and of a regular file or memfd that holds the
  // range.
  void intern(wire::OwnedFd file, std::uint64_t offset, std::uint64_t bytes, Done);

  // A content that an executor has kept from a daemon before this one, with the number it had there: hashed again, here and now. The same file
  // under the same number is hashed once. Errors: it is no sealed memfd of that size, or number or content is another's.
  Result<ModuleContentPtr> adopt(std::uint64_t number, wire::OwnedFd file, std::uint64_t bytes);

  std::size_t contents() const;
  std::uint64_t copies() const { return copies_; }  // ranges read and hashed so far; the rest were recalled

 private:
  struct Copied {
    Digest digest;
    wire::OwnedFd memfd;
  };
  // Of one range, from the reader's look at it on.
  struct Interning;
  void recall(const std::shared_ptr<Interning>&);
  static Result<Copied> copy(int file, std::uint64_t offset, std::uint64_t bytes);
  ModuleContentPtr keep(Copied, std::uint64_t bytes);
  void remember(const FileRange&, const ModuleContentPtr&);

  std::map<Digest, std::weak_ptr<const ModuleContent>> contents_;
  std::map<FileRange, std::weak_ptr<const ModuleContent>> ranges_;
  // The last few stay, so that a function that restarts finds its modules.
  std::deque<ModuleContentPtr> recent_;
  std::uint64_t nextId_ = 1;
  std::uint64_t copies_ = 0;
  ModuleReaders readers_;
};

}  // namespace rouse::daemon

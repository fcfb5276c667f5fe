// What one session lets other processes of its tenant have (cudaIpc*), and what it has of theirs. An export is found by the secret of its handle
// and by nothing else. It lives as long as anybody has it: its owner's memory stays where it is until then, whatever becomes of the owner.
// Who asks whom is the daemon's to judge; here handles are only looked up.
//
// Pure. Reactor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/range_map.h"
#include "schemas/base/range.h"
#include "schemas/base/result.h"
#include "schemas/wire/ipc_handle.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::executor {

// One session's, exported or open at one time.
inline constexpr std::size_t kMaxExports = 16384;
inline constexpr std::size_t kMaxImports = 16384;

struct Export {
  wire::IpcHandle handle;
  AddressRange range{};     // of memory
  std::uint32_t page = 0;   // of an event: where in its owner's slots it is
  wire::OwnedFd event{};    // its memory; nothing once it is withdrawn, which nobody is handed any more
  std::uint32_t users = 0;  // imports, and those that are about to be
  bool withdrawn = false;

  bool memory() const { return handle.kind == wire::IpcKind::memory; }
  void withdraw() {
    withdrawn = true;
    event.reset();
  }
};

class Exports {
 public:
  // The handle by which the range is exported: this one, or the one by which it has been. invalidValue where the range overlaps another one.
  Result<wire::IpcHandle> addMemory(const wire::IpcHandle& handle, AddressRange range);
  // What the page was exported as before is withdrawn: it is one event's at a time.
  Status addEvent(const wire::IpcHandle& handle, std::uint32_t page, wire::OwnedFd memory);
  // Null: there is none, or not any more.
  std::shared_ptr<Export> find(const wire::IpcHandle& handle) const;
  // Nobody opens it from now on. True: somebody has it open. What is not known has been withdrawn.
  bool withdraw(const wire::IpcHandle& handle);
  // What memory of the range is exported.
  void withdraw(AddressRange range);
  void withdrawAll();

  // Forgets what was withdrawn and is not in use any more.
  void settle();
  // That have not been withdrawn, or are in use.
  bool any() const { return !exports_.empty(); }
  bool inUse() const;
  bool memoryInUse() const;
  // Somebody has memory of the range.
  bool uses(AddressRange range) const;
  template <class Visit>
  void forEachInUse(Visit&& visit) const {
    for (const auto& each : exports_)
      if (each->users != 0) visit(*each);
  }

 private:
  std::vector<std::shared_ptr<Export>> exports_;
};

class Imports {
 public:
  ~Imports() { clear(); }
  Imports() = default;
  Imports(const Imports&) = delete;

  bool has(const wire::IpcHandle& handle) const;
  // The user that `from` counts already is this one from now on; after an error it is not.
  Status add(std::shared_ptr<Export> from);
  // It is not to be named any more. What is under way may still use it, until settle().
  void end(const wire::IpcHandle& handle);
  bool ending() const { return ending_ != 0; }
  // Nothing is under way: those that have ended are nobody's here any more; appends their ranges of memory.
  void settle(std::vector<AddressRange>& gone);
  void clear();

  // All of it is memory that may be named.
  bool contains(AddressRange range) const { return ranges_.size() != 0 && ranges_.contains(range.base, range.bytes); }
  bool any() const { return !imports_.empty(); }
  bool anyEvent() const;

 private:
  struct Import {
    std::shared_ptr<Export> from;
    bool ending = false;
  };
  std::vector<Import> imports_;
  std::size_t ending_ = 0;
  memory::RangeMap ranges_;
};

}  // namespace rouse::executor

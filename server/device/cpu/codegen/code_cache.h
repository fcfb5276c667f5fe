// Machine code that has been made before, on disk, found by what it was made from: the module's text, the unit of it, the
// processor, and the compiler (LLVM's version and the sources of ptx/ and codegen/). Nothing that is found can be stale.
//
// Any number of threads and processes share a directory. An entry appears under its name whole (written aside, then renamed), and is
// checked when it is read: one that is damaged, or somebody else's, is removed where that is possible, counts as rejected, and the
// code is compiled. Who can write into the directory can run code in executors, so it must belong to the user of the process and be
// writable by nobody else; it is made so (0700) where there is none. Entries that were not used longest go when there are more bytes than the limit.
//
// The cache never makes a compilation fail: what it cannot do, it does not do, and counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/base/result.h"

namespace rouse::cpu {

class CodeCache {
 public:
  using Key = std::array<std::uint8_t, 32>;

  // Of the code, beside its bytes: numbers that mean something to who stored it.
  struct Entry {
    std::array<std::uint32_t, 8> facts{};
    std::string object;
  };
  struct Counts {
    std::uint64_t found = 0, missed = 0, stored = 0, rejected = 0, unstored = 0, removed = 0;
  };

  // `directory`: absolute; made if need be. An error says why nothing can be kept there. `bytes`: of all entries, at least one MiB.
  static Result<std::unique_ptr<CodeCache>> open(const std::string& directory, std::uint64_t bytes);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;

  // Any thread.
  std::optional<Entry> find(const Key&);
  void store(const Key&, const Entry&);
  Counts counts() const;

 private:
  CodeCache(int directory, std::uint64_t bytes) : directory_(directory), limit_(bytes) {}
  void trim();

  const int directory_;
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> sinceTrim_;
  std::atomic<std::uint64_t> found_ = 0, missed_ = 0, stored_ = 0, rejected_ = 0, unstored_ = 0, removed_ = 0;
};

}  // namespace rouse::cpu

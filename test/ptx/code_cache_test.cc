#include "server/device/cpu/codegen/code_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "server/device/cpu/program.h"

namespace rouse::cpu {
namespace {

namespace fs = std::filesystem;

struct Scratch {
  Scratch() {
    char name[] = "/tmp/rouse-code-cache-XXXXXX";
    if (::mkdtemp(name) == nullptr) FAIL("mkdtemp");
    root = name;
  }
  ~Scratch() { fs::remove_all(root); }
  fs::path root;
  std::string cache() const { return root / "code"; }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    for (const auto& each : fs::directory_iterator(cache())) found.push_back(each.path());
    return found;
  }
};

std::unique_ptr<CodeCache> open(const Scratch& scratch, std::uint64_t bytes = 64 << 20) {
  auto cache = CodeCache::open(scratch.cache(), bytes);
  if (!cache) FAIL(cache.error().message);
  return std::move(*cache);
}

CodeCache::Key key(std::uint8_t number) {
  CodeCache::Key value{};
  value[0] = number;
  value[31] = 7;
  return value;
}

CodeCache::Entry entry(std::uint32_t number, std::size_t bytes = 5000) {
  CodeCache::Entry value{{number, 2, 3, 4, 5, 6, 7, ~number}, {}};
  std::minstd_rand random(number + 1);
  for (std::size_t i = 0; i < bytes; ++i) value.object.push_back(static_cast<char>(random()));
  return value;
}

bool same(const std::optional<CodeCache::Entry>& found, const CodeCache::Entry& expected) {
  return found && found->facts == expected.facts && found->object == expected.object;
}

TEST_CASE("what is stored is found, by others, too") {
  const Scratch scratch;
  const auto cache = open(scratch);
  CHECK_FALSE(cache->find(key(1)));
  cache->store(key(1), entry(1));
  cache->store(key(2), entry(2, 0));
  CHECK(same(cache->find(key(1)), entry(1)));
  CHECK(same(open(scratch)->find(key(2)), entry(2, 0)));
  CHECK_FALSE(cache->find(key(3)));
  const CodeCache::Counts counts = cache->counts();
  CHECK(counts.found == 1);
  CHECK(counts.missed == 2);
  CHECK(counts.stored == 2);
  CHECK(counts.rejected == 0);
  struct stat status {};
  REQUIRE(::stat(scratch.cache().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("a directory that others could write into is refused") {
  const Scratch scratch;
  const auto refusal = [&](const std::string& directory, std::uint64_t bytes) {
    const auto cache = CodeCache::open(directory, bytes);
    return cache ? std::string("opened") : cache.error().message;
  };
  CHECK(refusal("code", 1 << 20) == "code cache code: not an absolute path");
  CHECK(refusal(scratch.cache(), 1000).ends_with("1000 bytes, at least 1048576 are needed"));
  fs::create_directory(scratch.cache());
  REQUIRE(::chmod(scratch.cache().c_str(), 0770) == 0);
  CHECK(refusal(scratch.cache(), 1 << 20).ends_with("it must belong to the user of this process, and be writable by nobody else"));
  if (::geteuid() == 0) {
    REQUIRE(::chmod(scratch.cache().c_str(), 0700) == 0);
    REQUIRE(::chown(scratch.cache().c_str(), 12345, 12345) == 0);
    CHECK(refusal(scratch.cache(), 1 << 20).ends_with("writable by nobody else"));
  }
  std::ofstream(scratch.root / "file") << "text";
  CHECK(refusal(scratch.root / "file", 1 << 20).ends_with("Not a directory"));
  CHECK(refusal(scratch.root / "file" / "below", 1 << 20).ends_with("Not a directory"));
}

TEST_CASE("whatever happens to an entry's bytes, it is rejected and removed") {
  const Scratch scratch;
  const auto cache = open(scratch);
  std::uint64_t rejected = 0;
  const auto damaged = [&](const std::function<void(const fs::path&)>& damage) {
    cache->store(key(1), entry(1, 300));
    REQUIRE(scratch.entries().size() == 1);
    damage(scratch.entries().front());
    CHECK_FALSE(cache->find(key(1)));
    CHECK(cache->counts().rejected == ++rejected);
    CHECK(scratch.entries().empty());
  };
  const std::size_t bytes = 112 + 300;
  for (std::size_t at = 0; at < bytes; ++at) {
    damaged([&](const fs::path& path) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const char old = static_cast<char>(file.get());
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(old ^ 0x10));
    });
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{50}, std::size_t{111}, std::size_t{112}, bytes - 1, bytes + 1})
    damaged([&](const fs::path& path) { fs::resize_file(path, length); });
  damaged([&](const fs::path& path) { REQUIRE(::chmod(path.c_str(), 0666) == 0); });
  if (::geteuid() == 0) damaged([&](const fs::path& path) { REQUIRE(::chown(path.c_str(), 12345, 12345) == 0); });
  // A link is not followed, and a pipe not waited for.
  damaged([&](const fs::path& path) {
    fs::rename(path, scratch.root / "elsewhere");
    fs::create_symlink(scratch.root / "elsewhere", path);
  });
  damaged([&](const fs::path& path) {
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  });
  // Another's code under this name.
  cache->store(key(1), entry(1, 300));
  const fs::path one = scratch.entries().front();
  cache->store(key(2), entry(2, 300));
  const auto both = scratch.entries();
  fs::copy_file(both[0] == one ? both[1] : both[0], one, fs::copy_options::overwrite_existing);
  CHECK_FALSE(cache->find(key(1)));
  CHECK(same(cache->find(key(2)), entry(2, 300)));
}

TEST_CASE("there are never many more bytes than the limit, and what was used last stays") {
  const Scratch scratch;
  const std::uint64_t limit = 1 << 20;
  const auto cache = open(scratch, limit);
  const auto bytes = [&] {
    std::uint64_t sum = 0;
    for (const fs::path& path : scratch.entries()) sum += fs::file_size(path);
    return sum;
  };
  cache->store(key(0), entry(0, 50'000));
  const fs::path first = scratch.entries().front();
  // Used a day ago, and again now.
  const auto yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  fs::last_write_time(first, yesterday);
  CHECK(cache->find(key(0)));
  CHECK(fs::last_write_time(first) > yesterday + std::chrono::hours(23));
  for (std::uint8_t i = 1; i < 60; ++i) {
    cache->store(key(i), entry(i, 50'000));
    // Each older than all before: they go first, though they are newer.
    for (const fs::path& path : scratch.entries())
      if (path != first && fs::last_write_time(path) > yesterday) fs::last_write_time(path, yesterday - std::chrono::hours(i));
    CHECK(bytes() <= limit + limit / 8);
  }
  CHECK(cache->counts().removed > 0);
  CHECK(same(cache->find(key(0)), entry(0, 50'000)));
  cache->store(key(99), entry(99, 2 << 20));
  CHECK(cache->counts().unstored == 1);
  CHECK_FALSE(cache->find(key(99)));
}

TEST_CASE("what a process that died left half written goes") {
  const Scratch scratch;
  const auto cache = open(scratch);
  const fs::path old = fs::path(scratch.cache()) / "aside-1-1", young = fs::path(scratch.cache()) / "aside-1-2", foreign = fs::path(scratch.cache()) / "README";
  for (const fs::path& path : {old, young, foreign}) std::ofstream(path) << "text";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
  fs::last_write_time(foreign, fs::file_time_type::clock::now() - std::chrono::hours(1));
  cache->store(key(1), entry(1));
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(young));
  CHECK(fs::exists(foreign));
}

TEST_CASE("processes and threads share a directory") {
  const Scratch scratch;
  const auto work = [&](unsigned seed) {
    auto opened = CodeCache::open(scratch.cache(), 1 << 20);
    if (!opened) return false;
    CodeCache& cache = **opened;
    std::atomic<bool> right = true;
    const auto thread = [&](unsigned number) {
      std::minstd_rand random(number);
      for (int i = 0; i < 300; ++i) {
        const auto which = static_cast<std::uint8_t>(random() % 40);
        if (random() % 2 == 0) cache.store(key(which), entry(which, 40'000));
        else if (const auto found = cache.find(key(which)); found && !same(found, entry(which, 40'000))) right = false;
      }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i) threads.emplace_back(thread, seed * 3 + i + 1);
    for (std::thread& each : threads) each.join();
    return right && cache.counts().rejected == 0;
  };
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(work(i) ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  for (const fs::path& path : scratch.entries()) CHECK(path.extension() == ".code");
}

// One kernel that needs no other thread, one that waits, one that calls through a pointer.
constexpr const char* kProgram = R"(.version 7.0
.target sm_75
.address_size 64
.func (.param .u32 r) callee(.param .u32 a)
{
  .reg .u32 %r<2>;
  ld.param.u32 %r0, [a];
  add.u32 %r1, %r0, 5;
  st.param.u32 [r], %r1;
  ret;
}
.visible .entry plain(.param .u64 out)
{
  .reg .u64 %d<2>;
  .reg .u32 %r<2>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, 42;
  st.global.u32 [%d0], %r0;
  ret;
}
.visible .entry waits(.param .u64 out)
{
  .shared .align 4 .b8 room[256];
  .reg .u32 %r<2>;
  mov.u32 %r0, 1;
  st.shared.u32 [room], %r0;
  bar.sync 0;
  ret;
}
.visible .entry pointer(.param .u64 out)
{
  .reg .u64 %d<3>;
  .reg .u32 %r<3>;
  ld.param.u64 %d0, [out];
  mov.u64 %d1, callee;
  mov.u32 %r0, 37;
  {
    .param .u32 p;
    .param .u32 q;
    st.param.u32 [p], %r0;
    prototype: .callprototype (.param .u32 _) _ (.param .u32 _);
    call (q), %d1, (p), prototype;
    ld.param.u32 %r1, [q];
  }
  st.global.u32 [%d0], %r1;
  ret;
}
)";

TEST_CASE("code from the cache is the code that was compiled") {
  const Scratch scratch;
  const std::shared_ptr<CodeCache> cache = open(scratch);
  const auto check = [&](const std::shared_ptr<CodeCache>& in) {
    const auto program = Program::translate(kProgram, {.cache = in});
    if (!program) FAIL(program.error().message);
    const auto& kernels = (*program)->description().kernels;
    for (std::uint32_t kernel = 0; kernel < kernels.size(); ++kernel) {
      const auto code = (*program)->compile(kernel);
      if (!code) FAIL(code.error().message);
      if (kernels[kernel].name == "waits") {
        CHECK(code->loop != nullptr);
        CHECK(code->staticSharedBytes == 256);
        continue;
      }
      std::uint32_t out = 0;
      const std::uint64_t parameter = reinterpret_cast<std::uintptr_t>(&out);
      BlockContext block{};
      block.threads = block.ntid[0] = block.ntid[1] = block.ntid[2] = 1;
      block.nctaid[0] = block.nctaid[1] = block.nctaid[2] = 1;
      ThreadContext thread{};
      thread.block = &block;
      code->entry(&thread, reinterpret_cast<const std::byte*>(&parameter));
      CHECK(out == 42);
      out = 0;
      REQUIRE(code->loop != nullptr);
      code->loop(&block, reinterpret_cast<const std::byte*>(&parameter));
      CHECK(out == 42);
    }
  };
  check(nullptr);
  CHECK(scratch.entries().empty());
  check(cache);
  CHECK(cache->counts().stored == 4);  // the kernels, and the function whose address is taken
  CHECK(cache->counts().found == 0);
  check(cache);
  CHECK(cache->counts().stored == 4);
  CHECK(cache->counts().found == 4);
  // Damaged, it is compiled again.
  for (const fs::path& path : scratch.entries()) fs::resize_file(path, fs::file_size(path) - 1);
  check(cache);
  CHECK(cache->counts().rejected == 4);
  CHECK(cache->counts().stored == 8);
  // Another text is other code, though all its kernels are the same.
  std::string commented = kProgram;
  commented += "// a comment\n";
  const auto other = Program::translate(commented, {.cache = cache});
  REQUIRE(other);
  REQUIRE((*other)->compile(0));
  CHECK(cache->counts().stored == 9);
}

}  // namespace
}  // namespace rouse::cpu

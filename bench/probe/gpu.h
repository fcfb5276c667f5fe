// The driver and one GPU with its primary context, for measurements that call the driver as the CUDA device does.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "server/device/cuda/driver/load.h"

namespace rouse::probe {

// A driver call that failed, or a driver or GPU that is not there: one sentence.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// No driver, too old a driver, no GPU.
class NoGpu : public Failure {
 public:
  using Failure::Failure;
};

// Found, initialised, without a context. Throws NoGpu.
class Gpu {
 public:
  explicit Gpu(int ordinal);

  const cuda::Driver& driver() const { return *driver_; }
  CUdevice device() const { return device_; }
  int count() const { return count_; }
  int ordinal() const { return ordinal_; }

  // Throws Failure with the call's name and the driver's words.
  void check(CUresult result, const char* call) const;

 private:
  std::unique_ptr<cuda::Driver> driver_;
  CUdevice device_ = 0;
  int count_ = 0;
  int ordinal_ = 0;
};

// The primary context, current in this thread for the object's life.
class Context {
 public:
  explicit Context(const Gpu& gpu);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  const Gpu& gpu_;
};

class Stream {
 public:
  explicit Stream(const Gpu& gpu);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream get() const { return stream_; }
  void synchronize() const;

 private:
  const Gpu& gpu_;
  CUstream stream_ = nullptr;
};

// Code, from PTX.
class Library {
 public:
  Library(const Gpu& gpu, const char* ptx);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Of a kernel, loaded.
  CUfunction function(const char* kernel) const;
  // Now rather than at the object's end.
  CUresult unload();

 private:
  const Gpu& gpu_;
  CUlibrary library_ = nullptr;
};

// Device memory, made and mapped as the CUDA device makes its own: physical memory at a reserved address.
class DeviceMemory {
 public:
  DeviceMemory(const Gpu& gpu, std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  CUdeviceptr address() const { return address_; }

 private:
  void release();

  const Gpu& gpu_;
  std::size_t bytes_;
  CUdeviceptr address_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
  bool made_ = false, mapped_ = false;
};

// Host memory, touched and registered with the driver. Page-aligned.
class PinnedMemory {
 public:
  PinnedMemory(const Gpu& gpu, std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  char* get() const { return memory_; }
  CUdeviceptr deviceAddress() const;

 private:
  const Gpu& gpu_;
  std::size_t bytes_;
  char* memory_ = nullptr;
};

// What cuMemCreate and cuMemSetAccess are told for memory of this GPU.
CUmemAllocationProp allocation(const Gpu& gpu);
CUmemAccessDesc readWrite(const Gpu& gpu);
// Free bytes of the GPU's memory; needs a context.
std::size_t freeBytes(const Gpu& gpu);

}  // namespace rouse::probe

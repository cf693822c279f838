// Files and libraries that an artefact is made of, held open while a program lives.
#pragma once

#include <cstdint>
#include <string>

#include "swath_abi.h"

namespace swath {

// A file mapped read-only and shared with every other process that maps it.
class Mapping {
 public:
  Mapping() = default;
  // Maps all of a file, which must hold `size` bytes. Throws std::runtime_error with the system's
  // reason.
  Mapping(const std::string& path, int64_t size);
  Mapping(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  const char* data() const { return data_; }

  // Takes all pages into the page table now, so that the first calls don't meet page faults.
  void populate() const;

 private:
  const char* data_ = nullptr;
  int64_t size_ = 0;
};

// A compiled library; its three functions are described in swath_abi.h.
class Library {
 public:
  // Throws std::runtime_error where the library can't be loaded or speaks another ABI version.
  explicit Library(const std::string& path);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  int32_t run(const swath_call* call) const { return run_(call); }
  int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  void* handle_ = nullptr;
  int32_t (*run_)(const swath_call*) = nullptr;
  int64_t scratch_bytes_ = 0;
};

}  // namespace swath

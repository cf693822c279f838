// Memory that only grows, 64-byte aligned, with readable padding after its end.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "swath_abi.h"

namespace swath {

constexpr int64_t kAlignment = 64;

inline int64_t align_up(int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }

  // Makes room for `size` bytes; what was inside is lost when it has to grow.
  char* reserve(int64_t size) {
    if (size > capacity_) {
      std::free(data_);
      capacity_ = 0;
      int64_t total = align_up(size) + align_up(SWATH_PADDING);
      data_ = static_cast<char*>(std::aligned_alloc(kAlignment, static_cast<size_t>(total)));
      if (data_ == nullptr) throw std::bad_alloc();
      std::memset(data_, 0, static_cast<size_t>(total));
      capacity_ = align_up(size);
    }
    return data_;
  }

 private:
  char* data_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace swath

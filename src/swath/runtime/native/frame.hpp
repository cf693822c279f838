// What one call needs besides its arrays: lists with room for every leaf, staging memory and a
// scratch arena.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "array.hpp"
#include "buffer.hpp"

struct _object;  // PyObject; nothing here looks inside

namespace swath {

struct Frame {
  Frame(size_t inputs, size_t outputs, size_t buffers);

  std::vector<_object*> leaves;  // per input: the array, owned while the call lasts
  std::vector<View> views;       // per input
  std::vector<_object*> arrays;  // per output: the array that the caller gets
  std::vector<const void*> inputs;
  std::vector<int64_t> input_row_bytes;
  std::vector<int64_t> input_extents;
  std::vector<void*> buffers;        // outputs as the library sees them
  std::vector<int64_t> staged;       // per input: offset of its copy in `staging`, or -1
  std::vector<int64_t> staged_rows;  // per output: offset of its rows in `staging`, or -1
  std::vector<void*> results;        // per output: memory of the array that the caller gets
  Buffer staging;
  Buffer scratch;
  Frame* next = nullptr;  // links the frames of the helpers of one call
};

// Frames wait here between calls. Slots are taken and given back by atomic exchange, without a
// lock, so that a child after fork() never meets a lock that nobody will open.
class FramePool {
 public:
  FramePool(size_t inputs, size_t outputs, size_t buffers);
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool();

  Frame* take();
  void give(Frame* frame);

 private:
  static constexpr size_t kSlots = 64;
  size_t inputs_;
  size_t outputs_;
  size_t buffers_;
  std::array<std::atomic<Frame*>, kSlots> slots_{};
};

}  // namespace swath

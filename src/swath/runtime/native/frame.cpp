#include "frame.hpp"

namespace swath {

Frame::Frame(size_t inputs, size_t outputs, size_t buffers)
    : leaves(inputs),
      views(inputs),
      arrays(outputs),
      inputs(inputs),
      input_row_bytes(inputs),
      input_extents(inputs),
      buffers(buffers),
      staged(inputs),
      staged_rows(outputs),
      results(outputs) {}

FramePool::FramePool(size_t inputs, size_t outputs, size_t buffers)
    : inputs_(inputs), outputs_(outputs), buffers_(buffers) {}

FramePool::~FramePool() {
  for (auto& slot : slots_) delete slot.load();
}

Frame* FramePool::take() {
  for (auto& slot : slots_) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    Frame* frame = slot.exchange(nullptr, std::memory_order_acquire);
    if (frame != nullptr) return frame;
  }
  return new Frame(inputs_, outputs_, buffers_);
}

void FramePool::give(Frame* frame) {
  for (auto& slot : slots_) {
    Frame* empty = nullptr;
    if (slot.load(std::memory_order_relaxed) != nullptr) continue;
    if (slot.compare_exchange_strong(empty, frame, std::memory_order_release)) return;
  }
  delete frame;  // more calls at once than slots
}

}  // namespace swath

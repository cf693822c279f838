// A loaded artefact without Python: library, weights, tables, and the slicing of a call's rows over
// threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frame.hpp"
#include "mapping.hpp"

namespace swath {

struct FileRegion {
  std::string path;
  int64_t size;    // of the file
  int64_t offset;  // where the data begin
};

struct Schedule {
  int threads;              // at most so many threads work on one call
  int64_t thread_min_rows;  // fewer rows than this stay on the caller's thread
  int64_t rows_per_swath;   // no slice is larger than this
};

class Executable {
 public:
  Executable(const std::string& library, const FileRegion& weights,
             const std::vector<FileRegion>& tables, const Schedule& schedule, size_t inputs,
             size_t outputs, size_t buffers);

  // Runs all rows; inputs and buffers of the frame are set. Returns the fault with the smallest
  // row, kind 0 for none.
  swath_fault run(Frame& frame, int64_t rows);

  const char* weights() const { return weights_.data() + weights_offset_; }
  FramePool& frames() { return frames_; }
  int64_t scratch_bytes() const { return library_.scratch_bytes(); }
  int threads() const { return schedule_.threads; }

 private:
  friend struct SlicedCall;

  swath_fault run_slice(const Frame& frame, Frame& own, int64_t rows, int64_t begin,
                        int64_t end) const;
  Frame* take_frames(int64_t count);
  void give_frames(Frame* first);
  swath_fault run_sliced(Frame& frame, int64_t rows);
  int64_t slice_rows(int64_t rows) const;
  int64_t least_slice_rows() const;

  Library library_;
  Mapping weights_;
  int64_t weights_offset_;
  std::vector<Mapping> mapped_tables_;
  std::vector<const void*> tables_;
  Schedule schedule_;
  FramePool frames_;
};

}  // namespace swath

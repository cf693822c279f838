#include "executable.hpp"

#include <atomic>
#include <mutex>
#include <new>

#include "pool.hpp"

namespace swath {

namespace {

// Slices per thread: a thread that is held up then costs a quarter of its share, not all of it.
constexpr int64_t kSlicesPerThread = 4;

// Faults of the host, never reported by a library.
constexpr int64_t kOutOfMemory = -1;
constexpr int64_t kUnreported = -2;  // the library failed and didn't say why

Mapping mapped(const FileRegion& region) {
  Mapping mapping(region.path, region.size);
  if (region.populate) mapping.populate();
  return mapping;
}

bool comes_before(const swath_fault& a, const swath_fault& b) {
  if (a.kind == SWATH_FAULT_NONE) return false;
  return b.kind == SWATH_FAULT_NONE || a.row < b.row;
}

}  // namespace

Executable::Executable(const std::string& library, const FileRegion& weights,
                       const std::vector<FileRegion>& tables, const Schedule& schedule, size_t inputs,
                       size_t outputs, size_t buffers)
    : library_(library),
      weights_(mapped(weights)),
      weights_offset_(weights.offset),
      schedule_(schedule),
      frames_(inputs, outputs, buffers) {
  for (const FileRegion& table : tables) {
    mapped_tables_.push_back(mapped(table));
    tables_.push_back(mapped_tables_.back().data() + table.offset);
  }
}

swath_fault Executable::run(Frame& frame, int64_t rows) {
  if (schedule_.threads > 1 && rows >= schedule_.thread_min_rows && rows > schedule_.rows_per_swath) {
    return run_sliced(frame, rows);
  }
  return run_slice(frame, frame, rows, 0, rows);
}

swath_fault Executable::run_slice(const Frame& frame, Frame& own, int64_t rows, int64_t begin,
                                  int64_t end) const {
  swath_fault fault = {SWATH_FAULT_NONE, 0, 0, 0};
  swath_call call;
  call.inputs = frame.inputs.data();
  call.input_row_bytes = frame.input_row_bytes.data();
  call.input_extents = frame.input_extents.data();
  call.outputs = frame.buffers.data();
  call.weights = weights();
  call.tables = tables_.data();
  call.rows = rows;
  call.row_begin = begin;
  call.row_end = end;
  call.scratch = own.scratch.reserve(library_.scratch_bytes());
  call.fault = &fault;
  int32_t status = library_.run(&call);
  if (status != 0 && fault.kind == SWATH_FAULT_NONE) fault = {kUnreported, 0, begin, 0};
  return fault;
}

// A call that several threads work on: each takes the next slice until none is left.
struct SlicedCall {
  Executable& executable;
  Frame& frame;
  int64_t rows;
  int64_t slice_rows;
  std::atomic<int64_t> next_row{0};
  std::atomic<bool> frame_taken{false};
  std::mutex mutex;
  swath_fault fault = {SWATH_FAULT_NONE, 0, 0, 0};

  static void work(void* context) { static_cast<SlicedCall*>(context)->work(); }

  void work() noexcept {
    swath_fault first = {SWATH_FAULT_NONE, 0, 0, 0};
    Frame* own = nullptr;
    bool shares_frame = !frame_taken.exchange(true);
    try {
      own = shares_frame ? &frame : executable.frames_.take();
      for (;;) {
        int64_t begin = next_row.fetch_add(slice_rows);
        if (begin >= rows) break;
        int64_t end = begin + slice_rows < rows ? begin + slice_rows : rows;
        swath_fault found = executable.run_slice(frame, *own, rows, begin, end);
        if (comes_before(found, first)) first = found;
      }
    } catch (const std::bad_alloc&) {
      first = {kOutOfMemory, 0, -1, 0};
    }
    if (own != nullptr && !shares_frame) executable.frames_.give(own);
    if (first.kind == SWATH_FAULT_NONE) return;
    std::lock_guard<std::mutex> lock(mutex);
    if (comes_before(first, fault)) fault = first;
  }
};

swath_fault Executable::run_sliced(Frame& frame, int64_t rows) {
  int64_t unit = schedule_.rows_per_swath;
  int64_t wanted = rows / (schedule_.threads * kSlicesPerThread);
  int64_t slice_rows = (wanted + unit - 1) / unit * unit;
  if (slice_rows < unit) slice_rows = unit;
  int64_t slices = (rows + slice_rows - 1) / slice_rows;
  int64_t helpers = (slices < schedule_.threads ? slices : schedule_.threads) - 1;

  SlicedCall call{*this, frame, rows, slice_rows};
  Job job;
  job.work = SlicedCall::work;
  job.context = &call;
  Pool::shared().run(job, static_cast<int>(helpers));
  if (call.fault.kind == kOutOfMemory) throw std::bad_alloc();
  return call.fault;
}

}  // namespace swath

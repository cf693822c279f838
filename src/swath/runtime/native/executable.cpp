#include "executable.hpp"

#include <atomic>
#include <mutex>
#include <new>

#include "pool.hpp"

namespace swath {

namespace {

// Waking a helper takes about 50 us; with four slices per thread its share shrinks by what it
// missed.
constexpr int64_t kSlicesPerThread = 4;

// Shorter slices would read the weights too often for what they compute.
constexpr int64_t kLeastSliceRows = 32;

// A fault that no library reports: it failed and didn't say why.
constexpr int64_t kUnreported = -1;

Mapping mapped(const FileRegion& region) { return Mapping(region.path, region.size); }

bool comes_before(const swath_fault& a, const swath_fault& b) {
  if (a.kind == SWATH_FAULT_NONE) return false;
  return b.kind == SWATH_FAULT_NONE || a.row < b.row;
}

}  // namespace

Executable::Executable(const std::string& library, const FileRegion& weights,
                       const std::vector<FileRegion>& tables, const Schedule& schedule,
                       size_t inputs, size_t outputs, size_t buffers)
    : library_(library),
      weights_(mapped(weights)),
      weights_offset_(weights.offset),
      schedule_(schedule),
      frames_(inputs, outputs, buffers) {
  weights_.populate();  // every call reads all of them
  for (const FileRegion& table : tables) {
    mapped_tables_.push_back(mapped(table));
    tables_.push_back(mapped_tables_.back().data() + table.offset);
  }
}

swath_fault Executable::run(Frame& frame, int64_t rows) {
  bool shared = schedule_.threads > 1 && rows >= schedule_.thread_min_rows;
  if (shared && rows >= 2 * least_slice_rows()) {
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

Frame* Executable::take_frames(int64_t count) {
  Frame* first = nullptr;
  try {
    for (int64_t i = 0; i < count; ++i) {
      Frame* frame = frames_.take();
      frame->next = first;
      first = frame;
      frame->scratch.reserve(library_.scratch_bytes());
    }
  } catch (const std::bad_alloc&) {
    give_frames(first);
    throw;
  }
  return first;
}

void Executable::give_frames(Frame* first) {
  while (first != nullptr) {
    Frame* next = first->next;
    first->next = nullptr;
    frames_.give(first);
    first = next;
  }
}

// A call that several threads work on: each takes the next slice until none is left. Its memory is
// made before it begins, so that neither a helper that comes late nor one that comes for the first
// time allocates.
struct SlicedCall {
  Executable& executable;
  Frame& frame;  // with the arrays; `frame.next` links one more for each helper
  int64_t rows;
  int64_t slice_rows;
  std::atomic<int64_t> next_row{0};
  std::atomic<int> threads{0};
  std::mutex mutex;
  swath_fault fault = {SWATH_FAULT_NONE, 0, 0, 0};

  static void work(void* context) { static_cast<SlicedCall*>(context)->work(); }

  void work() {
    Frame* own = &frame;
    for (int before = threads.fetch_add(1); before > 0; --before) own = own->next;
    swath_fault first = {SWATH_FAULT_NONE, 0, 0, 0};
    for (;;) {
      int64_t begin = next_row.fetch_add(slice_rows);
      if (begin >= rows) break;
      int64_t end = begin + slice_rows < rows ? begin + slice_rows : rows;
      swath_fault found = executable.run_slice(frame, *own, rows, begin, end);
      if (comes_before(found, first)) first = found;
    }
    if (first.kind == SWATH_FAULT_NONE) return;
    std::lock_guard<std::mutex> lock(mutex);
    if (comes_before(first, fault)) fault = first;
  }
};

// Rows per slice: as many slices for each thread as for any other, none larger than a swath, and
// several per thread where the rows allow it, so that a helper that wakes late does less.
int64_t Executable::slice_rows(int64_t rows) const {
  int64_t unit = schedule_.rows_per_swath;
  int64_t least = least_slice_rows();
  int64_t threads = schedule_.threads;
  if (threads > rows / least) threads = rows / least;
  int64_t swaths = (rows + unit - 1) / unit;
  int64_t needed = (swaths + threads - 1) / threads;
  int64_t possible = rows / (threads * least);
  int64_t wanted = possible < kSlicesPerThread ? possible : kSlicesPerThread;
  int64_t slices = (needed > wanted ? needed : wanted) * threads;
  return (rows + slices - 1) / slices;
}

int64_t Executable::least_slice_rows() const {
  return schedule_.rows_per_swath < kLeastSliceRows ? schedule_.rows_per_swath : kLeastSliceRows;
}

swath_fault Executable::run_sliced(Frame& frame, int64_t rows) {
  int64_t slice_rows = this->slice_rows(rows);
  int64_t slices = (rows + slice_rows - 1) / slice_rows;
  int64_t helpers = (slices < schedule_.threads ? slices : schedule_.threads) - 1;
  Pool& pool = Pool::shared();
  if (helpers > pool.limit()) helpers = pool.limit();

  frame.scratch.reserve(library_.scratch_bytes());
  frame.next = take_frames(helpers);
  SlicedCall call{*this, frame, rows, slice_rows};
  Job job;
  job.work = SlicedCall::work;
  job.context = &call;
  pool.run(job, static_cast<int>(helpers));
  give_frames(frame.next);
  frame.next = nullptr;
  return call.fault;
}

}  // namespace swath

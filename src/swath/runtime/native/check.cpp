// Checking the inputs of a call, and copying those that the library can't read where they lie.
#include "call.hpp"

namespace swath {

namespace {

bool is_compact(const View& view, int first_axis) {
  if (view.strides == nullptr) return true;
  int64_t expected = item_size(view.dtype);
  for (int axis = view.rank - 1; axis >= first_axis; --axis) {
    if (view.shape[axis] != 1 && view.strides[axis] * view.stride_unit != expected) return false;
    expected *= view.shape[axis];
  }
  return true;
}

bool is_aligned(const char* data, int64_t row_bytes, int64_t item) {
  return (reinterpret_cast<uintptr_t>(data) | static_cast<uintptr_t>(row_bytes)) %
             static_cast<uintptr_t>(item) ==
         0;
}

}  // namespace

bool Call::check_inputs() {
  size_t count = signature_.inputs.size();
  for (size_t i = 0; i < count; ++i) {
    if (!borrow(i) || !check(i)) return false;
  }
  if (rows_ < 0) rows_ = 1;  // no input has a batch axis
  for (size_t i = 0; i < count; ++i) {
    if (signature_.inputs[i].kind == InputKind::kRagged && !check_ragged(i)) return false;
    place(i);
  }
  return true;
}

bool Call::borrow(size_t input) {
  PyObject*& object = frame_->leaves[input];
  View& view = frame_->views[input];
  if (is_numpy(object)) {
    view_numpy(object, view);
    return true;
  }
  const ExchangeTypes::Known type = program_.types->find(Py_TYPE(object));
  if (type.api == nullptr) return adapt(input);
  int unreadable = view_exchanged(object, *type.api, view) ? 0 : -1;
  if (unreadable == 0 && type.negates_lazily && is_floating(view.dtype))
    unreadable = program_.types->is_negated(object);
  if (unreadable == 0) {
    if (api_ == nullptr) api_ = type.api;
    return true;
  }
  if (unreadable > 0) return refuse("not_readable", static_cast<Py_ssize_t>(input), object);
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
  PyErr_Clear();
  return refuse("not_readable", static_cast<Py_ssize_t>(input), object);
}

// Whatever else can be seen as an array (a subclass of ndarray, `__dlpack__`) becomes one in
// Python.
bool Call::adapt(size_t input) {
  PyObject*& object = frame_->leaves[input];
  PyObject* array = PyObject_CallOneArg(program_.adapt, object);
  if (array == nullptr) return false;
  if (!is_numpy(array)) {
    Py_DECREF(array);
    return refuse("not_an_array", static_cast<Py_ssize_t>(input), object);
  }
  Py_SETREF(object, array);
  view_numpy(array, frame_->views[input]);
  return true;
}

bool Call::check(size_t input) {
  const Input& spec = signature_.inputs[input];
  const View& view = frame_->views[input];
  auto index = static_cast<Py_ssize_t>(input);
  if (!view.on_cpu) return refuse("device", index, frame_->leaves[input]);
  if (view.dtype != spec.layout.dtype) return refuse("dtype", index, frame_->leaves[input]);
  switch (spec.kind) {
    case InputKind::kRows:
    case InputKind::kOnce: return check_shape(input, spec.layout);
    case InputKind::kOffsets: return check_offsets(input);
    case InputKind::kRagged:
      return view.rank == 1 || refuse("rank", index, frame_->leaves[input], view.rank, 1);
  }
  return false;
}

bool Call::check_shape(size_t input, const Layout& layout) {
  const View& view = frame_->views[input];
  auto index = static_cast<Py_ssize_t>(input);
  int rank = static_cast<int>(layout.row_shape.size());
  if (view.rank != rank) return refuse("rank", index, frame_->leaves[input], view.rank, rank);
  for (int axis = 0; axis < rank; ++axis) {
    bool fits = axis == layout.batch_axis
                    ? view.shape[axis] % layout.multiple == 0
                    : view.shape[axis] == layout.row_shape[static_cast<size_t>(axis)];
    if (!fits) return refuse("shape", index, frame_->leaves[input], axis);
  }
  return layout.batch_axis < 0 ||
         check_rows(input, view.shape[layout.batch_axis] / layout.multiple);
}

bool Call::check_offsets(size_t input) {
  const Input& spec = signature_.inputs[input];
  const View& view = frame_->views[input];
  auto index = static_cast<Py_ssize_t>(input);
  if (view.rank != 1) return refuse("rank", index, frame_->leaves[input], view.rank, 1);
  int64_t bags = view.shape[0] - (spec.include_last_offset ? 1 : 0);
  if (bags < 0 || bags % spec.layout.multiple != 0)
    return refuse("shape", index, frame_->leaves[input], 0);
  return check_rows(input, bags / spec.layout.multiple);
}

bool Call::check_rows(size_t input, int64_t rows) {
  if (rows_ < 0) {
    rows_ = rows;
    rows_from_ = static_cast<int64_t>(input);
    return true;
  }
  return rows == rows_ ||
         refuse("batch", static_cast<Py_ssize_t>(input), frame_->leaves[input], rows_from_, rows_);
}

// Columns that share offsets must be equally long: without a last offset, bags run to the end of
// the values.
bool Call::check_ragged(size_t input) {
  int offsets = signature_.inputs[input].offsets;
  for (size_t other = 0; other < input; ++other) {
    const Input& spec = signature_.inputs[other];
    if (spec.kind != InputKind::kRagged || spec.offsets != offsets) continue;
    int64_t length = frame_->views[other].shape[0];
    if (length == frame_->views[input].shape[0]) return true;
    return refuse("ragged_length", static_cast<Py_ssize_t>(input), frame_->leaves[input],
                  static_cast<int64_t>(other), length);
  }
  return true;
}

// Tells the library where an input lies, or plans a copy where its rows aren't contiguous.
void Call::place(size_t input) {
  const Input& spec = signature_.inputs[input];
  const Layout& layout = spec.layout;
  const View& view = frame_->views[input];
  int64_t item = item_size(view.dtype);
  // The values of a ragged input have no batch axis: every slice of rows gets all of them.
  bool has_rows = spec.kind == InputKind::kRows || spec.kind == InputKind::kOffsets;
  int64_t row_bytes = has_rows ? layout.row_items * item : 0;
  int64_t extent = view.rank > 0 ? view.shape[0] : 1;
  frame_->input_extents[input] = extent;
  frame_->input_row_bytes[input] = row_bytes;
  frame_->staged[input] = -1;
  frame_->inputs[input] = view.data;

  // Offsets are checked in a copy, which nobody can change between the check and the use.
  if (spec.kind == InputKind::kOffsets || !layout.rows_contiguous) return stage(input);
  bool one_row_apart =
      spec.kind == InputKind::kRows && layout.multiple == 1 && rows_ > 1 && view.strides != nullptr;
  if (!is_compact(view, one_row_apart ? layout.batch_axis + 1 : 0)) return stage(input);
  if (one_row_apart) {
    int64_t stride = view.strides[layout.batch_axis] * view.stride_unit;
    if (stride < row_bytes) return stage(input);
    frame_->input_row_bytes[input] = row_bytes = stride;
  }
  if (!is_aligned(view.data, row_bytes, item)) stage(input);
}

void Call::stage(size_t input) {
  const Input& spec = signature_.inputs[input];
  bool flat = spec.kind == InputKind::kRagged || spec.kind == InputKind::kOffsets;
  int64_t items = spec.layout.row_items * (spec.layout.batch_axis < 0 ? 1 : rows_);
  if (flat) items = frame_->input_extents[input];
  int64_t item = item_size(spec.layout.dtype);
  frame_->staged[input] = staging_bytes_;
  if (spec.kind == InputKind::kRows) frame_->input_row_bytes[input] = spec.layout.row_items * item;
  staging_bytes_ += align_up(items * item) + align_up(SWATH_PADDING);
}

bool Call::copy_staged() {
  if (staging_bytes_ == 0) return true;
  char* base = frame_->staging.reserve(staging_bytes_);
  for (size_t i = 0; i < signature_.inputs.size(); ++i) {
    if (frame_->staged[i] < 0) continue;
    char* copy = base + frame_->staged[i];
    gather(copy, frame_->views[i], signature_.inputs[i].layout);
    frame_->inputs[i] = copy;
  }
  for (size_t i = 0; i < signature_.inputs.size(); ++i) {
    const Input& spec = signature_.inputs[i];
    if (spec.kind != InputKind::kRagged) continue;
    auto offsets = static_cast<size_t>(spec.offsets);
    const void* copy = frame_->inputs[offsets];
    int64_t count = frame_->input_extents[offsets];
    int64_t values = frame_->input_extents[i];
    bool fine = signature_.inputs[offsets].layout.dtype == DType::kInt64
                    ? check_offset_values(i, static_cast<const int64_t*>(copy), count, values)
                    : check_offset_values(i, static_cast<const int32_t*>(copy), count, values);
    if (!fine) return false;
  }
  return true;
}

template <class Offset>
bool Call::check_offset_values(size_t input, const Offset* offsets, int64_t count, int64_t values) {
  auto index = static_cast<Py_ssize_t>(signature_.inputs[input].offsets);
  PyObject* subject = frame_->leaves[input];
  if (count == 0) return true;
  if (offsets[0] != 0) return refuse("offsets_first", index, subject, 0, offsets[0]);
  bool rising = true;
  for (int64_t i = 1; i < count; ++i) rising &= offsets[i - 1] <= offsets[i];
  if (rising && offsets[count - 1] <= values) return true;
  for (int64_t i = 1; i < count; ++i) {
    if (offsets[i - 1] > offsets[i])
      return refuse("offsets_decrease", index, subject, i, offsets[i]);
    if (offsets[i] > values) return refuse("offsets_overrun", index, subject, i, offsets[i]);
  }
  return true;
}

// Copies an array so that rows come first and each row is compact: [pre, B, post] on the batch axis
// to [B, pre, post].
void Call::gather(char* to, const View& view, const Layout& layout) const {
  int64_t extents[kMaxRank + 2];
  int64_t strides[kMaxRank + 2];
  int64_t compact = item_size(view.dtype);
  int64_t source[kMaxRank];
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    source[axis] = view.strides == nullptr ? compact : view.strides[axis] * view.stride_unit;
    compact *= view.shape[axis];
  }
  int rank = 0;
  bool splits = layout.batch_axis >= 0 && view.shape[layout.batch_axis] == rows_ * layout.multiple;
  if (splits) {
    extents[rank] = rows_;
    strides[rank++] = source[layout.batch_axis] * layout.post;
  }
  for (int axis = 0; axis < view.rank; ++axis) {
    if (splits && axis == layout.batch_axis) {
      extents[rank] = layout.multiple / layout.post;
      strides[rank++] = source[axis] * layout.post * rows_;
      extents[rank] = layout.post;
    } else {
      extents[rank] = view.shape[axis];
    }
    strides[rank++] = source[axis];
  }
  copy_strided(to, view.data, rank, extents, strides, item_size(view.dtype));
}

}  // namespace swath

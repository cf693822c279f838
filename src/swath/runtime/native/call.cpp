#include "call.hpp"

#include <exception>
#include <new>

namespace swath {

namespace {

// Releases the GIL while it lives.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_;
};

bool is_whole(const View& view, int rank, const int64_t* shape) {
  if (view.rank != rank) return false;
  int64_t expected = item_size(view.dtype);
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (view.shape[axis] != shape[axis]) return false;
    bool apart = view.strides != nullptr && shape[axis] != 1;
    if (apart && view.strides[axis] * view.stride_unit != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

}  // namespace

Call::Call(Program& program) : program_(program), signature_(*program.signature) {}

Call::~Call() {
  if (frame_ == nullptr) return;
  for (PyObject*& leaf : frame_->leaves) Py_CLEAR(leaf);
  for (PyObject*& array : frame_->arrays) Py_CLEAR(array);
  program_.executable->frames().give(frame_);
  if (--program_.running > 0 || !program_.closed) return;
  delete program_.executable;
  program_.executable = nullptr;
}

bool Call::enter() {
  if (program_.closed) return refuse("closed", -1, Py_None);
  frame_ = program_.executable->frames().take();
  ++program_.running;
  return true;
}

bool Call::make_outputs() {
  for (size_t i = 0; i < signature_.outputs.size(); ++i) {
    if (!make_output(i)) return false;
    aim_buffer(i);
  }
  return true;
}

int Call::output_shape(const Layout& layout, int64_t* shape) const {
  int rank = static_cast<int>(layout.row_shape.size());
  for (int axis = 0; axis < rank; ++axis) {
    shape[axis] =
        layout.row_shape[static_cast<size_t>(axis)] * (axis == layout.batch_axis ? rows_ : 1);
  }
  return rank;
}

bool Call::make_output(size_t output) {
  const Output& spec = signature_.outputs[output];
  PyObject*& array = frame_->arrays[output];
  if (spec.source == SourceKind::kInput) {
    array = frame_->leaves[static_cast<size_t>(spec.where)];
    Py_INCREF(array);
    return true;
  }
  int64_t shape[kMaxRank];
  int rank = output_shape(spec.layout, shape);
  if (api_ == nullptr && spec.layout.dtype == DType::kBFloat16) {
    return refuse("no_bfloat16", static_cast<Py_ssize_t>(output), Py_None);
  }
  void** data = &frame_->results[output];
  array = api_ == nullptr ? make_numpy(spec.layout.dtype, rank, shape, data)
                          : make_exchanged(*api_, spec.layout.dtype, rank, shape, data);
  return array != nullptr;
}

bool Call::use_outputs(PyObject* const* arrays, Py_ssize_t count) {
  if (static_cast<size_t>(count) != signature_.outputs.size()) {
    return refuse("flat_outputs", count, Py_None, static_cast<int64_t>(signature_.outputs.size()));
  }
  for (size_t i = 0; i < signature_.outputs.size(); ++i) {
    if (!use_output(i, arrays[i])) return false;
    aim_buffer(i);
  }
  return true;
}

bool Call::use_output(size_t output, PyObject* array) {
  const Layout& layout = signature_.outputs[output].layout;
  auto index = static_cast<Py_ssize_t>(output);
  View view;
  if (is_numpy(array)) {
    view_numpy(array, view);
  } else {
    const dlpack::ExchangeApi* api = program_.types->find(Py_TYPE(array)).api;
    if (api == nullptr) return refuse("output_not_an_array", index, array);
    if (!view_exchanged(array, *api, view)) return false;
  }
  int64_t shape[kMaxRank];
  int rank = output_shape(layout, shape);
  bool fits =
      view.dtype == layout.dtype && view.on_cpu && view.writable && is_whole(view, rank, shape);
  if (!fits) return refuse("output_misfit", index, array, rows_);
  frame_->results[output] = view.data;
  return true;
}

// Where the library writes an output: into the array itself, or into staging where its rows lie
// inside other axes.
void Call::aim_buffer(size_t output) {
  const Output& spec = signature_.outputs[output];
  if (spec.source != SourceKind::kRows) return;
  frame_->staged_rows[output] = -1;
  frame_->buffers[static_cast<size_t>(spec.where)] = frame_->results[output];
  if (spec.layout.rows_contiguous) return;
  frame_->staged_rows[output] = staging_bytes_;
  int64_t bytes = rows_ * spec.layout.row_items * item_size(spec.layout.dtype);
  staging_bytes_ += align_up(bytes) + align_up(SWATH_PADDING);
}

bool Call::run() {
  if (!copy_staged()) return false;
  for (size_t i = 0; i < signature_.outputs.size(); ++i) {
    const Output& spec = signature_.outputs[i];
    if (spec.source != SourceKind::kRows || frame_->staged_rows[i] < 0) continue;
    char* staged = frame_->staging.reserve(staging_bytes_) + frame_->staged_rows[i];
    frame_->buffers[static_cast<size_t>(spec.where)] = staged;
  }
  swath_fault fault;
  {
    Unlocked unlocked;
    fault = program_.executable->run(*frame_, rows_);
    if (fault.kind == SWATH_FAULT_NONE) finish_outputs();
  }
  return fault.kind == SWATH_FAULT_NONE || explain_fault(fault);
}

void Call::finish_outputs() {
  for (size_t i = 0; i < signature_.outputs.size(); ++i) {
    const Output& spec = signature_.outputs[i];
    const Layout& layout = spec.layout;
    int64_t item = item_size(layout.dtype);
    auto* result = static_cast<char*>(frame_->results[i]);
    if (spec.source == SourceKind::kConstant) {
      std::memcpy(result, program_.executable->weights() + spec.where,
                  static_cast<size_t>(layout.row_items * item));
    } else if (spec.source == SourceKind::kRows && frame_->staged_rows[i] >= 0) {
      const char* staged = frame_->staging.reserve(staging_bytes_) + frame_->staged_rows[i];
      int64_t inner = layout.post * item;
      for (size_t axis = static_cast<size_t>(layout.batch_axis) + 1; axis < layout.row_shape.size();
           ++axis) {
        inner *= layout.row_shape[axis];
      }
      int64_t outer = inner == 0 ? 0 : layout.row_items * item / inner;
      copy_rows_inside(result, staged, rows_, outer, inner);
    }
  }
}

bool Call::explain_fault(const swath_fault& fault) {
  auto count = static_cast<Py_ssize_t>(frame_->leaves.size());
  PyObject* leaves = PyTuple_New(count);
  if (leaves == nullptr) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* leaf = frame_->leaves[static_cast<size_t>(i)];
    Py_INCREF(leaf);
    PyTuple_SET_ITEM(leaves, i, leaf);
  }
  const char* code = fault.kind == SWATH_FAULT_ID_RANGE  ? "fault_id"
                     : fault.kind == SWATH_FAULT_OFFSETS ? "fault_offsets"
                     : fault.kind == SWATH_FAULT_INDEX   ? "fault_index"
                                                         : "fault_unknown";
  refuse(code, static_cast<Py_ssize_t>(fault.lookup), leaves, fault.row, fault.value);
  Py_DECREF(leaves);
  return false;
}

PyObject* Call::result() { return result_node(signature_.result); }

PyObject* Call::result_node(const Node& node) {
  if (node.kind == NodeKind::kLeaf) {
    PyObject* array = frame_->arrays[static_cast<size_t>(node.leaf)];
    Py_INCREF(array);
    return array;
  }
  if (node.kind == NodeKind::kConstant) {
    Py_INCREF(node.constant);
    return node.constant;
  }
  auto count = static_cast<Py_ssize_t>(node.items.size());
  PyObject* container = node.kind == NodeKind::kDict   ? PyDict_New()
                        : node.kind == NodeKind::kList ? PyList_New(count)
                                                       : PyTuple_New(count);
  for (Py_ssize_t i = 0; container != nullptr && i < count; ++i) {
    PyObject* item = result_node(node.items[static_cast<size_t>(i)]);
    if (item == nullptr) {
      Py_CLEAR(container);
    } else if (node.kind == NodeKind::kDict) {
      if (PyDict_SetItem(container, node.keys[static_cast<size_t>(i)], item) != 0)
        Py_CLEAR(container);
      Py_DECREF(item);
    } else if (node.kind == NodeKind::kList) {
      PyList_SET_ITEM(container, i, item);
    } else {
      PyTuple_SET_ITEM(container, i, item);
    }
  }
  return container;
}

bool Call::refuse(const char* code, Py_ssize_t index, PyObject* subject, int64_t a, int64_t b) {
  PyObject* error = PyObject_CallFunction(program_.explain, "snOLL", code, index, subject,
                                          static_cast<long long>(a), static_cast<long long>(b));
  if (error == nullptr) return false;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(error);
  return false;
}

}  // namespace swath

#include "view.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <cstdlib>
#include <cstring>

#include "buffer.hpp"

namespace swath {

namespace {

static_assert(sizeof(npy_intp) == sizeof(int64_t), "shapes are read as int64");

DType from_numpy(int type_number) {
  switch (type_number) {
    case NPY_BOOL: return DType::kBool;
    case NPY_UBYTE: return DType::kUInt8;
    case NPY_BYTE: return DType::kInt8;
    case NPY_SHORT: return DType::kInt16;
    case NPY_INT: return DType::kInt32;
    case NPY_LONG: return sizeof(long) == 8 ? DType::kInt64 : DType::kInt32;
    case NPY_LONGLONG: return DType::kInt64;
    case NPY_HALF: return DType::kFloat16;
    case NPY_FLOAT: return DType::kFloat32;
    case NPY_DOUBLE: return DType::kFloat64;
    default: return DType::kUnknown;
  }
}

int to_numpy(DType dtype) {
  switch (dtype) {
    case DType::kBool: return NPY_BOOL;
    case DType::kUInt8: return NPY_UINT8;
    case DType::kInt8: return NPY_INT8;
    case DType::kInt16: return NPY_INT16;
    case DType::kInt32: return NPY_INT32;
    case DType::kInt64: return NPY_INT64;
    case DType::kFloat16: return NPY_HALF;
    case DType::kFloat32: return NPY_FLOAT;
    case DType::kFloat64: return NPY_DOUBLE;
    default: return NPY_NOTYPE;
  }
}

struct Code {
  uint8_t code;
  uint8_t bits;
  DType dtype;
};

constexpr uint8_t kInt = 0;
constexpr uint8_t kUInt = 1;
constexpr uint8_t kFloat = 2;
constexpr uint8_t kBFloat = 4;
constexpr uint8_t kBool = 6;

constexpr Code kCodes[] = {
    {kFloat, 32, DType::kFloat32},   {kInt, 64, DType::kInt64}, {kInt, 32, DType::kInt32},
    {kFloat, 64, DType::kFloat64},   {kBool, 8, DType::kBool},  {kUInt, 8, DType::kUInt8},
    {kInt, 8, DType::kInt8},         {kInt, 16, DType::kInt16}, {kFloat, 16, DType::kFloat16},
    {kBFloat, 16, DType::kBFloat16},
};

DType from_dlpack(dlpack::DataType type) {
  if (type.lanes != 1) return DType::kUnknown;
  for (const Code& code : kCodes) {
    if (code.code == type.code && code.bits == type.bits) return code.dtype;
  }
  return DType::kUnknown;
}

dlpack::DataType to_dlpack(DType dtype) {
  for (const Code& code : kCodes) {
    if (code.dtype == dtype) return {code.code, code.bits, 1};
  }
  return {kInt, 8, 1};
}

int64_t product(int rank, const int64_t* shape) {
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) count *= shape[axis];
  return count;
}

void release(dlpack::ManagedTensor* tensor) { std::free(tensor); }

}  // namespace

// NumPy is imported when the first of its arrays comes, and then somebody else has imported it: a
// process that calls with torch tensors need not pay for it.
bool is_numpy(PyObject* object) {
  if (PyArray_API == nullptr) {
    if (std::strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") != 0) return false;
    if (PyArray_ImportNumPyAPI() != 0) {
      PyErr_Clear();
      return false;
    }
  }
  return PyArray_CheckExact(object);
}

void view_numpy(PyObject* object, View& view) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  view.data = PyArray_BYTES(array);
  view.dtype = PyArray_ISNOTSWAPPED(array) ? from_numpy(PyArray_TYPE(array)) : DType::kUnknown;
  view.rank = PyArray_NDIM(array);
  view.shape = reinterpret_cast<const int64_t*>(PyArray_DIMS(array));
  view.strides = reinterpret_cast<const int64_t*>(PyArray_STRIDES(array));
  view.stride_unit = 1;
  view.on_cpu = true;
  view.writable = PyArray_ISWRITEABLE(array);
}

bool view_exchanged(PyObject* object, const dlpack::ExchangeApi& api, View& view) {
  dlpack::Tensor tensor;
  if (api.borrow(object, &tensor) != 0) return false;
  view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view.dtype = from_dlpack(tensor.dtype);
  view.rank = tensor.ndim;
  view.shape = tensor.shape;
  view.strides = tensor.strides;
  view.stride_unit = view.dtype == DType::kUnknown ? 1 : item_size(view.dtype);
  view.on_cpu =
      tensor.device.type == dlpack::kDeviceCpu || tensor.device.type == dlpack::kDeviceCudaHost;
  view.writable = true;
  return true;
}

const ExchangeTypes::Known& ExchangeTypes::find(PyTypeObject* type) {
  auto* key = reinterpret_cast<PyObject*>(type);
  for (const Known& known : known_) {
    if (known.type == key) return known;
  }
  PyObject* capsule = PyObject_GetAttrString(key, "__dlpack_c_exchange_api__");
  const dlpack::ExchangeApi* api = nullptr;
  if (capsule != nullptr) {
    api = static_cast<const dlpack::ExchangeApi*>(
        PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
    Py_DECREF(capsule);
  }
  PyErr_Clear();
  if (api != nullptr && (api->header.version.major != 1 || api->borrow == nullptr)) api = nullptr;
  if (is_neg_ == nullptr) is_neg_ = PyUnicode_InternFromString("is_neg");
  PyErr_Clear();
  Known& slot = known_[next_++ % known_.size()];
  Py_INCREF(key);
  Py_XSETREF(slot.type, key);
  slot.api = api;
  slot.negates_lazily = is_neg_ != nullptr && PyObject_HasAttr(key, is_neg_);
  return slot;
}

int ExchangeTypes::is_negated(PyObject* object) {
  PyObject* answer = PyObject_CallMethodNoArgs(object, is_neg_);
  if (answer == nullptr) return -1;
  int negated = PyObject_IsTrue(answer);
  Py_DECREF(answer);
  return negated;
}

void ExchangeTypes::clear() {
  for (Known& known : known_) {
    known.api = nullptr;
    Py_CLEAR(known.type);
  }
  Py_CLEAR(is_neg_);
}

int ExchangeTypes::traverse(visitproc visit, void* arg) {
  for (Known& known : known_) Py_VISIT(known.type);
  return 0;
}

PyObject* make_numpy(DType dtype, int rank, const int64_t* shape, void** data) {
  if (PyArray_ImportNumPyAPI() != 0) return nullptr;
  auto* dims = const_cast<npy_intp*>(reinterpret_cast<const npy_intp*>(shape));
  PyObject* array = PyArray_SimpleNew(rank, dims, to_numpy(dtype));
  if (array != nullptr) *data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
  return array;
}

// One block holds the description and the data; the array library frees it through `deleter`.
// Handing over our own memory is cheaper than the library's allocator, which makes a tensor only to
// wrap it in a second one.
PyObject* make_exchanged(const dlpack::ExchangeApi& api, DType dtype, int rank,
                         const int64_t* shape, void** data) {
  int64_t head = align_up(static_cast<int64_t>(sizeof(dlpack::ManagedTensor)) + 2 * rank * 8);
  int64_t size = head + align_up(product(rank, shape) * item_size(dtype));
  auto* block = static_cast<char*>(std::aligned_alloc(kAlignment, static_cast<size_t>(size)));
  if (block == nullptr) return PyErr_NoMemory();
  auto* managed = reinterpret_cast<dlpack::ManagedTensor*>(block);
  auto* dims = reinterpret_cast<int64_t*>(block + sizeof(dlpack::ManagedTensor));
  int64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    dims[axis] = shape[axis];
    dims[rank + axis] = stride;
    stride *= shape[axis] > 1 ? shape[axis] : 1;
  }
  managed->version = {1, 0};
  managed->manager = nullptr;
  managed->deleter = release;
  managed->flags = 0;
  managed->tensor = {
      block + head, {dlpack::kDeviceCpu, 0}, rank, to_dlpack(dtype), dims, dims + rank, 0};
  void* object = nullptr;
  if (api.to_object(managed, &object) != 0) return nullptr;
  *data = block + head;
  return static_cast<PyObject*>(object);
}

}  // namespace swath

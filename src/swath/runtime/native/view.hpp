// Borrowing the memory of an array, and making arrays for results.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstdint>

#include "dlpack.hpp"
#include "array.hpp"

namespace swath {

// Array types other than NumPy's, with the table of functions that each one offers.
class ExchangeTypes {
 public:
  ExchangeTypes() = default;
  ExchangeTypes(const ExchangeTypes&) = delete;
  ExchangeTypes& operator=(const ExchangeTypes&) = delete;

  // The table for objects of a type, or null where the type has none. Never sets a Python error.
  const dlpack::ExchangeApi* find(PyTypeObject* type);

  void clear();
  int traverse(visitproc visit, void* arg);

 private:
  struct Known {
    PyObject* type = nullptr;
    const dlpack::ExchangeApi* api = nullptr;
  };
  std::array<Known, 4> known_{};
  size_t next_ = 0;
};

enum class Borrow { kDone, kNotAnArray, kError };

// Whether an object is exactly numpy.ndarray.
bool is_numpy(PyObject* object);

void view_numpy(PyObject* array, View& view);

// kError: a Python error is set.
Borrow view_exchanged(PyObject* object, const dlpack::ExchangeApi& api, View& view);

// New arrays of a shape; `data` receives their memory. Null with a Python error set on failure.
PyObject* make_numpy(DType dtype, int rank, const int64_t* shape, void** data);
PyObject* make_exchanged(const dlpack::ExchangeApi& api, DType dtype, int rank, const int64_t* shape, void** data);

// Must run once before anything else here; false with a Python error set where NumPy can't be imported.
bool import_numpy();

}  // namespace swath

// Borrowing the memory of an array, and making arrays for results.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstdint>

#include "array.hpp"
#include "dlpack.hpp"

namespace swath {

// Array types other than NumPy's, with the table of functions that each one offers.
class ExchangeTypes {
 public:
  ExchangeTypes() = default;
  ExchangeTypes(const ExchangeTypes&) = delete;
  ExchangeTypes& operator=(const ExchangeTypes&) = delete;

  struct Known {
    PyObject* type = nullptr;
    const dlpack::ExchangeApi* api = nullptr;  // null where the type has none
    bool negates_lazily = false;  // torch: memory may hold the negative of what the tensor means
  };

  // What is known of a type. Never sets a Python error.
  const Known& find(PyTypeObject* type);

  // Whether the memory of a real-valued object of such a type holds the negative of what it means.
  // -1: an error is set.
  int is_negated(PyObject* object);

  void clear();
  int traverse(visitproc visit, void* arg);

 private:
  PyObject* is_neg_ = nullptr;
  std::array<Known, 4> known_{};
  size_t next_ = 0;
};

// Whether an object is exactly numpy.ndarray.
bool is_numpy(PyObject* object);

void view_numpy(PyObject* array, View& view);

// False: a Python error is set.
bool view_exchanged(PyObject* object, const dlpack::ExchangeApi& api, View& view);

// New arrays of a shape; `data` receives their memory. Null with a Python error set on failure.
PyObject* make_numpy(DType dtype, int rank, const int64_t* shape, void** data);
PyObject* make_exchanged(const dlpack::ExchangeApi& api, DType dtype, int rank,
                         const int64_t* shape, void** data);

}  // namespace swath

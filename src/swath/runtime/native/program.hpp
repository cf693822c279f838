// The Python type that `swath.Program` derives from.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "executable.hpp"
#include "signature.hpp"
#include "view.hpp"

namespace swath {

struct Program {
  PyObject_HEAD vectorcallfunc vectorcall;
  Executable* executable;  // null once closed and no call runs any more
  Signature* signature;
  ExchangeTypes* types;
  PyObject* explain;  // (code, index, subject, a, b) -> exception
  PyObject* adapt;    // (object) -> numpy.ndarray, or None where the object is no array
  int64_t running;    // calls inside; guarded by the GIL, as is `closed`
  bool closed;
};

// A new reference to the type, or null with a Python error set.
PyObject* make_program_type();

// Lets instances of a Python subclass be called as fast as those of the base.
void share_vectorcall(PyTypeObject* type);

}  // namespace swath

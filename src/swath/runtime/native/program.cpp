#include "program.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <structmember.h>

#include <new>

#include "call.hpp"

namespace nb = nanobind;

namespace swath {

namespace {

Program* as_program(PyObject* self) { return reinterpret_cast<Program*>(self); }

// Runs a step that may throw; C++ exceptions become Python's.
template <class Step>
PyObject* guarded(Step step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* call(PyObject* self, PyObject* const* arguments, size_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    Call call(*as_program(self));
    bool done = call.enter() && call.bind(arguments, PyVectorcall_NARGS(count), names) &&
                call.check_inputs() && call.make_outputs() && call.run();
    return done ? call.result() : nullptr;
  });
}

// run_into(inputs, outputs): lists or tuples of arrays, in the order of the manifest.
PyObject* run_into(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyList_Check(arguments[i]) || PyTuple_Check(arguments[i])) continue;
    PyErr_SetString(PyExc_TypeError, "run_into() takes two lists or tuples of arrays");
    return nullptr;
  }
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "run_into() takes two lists or tuples of arrays");
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    Call call(*as_program(self));
    bool done = call.enter() &&
                call.bind_leaves(PySequence_Fast_ITEMS(arguments[0]),
                                 PySequence_Fast_GET_SIZE(arguments[0])) &&
                call.check_inputs() &&
                call.use_outputs(PySequence_Fast_ITEMS(arguments[1]),
                                 PySequence_Fast_GET_SIZE(arguments[1])) &&
                call.run();
    if (!done) return nullptr;
    Py_RETURN_NONE;
  });
}

FileRegion read_region(nb::handle tuple) {
  return {nb::cast<std::string>(tuple[0]), nb::cast<int64_t>(tuple[1]),
          nb::cast<int64_t>(tuple[2])};
}

void open_program(Program& program, nb::handle signature, nb::handle library, nb::handle weights,
                  nb::handle tables, nb::handle schedule) {
  program.signature = new Signature();
  program.types = new ExchangeTypes();
  read_signature(signature.ptr(), *program.signature);
  std::vector<FileRegion> regions;
  for (nb::handle table : nb::cast<nb::tuple>(tables)) regions.push_back(read_region(table));
  Schedule plan = {nb::cast<int>(schedule[0]), nb::cast<int64_t>(schedule[1]),
                   nb::cast<int64_t>(schedule[2])};
  const Signature& known = *program.signature;
  program.executable =
      new Executable(nb::cast<std::string>(library), read_region(weights), regions, plan,
                     known.inputs.size(), known.outputs.size(), known.buffers);
}

// __new__(cls, signature, library, weights, tables, schedule, explain, adapt)
PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject* names) {
  PyObject* parts[7];
  if (names != nullptr && PyDict_GET_SIZE(names) > 0) {
    PyErr_SetString(PyExc_TypeError, "a native program takes no keyword arguments");
    return nullptr;
  }
  if (!PyArg_UnpackTuple(arguments, "Program", 7, 7, &parts[0], &parts[1], &parts[2], &parts[3],
                         &parts[4], &parts[5], &parts[6])) {
    return nullptr;
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  Program& program = *as_program(self);
  program.vectorcall = call;
  program.closed = true;
  program.explain = Py_NewRef(parts[5]);
  program.adapt = Py_NewRef(parts[6]);
  PyObject* opened = guarded([&] {
    open_program(program, parts[0], parts[1], parts[2], parts[3], parts[4]);
    program.closed = false;
    return self;
  });
  if (opened == nullptr) Py_DECREF(self);
  return opened;
}

PyObject* close_program(PyObject* self, PyObject*) {
  Program& program = *as_program(self);
  program.closed = true;
  if (program.running == 0) {
    delete program.executable;
    program.executable = nullptr;
  }
  Py_RETURN_NONE;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Program& program = *as_program(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(program.explain);
  Py_VISIT(program.adapt);
  return program.types == nullptr ? 0 : program.types->traverse(visit, arg);
}

// Called only when nobody can call the program any more, so that no call is inside.
int clear(PyObject* self) {
  Program& program = *as_program(self);
  program.closed = true;
  Py_CLEAR(program.explain);
  Py_CLEAR(program.adapt);
  if (program.types != nullptr) program.types->clear();
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  Program& program = *as_program(self);
  delete program.executable;
  delete program.types;
  if (program.signature != nullptr) clear_signature(*program.signature);
  delete program.signature;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* get_closed(PyObject* self, void*) { return PyBool_FromLong(as_program(self)->closed); }

PyObject* get_threads(PyObject* self, void*) {
  const Executable* executable = as_program(self)->executable;
  return PyLong_FromLong(executable == nullptr ? 0 : executable->threads());
}

PyObject* get_scratch_bytes(PyObject* self, void*) {
  const Executable* executable = as_program(self)->executable;
  return PyLong_FromLongLong(executable == nullptr ? 0 : executable->scratch_bytes());
}

PyMethodDef methods[] = {
    {"run_into", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_into)),
     METH_FASTCALL, nullptr},
    {"_close", close_program, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"closed", get_closed, nullptr, nullptr, nullptr},
    {"threads", get_threads, nullptr, nullptr, nullptr},
    {"scratch_bytes", get_scratch_bytes, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Program, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {
    "swath.runtime._native.NativeProgram",
    sizeof(Program),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    slots,
};

}  // namespace

PyObject* make_program_type() { return PyType_FromSpec(&spec); }

// A heap type doesn't inherit the flag before Python 3.12, although it inherits the offset.
void share_vectorcall(PyTypeObject* type) {
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(type);
}

}  // namespace swath

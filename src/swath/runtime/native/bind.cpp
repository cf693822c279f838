// From the arguments of a call to input leaves.
#include <array>
#include <memory>

#include "call.hpp"

namespace swath {

namespace {

constexpr size_t kSlotsOnStack = 32;

// True where two interned or equal names are the same.
bool same_name(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

}  // namespace

void Call::bind_leaf(int leaf, PyObject* object) {
  Py_INCREF(object);
  Py_XSETREF(frame_->leaves[static_cast<size_t>(leaf)], object);
}

bool Call::bind(PyObject* const* arguments, Py_ssize_t positional, PyObject* keyword_names) {
  size_t given = static_cast<size_t>(positional);
  size_t count = signature_.parameters.size();
  if (given > signature_.positional) {
    return refuse("extra_positional", positional, Py_None,
                  static_cast<int64_t>(signature_.positional));
  }
  if (keyword_names == nullptr && given == count) {
    for (size_t i = 0; i < count; ++i) {
      if (!bind_parameter(i, arguments[i])) return false;
    }
    return true;
  }
  std::array<PyObject*, kSlotsOnStack> small;
  std::unique_ptr<PyObject*[]> large;
  if (count > kSlotsOnStack) large.reset(new PyObject*[count]);
  PyObject** slots = large ? large.get() : small.data();
  for (size_t i = 0; i < count; ++i) slots[i] = i < given ? arguments[i] : nullptr;
  if (keyword_names != nullptr && !bind_keywords(arguments + given, keyword_names, slots))
    return false;
  for (size_t i = 0; i < count; ++i) {
    bool fine = slots[i] != nullptr ? bind_parameter(i, slots[i])
                                    : bind_omitted(signature_.parameters[i].structure, i);
    if (!fine) return false;
  }
  return true;
}

bool Call::bind_keywords(PyObject* const* values, PyObject* names, PyObject** slots) {
  const auto& parameters = signature_.parameters;
  size_t guess = 0;  // keywords mostly come in the order of the parameters
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
    PyObject* name = PyTuple_GET_ITEM(names, k);
    size_t tried = 0;
    size_t index = guess;
    while (tried < parameters.size() && !same_name(parameters[index].name, name)) {
      index = index + 1 < parameters.size() ? index + 1 : 0;
      ++tried;
    }
    if (tried == parameters.size()) return refuse("unknown_keyword", -1, name);
    if (slots[index] != nullptr) return refuse("given_twice", static_cast<Py_ssize_t>(index), name);
    slots[index] = values[k];
    guess = index + 1 < parameters.size() ? index + 1 : 0;
  }
  return true;
}

// A parameter may be left out where nothing of it is an array.
bool Call::bind_omitted(const Node& node, size_t parameter) {
  if (node.kind == NodeKind::kLeaf) {
    return refuse("missing", static_cast<Py_ssize_t>(parameter),
                  signature_.parameters[parameter].name);
  }
  for (const Node& item : node.items) {
    if (!bind_omitted(item, parameter)) return false;
  }
  return true;
}

bool Call::bind_parameter(size_t index, PyObject* argument) {
  const Node& node = signature_.parameters[index].structure;
  if (node.kind != NodeKind::kLeaf) return bind_node(node, argument, index);
  bind_leaf(node.leaf, argument);
  return true;
}

bool Call::bind_node(const Node& node, PyObject* object, size_t parameter) {
  switch (node.kind) {
    case NodeKind::kLeaf: bind_leaf(node.leaf, object); return true;
    case NodeKind::kList:
    case NodeKind::kTuple: return bind_sequence(node, object, parameter);
    case NodeKind::kDict: return bind_dict(node, object, parameter);
    case NodeKind::kConstant: return bind_constant(node, object, parameter);
  }
  return false;
}

bool Call::bind_sequence(const Node& node, PyObject* object, size_t parameter) {
  auto index = static_cast<Py_ssize_t>(parameter);
  if (!PyList_Check(object) && !PyTuple_Check(object))
    return refuse("not_a_sequence", index, object);
  auto expected = static_cast<Py_ssize_t>(node.items.size());
  Py_ssize_t length = PySequence_Fast_GET_SIZE(object);
  if (length != expected) return refuse("sequence_length", index, object, length, expected);
  for (size_t i = 0; i < node.items.size(); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i));
    if (!bind_node(node.items[i], item, parameter)) return false;
  }
  return true;
}

bool Call::bind_dict(const Node& node, PyObject* object, size_t parameter) {
  auto index = static_cast<Py_ssize_t>(parameter);
  bool is_dict = PyDict_Check(object);
  for (size_t i = 0; i < node.keys.size(); ++i) {
    PyObject* item = nullptr;
    if (is_dict) {
      item = PyDict_GetItemWithError(object, node.keys[i]);
      Py_XINCREF(item);
      if (item == nullptr && PyErr_Occurred()) return false;
    } else {
      item = PyObject_GetAttr(object, node.keys[i]);
      if (item == nullptr && !PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
      if (item == nullptr) PyErr_Clear();
    }
    if (item == nullptr)
      return refuse(is_dict ? "missing_key" : "missing_field", index, node.keys[i]);
    bool fine = bind_node(node.items[i], item, parameter);
    Py_DECREF(item);
    if (!fine) return false;
  }
  if (is_dict && PyDict_GET_SIZE(object) != static_cast<Py_ssize_t>(node.keys.size())) {
    return refuse("extra_key", index, object);
  }
  return true;
}

bool Call::bind_constant(const Node& node, PyObject* object, size_t parameter) {
  if (object == node.constant) return true;
  int equal = Py_TYPE(object) == Py_TYPE(node.constant)
                  ? PyObject_RichCompareBool(object, node.constant, Py_EQ)
                  : 0;
  if (equal < 0) return false;
  return equal == 1 || refuse("constant", static_cast<Py_ssize_t>(parameter), node.constant);
}

bool Call::bind_leaves(PyObject* const* leaves, Py_ssize_t count) {
  if (static_cast<size_t>(count) != signature_.inputs.size()) {
    return refuse("flat_inputs", count, Py_None, static_cast<int64_t>(signature_.inputs.size()));
  }
  for (Py_ssize_t i = 0; i < count; ++i) bind_leaf(static_cast<int>(i), leaves[i]);
  return true;
}

}  // namespace swath

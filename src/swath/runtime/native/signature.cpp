#include "signature.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace swath {

namespace {

Layout read_layout(nb::handle dtype, nb::handle row_shape, nb::handle batch_axis, nb::handle post) {
  Layout layout;
  layout.dtype = static_cast<DType>(nb::cast<int>(dtype));
  layout.row_shape = nb::cast<std::vector<int64_t>>(row_shape);
  layout.batch_axis = nb::cast<int>(batch_axis);
  layout.post = nb::cast<int64_t>(post);
  layout.multiple = layout.batch_axis < 0 ? 1 : layout.row_shape.at(layout.batch_axis);
  layout.row_items = 1;
  for (int64_t extent : layout.row_shape) layout.row_items *= extent;
  int64_t outer = layout.batch_axis < 0 ? 1 : layout.multiple / layout.post;
  for (int axis = 0; axis < layout.batch_axis; ++axis) outer *= layout.row_shape[axis];
  layout.rows_contiguous = outer == 1;
  return layout;
}

Input read_input(nb::handle tuple) {
  Input input;
  input.layout = read_layout(tuple[0], tuple[1], tuple[2], tuple[3]);
  input.kind = static_cast<InputKind>(nb::cast<int>(tuple[4]));
  input.offsets = nb::cast<int>(tuple[5]);
  input.include_last_offset = nb::cast<bool>(tuple[6]);
  return input;
}

Output read_output(nb::handle tuple) {
  Output output;
  output.layout = read_layout(tuple[0], tuple[1], tuple[2], tuple[3]);
  output.source = static_cast<SourceKind>(nb::cast<int>(tuple[4]));
  output.where = nb::cast<int64_t>(tuple[5]);
  return output;
}

PyObject* interned(nb::handle text) {
  PyObject* name = nb::cast<nb::str>(text).release().ptr();
  PyUnicode_InternInPlace(&name);
  return name;
}

// (kind, leaf, keys, items, constant)
Node read_node(nb::handle tuple) {
  Node node;
  node.kind = static_cast<NodeKind>(nb::cast<int>(tuple[0]));
  node.leaf = nb::cast<int>(tuple[1]);
  for (nb::handle key : nb::cast<nb::tuple>(tuple[2])) node.keys.push_back(interned(key));
  for (nb::handle item : nb::cast<nb::tuple>(tuple[3])) node.items.push_back(read_node(item));
  if (node.kind == NodeKind::kConstant) node.constant = nb::object(tuple[4]).release().ptr();
  return node;
}

void clear_node(Node& node) {
  for (PyObject* key : node.keys) Py_DECREF(key);
  node.keys.clear();
  Py_CLEAR(node.constant);
  for (Node& item : node.items) clear_node(item);
}

}  // namespace

void read_signature(PyObject* description, Signature& signature) {
  nb::handle tuple(description);
  for (nb::handle input : nb::cast<nb::tuple>(tuple[0]))
    signature.inputs.push_back(read_input(input));
  for (nb::handle output : nb::cast<nb::tuple>(tuple[1]))
    signature.outputs.push_back(read_output(output));
  for (nb::handle parameter : nb::cast<nb::tuple>(tuple[2])) {
    signature.parameters.push_back(
        {interned(parameter[0]), nb::cast<bool>(parameter[1]), read_node(parameter[2])});
    if (!signature.parameters.back().keyword_only)
      signature.positional = signature.parameters.size();
  }
  signature.result = read_node(tuple[3]);
  for (const Output& output : signature.outputs)
    signature.buffers += output.source == SourceKind::kRows;
}

void clear_signature(Signature& signature) {
  for (Parameter& parameter : signature.parameters) {
    Py_CLEAR(parameter.name);
    clear_node(parameter.structure);
  }
  signature.parameters.clear();
  clear_node(signature.result);
}

}  // namespace swath

// What a call takes and gives, as the manifest says it, in the form that the call needs.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dtype.hpp"

namespace swath {

enum class InputKind { kRows, kRagged, kOffsets, kOnce };
enum class SourceKind { kRows, kConstant, kInput };

// How rows lie in an array: seen as [outer, B, inner], where one row has `outer * inner` elements.
struct Layout {
  DType dtype;
  std::vector<int64_t> row_shape;
  int batch_axis;        // -1: none
  int64_t post;          // on the batch axis rows lie as [pre, B, post]
  int64_t multiple;      // length of the batch axis for one row
  int64_t row_items;     // elements of one row (without a batch axis: of the whole)
  bool rows_contiguous;  // the batch is outermost: outer == 1
};

struct Input {
  Layout layout;
  InputKind kind;
  int offsets;  // ragged: index of the input with the offsets
  bool include_last_offset;
};

struct Output {
  Layout layout;
  SourceKind source;
  int64_t where;  // buffer index, offset into the weights, or input index
};

enum class NodeKind { kLeaf, kList, kTuple, kDict, kConstant };

// A node of the tree in which inputs or outputs nest. References to Python objects are owned by the
// signature.
struct Node {
  NodeKind kind;
  int leaf = -1;
  std::vector<PyObject*> keys;
  std::vector<Node> items;
  PyObject* constant = nullptr;
};

struct Parameter {
  PyObject* name;
  bool keyword_only;
  Node structure;
};

struct Signature {
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Parameter> parameters;
  size_t positional = 0;  // parameters that may be given by position; they come first
  Node result;
  size_t buffers = 0;  // outputs that the library computes
};

// Reads the plain tuples that `swath.runtime.program` makes of a manifest. Throws nanobind's cast
// errors.
void read_signature(PyObject* description, Signature& signature);

// Drops the references to Python objects.
void clear_signature(Signature& signature);

}  // namespace swath

// One call of a program, step by step. Every step returns false with a Python error set.
#pragma once

#include "program.hpp"

namespace swath {

class Call {
 public:
  explicit Call(Program& program);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  // Refuses a closed program, else keeps it open until this call ends.
  bool enter();

  // Finds the input leaves in the arguments of a vectorcall.
  bool bind(PyObject* const* arguments, Py_ssize_t positional, PyObject* keyword_names);
  // Takes the input leaves as they are listed.
  bool bind_leaves(PyObject* const* leaves, Py_ssize_t count);

  // Checks all inputs and plans the copies of those whose rows aren't contiguous.
  bool check_inputs();

  bool make_outputs();
  // Takes the caller's arrays for outputs; they must fit exactly and be compact.
  bool use_outputs(PyObject* const* arrays, Py_ssize_t count);

  bool run();

  // The outputs, nested as the model returned them.
  PyObject* result();

 private:
  bool bind_parameter(size_t index, PyObject* argument);
  bool bind_node(const Node& node, PyObject* object, size_t parameter);
  bool bind_dict(const Node& node, PyObject* object, size_t parameter);
  bool bind_sequence(const Node& node, PyObject* object, size_t parameter);
  bool bind_constant(const Node& node, PyObject* object, size_t parameter);
  bool bind_keywords(PyObject* const* values, PyObject* names, PyObject** slots);
  bool bind_omitted(const Node& node, size_t parameter);
  void bind_leaf(int leaf, PyObject* object);

  bool borrow(size_t input);
  bool adapt(size_t input);
  bool check(size_t input);
  bool check_shape(size_t input, const Layout& layout);
  bool check_ragged(size_t input);
  bool check_offsets(size_t input);
  bool check_rows(size_t input, int64_t rows);
  template <class Offset>
  bool check_offset_values(size_t input, const Offset* offsets, int64_t count, int64_t values);

  void place(size_t input);
  void stage(size_t input);
  void gather(char* to, const View& view, const Layout& layout) const;
  int64_t offsets_count(size_t input) const;

  bool copy_staged();
  int output_shape(const Layout& layout, int64_t* shape) const;
  bool make_output(size_t output);
  bool use_output(size_t output, PyObject* array);
  void aim_buffer(size_t output);
  void finish_outputs();
  bool explain_fault(const swath_fault& fault);
  PyObject* result_node(const Node& node);

  // Sets the exception that the `explain` of the program makes; always false.
  bool refuse(const char* code, Py_ssize_t index, PyObject* subject, int64_t a = 0, int64_t b = 0);

  Program& program_;
  const Signature& signature_;
  Frame* frame_ = nullptr;
  const dlpack::ExchangeApi* api_ =
      nullptr;  // of the first input that isn't NumPy's; makes the outputs
  int64_t rows_ = -1;
  int64_t rows_from_ = -1;  // the input that told the number of rows
  int64_t staging_bytes_ = 0;
};

}  // namespace swath

// An array as its owner describes it, and moving its elements.
#pragma once

#include <cstdint>

#include "dtype.hpp"

namespace swath {

constexpr int kMaxRank = 32;

// An array as its owner describes it; valid while the array lives and nobody reshapes it.
struct View {
  char* data;
  DType dtype;
  int rank;
  const int64_t* shape;
  const int64_t* strides;  // null: compact
  int64_t stride_unit;     // bytes per unit of `strides`
  bool on_cpu;
  bool writable;
};

// Copies a strided array into a compact one; strides are in bytes, `item` is the size of an
// element.
void copy_strided(char* to, const char* from, int rank, const int64_t* extents,
                  const int64_t* strides, int64_t item);

// [rows, outer, inner] to [outer, rows, inner]; `inner` is in bytes.
void copy_rows_inside(char* to, const char* from, int64_t rows, int64_t outer, int64_t inner);

}  // namespace swath

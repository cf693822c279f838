#include "array.hpp"

#include <cstring>

namespace swath {

namespace {

template <int kItem>
void copy_items(char* to, const char* from, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * kItem, from + i * stride, kItem);
}

void copy_line(char* to, const char* from, int64_t count, int64_t stride, int64_t item) {
  if (stride == item) {
    std::memcpy(to, from, static_cast<size_t>(count * item));
    return;
  }
  switch (item) {
    case 1: return copy_items<1>(to, from, count, stride);
    case 2: return copy_items<2>(to, from, count, stride);
    case 4: return copy_items<4>(to, from, count, stride);
    default: return copy_items<8>(to, from, count, stride);
  }
}

}  // namespace

void copy_strided(char* to, const char* from, int rank, const int64_t* extents,
                  const int64_t* strides, int64_t item) {
  if (rank == 0) return copy_line(to, from, 1, item, item);
  if (rank == 1) return copy_line(to, from, extents[0], strides[0], item);
  int64_t step = item;
  for (int axis = 1; axis < rank; ++axis) step *= extents[axis];
  if (step == 0) return;
  for (int64_t i = 0; i < extents[0]; ++i) {
    copy_strided(to + i * step, from + i * strides[0], rank - 1, extents + 1, strides + 1, item);
  }
}

void copy_rows_inside(char* to, const char* from, int64_t rows, int64_t outer, int64_t inner) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < outer; ++i) {
      std::memcpy(to + (i * rows + row) * inner, from + (row * outer + i) * inner,
                  static_cast<size_t>(inner));
    }
  }
}

}  // namespace swath

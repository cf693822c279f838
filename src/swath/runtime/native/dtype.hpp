// Element types, numbered as `swath.artifact.manifest.DType` lists them.
#pragma once

#include <cstdint>

namespace swath {

enum class DType : int8_t {
  kUnknown = -1,
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};

constexpr int kDTypeCount = 10;

inline int64_t item_size(DType dtype) {
  constexpr int8_t sizes[kDTypeCount] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(dtype)];
}

inline bool is_floating(DType dtype) { return dtype >= DType::kFloat16; }

}  // namespace swath

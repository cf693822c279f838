// The part of the DLPack ABI (version 1) that the runtime speaks, and its C exchange table.
#pragma once

#include <cstdint>

namespace swath::dlpack {

constexpr int32_t kDeviceCpu = 1;
constexpr int32_t kDeviceCudaHost = 3;

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null for a compact tensor
  uint64_t byte_offset;
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

struct ManagedTensor {
  Version version;
  void* manager;
  void (*deleter)(ManagedTensor*);
  uint64_t flags;
  Tensor tensor;
};

struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;
};

// Found in a capsule named "dlpack_exchange_api" on the array type, as `__dlpack_c_exchange_api__`.
struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(Tensor* prototype, ManagedTensor** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*from_object)(void* object, ManagedTensor** out);
  int (*to_object)(ManagedTensor* tensor, void** out);
  int (*borrow)(void* object, Tensor* out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};

}  // namespace swath::dlpack

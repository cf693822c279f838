// Runs an artefact from C++, without Python: a lookup model with one int64 input [B] and one
// float32 output [B, width].
//
//     g++ -std=c++17 -I src/swath/runtime/abi examples/host.cpp -o host -ldl
//     cd model.swath
//     ../host lib/<isa>.<digest>.so weights.safetensors tables/0.bin 5  3 1 4
//
// prints five numbers for each of the ids 3, 1 and 4. A real host takes the paths, the layouts and
// the CPU features that each library needs from manifest.json, and checks the digests there first.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "swath_abi.h"

static const char* map_file(const char* path) {
  int file = open(path, O_RDONLY);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) {
    std::perror(path);
    std::exit(1);
  }
  void* data = mmap(nullptr, status.st_size, PROT_READ, MAP_SHARED, file, 0);
  return static_cast<const char*>(data);
}

int main(int count, char** arguments) {
  if (count < 5) return 2;
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  auto version =
      reinterpret_cast<decltype(&swath_abi_version)>(dlsym(library, "swath_abi_version"));
  auto scratch_bytes =
      reinterpret_cast<decltype(&swath_scratch_bytes)>(dlsym(library, "swath_scratch_bytes"));
  auto run = reinterpret_cast<decltype(&swath_run)>(dlsym(library, "swath_run"));
  if (version() != SWATH_ABI_VERSION) return 1;

  // Weights begin after the safetensors header, whose length is in the first 8 bytes.
  const char* weights_file = map_file(arguments[2]);
  const char* weights = weights_file + 8 + *reinterpret_cast<const int64_t*>(weights_file);
  // A table begins after 64 bytes of header.
  const void* tables[] = {map_file(arguments[3]) + 64};

  int64_t width = std::atoll(arguments[4]);
  std::vector<int64_t> ids;
  for (int i = 5; i < count; ++i) ids.push_back(std::atoll(arguments[i]));
  std::vector<float> scores(ids.size() * width);
  int64_t rows = static_cast<int64_t>(ids.size());

  const void* inputs[] = {ids.data()};
  const swath_int64 input_row_bytes[] = {sizeof(int64_t)};
  const swath_int64 input_extents[] = {rows};
  void* outputs[] = {scores.data()};
  // The size of an aligned allocation is a multiple of the alignment; 64 bytes more may be read.
  size_t scratch_size = (static_cast<size_t>(scratch_bytes()) + 127) / 64 * 64;
  void* scratch = std::aligned_alloc(64, scratch_size);
  swath_fault fault = {SWATH_FAULT_NONE, 0, 0, 0};

  swath_call call = {};
  call.inputs = inputs;
  call.input_row_bytes = input_row_bytes;
  call.input_extents = input_extents;
  call.outputs = outputs;
  call.weights = weights;
  call.tables = tables;
  call.rows = rows;
  call.row_begin = 0;
  call.row_end = rows;
  call.scratch = scratch;
  call.fault = &fault;
  if (run(&call) != 0) {
    std::fprintf(stderr, "row %lld: the id %lld is outside of its table\n",
                 static_cast<long long>(fault.row), static_cast<long long>(fault.value));
    return 1;
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < width; ++i)
      std::printf("%s%g", i == 0 ? "" : " ", scores[row * width + i]);
    std::printf("\n");
  }
}

#include "cpu.hpp"

#include <sched.h>

#include <cstdint>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace swath {

#if defined(__x86_64__)

namespace {

struct Registers {
  unsigned values[4] = {0, 0, 0, 0};  // eax, ebx, ecx, edx
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.values[0], &r.values[1], &r.values[2], &r.values[3]);
  return r;
}

// Which register states the operating system saves: a CPU feature without its bits here must not be
// used.
uint64_t saved_states(bool has_xsave) {
  if (!has_xsave) return 0;
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

enum Register { kEax, kEbx, kEcx, kEdx };

struct Feature {
  const char* name;
  unsigned leaf;
  unsigned subleaf;
  Register where;
  int bit;
  uint64_t states;
};

constexpr uint64_t kNone = 0;
constexpr uint64_t kYmm = 0x6;        // SSE and AVX
constexpr uint64_t kZmm = 0xe6;       // and opmask, upper halves, upper registers
constexpr uint64_t kTiles = 0x60000;  // AMX configuration and data

// clang-format off
constexpr Feature kFeatures[] = {
    {"movbe",       1,          0, kEcx, 22, kNone},
    {"fma",         1,          0, kEcx, 12, kYmm},
    {"avx",         1,          0, kEcx, 28, kYmm},
    {"f16c",        1,          0, kEcx, 29, kYmm},
    {"bmi1",        7,          0, kEbx, 3,  kNone},
    {"avx2",        7,          0, kEbx, 5,  kYmm},
    {"bmi2",        7,          0, kEbx, 8,  kNone},
    {"avx512f",     7,          0, kEbx, 16, kZmm},
    {"avx512dq",    7,          0, kEbx, 17, kZmm},
    {"avx512cd",    7,          0, kEbx, 28, kZmm},
    {"avx512bw",    7,          0, kEbx, 30, kZmm},
    {"avx512vl",    7,          0, kEbx, 31, kZmm},
    {"avx512vnni",  7,          0, kEcx, 11, kZmm},
    {"amx-bf16",    7,          0, kEdx, 22, kTiles},
    {"amx-tile",    7,          0, kEdx, 24, kTiles},
    {"amx-int8",    7,          0, kEdx, 25, kTiles},
    {"avx512fp16",  7,          0, kEdx, 23, kZmm},
    {"avxvnni",     7,          1, kEax, 4,  kYmm},
    {"avx512bf16",  7,          1, kEax, 5,  kZmm},
    {"lzcnt",       0x80000001, 0, kEcx, 5,  kNone},
};
// clang-format on

}  // namespace

std::vector<std::string> cpu_features() {
  std::vector<std::string> found;
  uint64_t states = saved_states((cpuid(1, 0).values[kEcx] >> 27) & 1);
  for (const Feature& feature : kFeatures) {
    bool present = (cpuid(feature.leaf, feature.subleaf).values[feature.where] >> feature.bit) & 1;
    if (present && (states & feature.states) == feature.states) found.emplace_back(feature.name);
  }
  return found;
}

#elif defined(__aarch64__)

std::vector<std::string> cpu_features() { return {"neon"}; }

#else

std::vector<std::string> cpu_features() { return {}; }

#endif

int cpu_count() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    int count = CPU_COUNT(&set);
    if (count > 0) return count;
  }
#endif
  unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

}  // namespace swath

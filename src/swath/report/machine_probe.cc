// Measures what one core can do at most; prints JSON. usage: probe ROUNDS
//
// Each measurement takes about a millisecond and is repeated often; the best one counts. A window
// that short fits between two interruptions even where other programs share the core.
//
// Multiply-adds: chains of vector FMAs in registers, enough of them to hide the latency of each.
// Bandwidths:    sums over a buffer that fits the level in question, several sums at once.
// Rows:          64-byte rows at random places of a table, prefetched some rows ahead; a table of 8 MB
//                stands for what stays in the last cache, one of 1 GB for what doesn't.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/mman.h>

#if defined(__AVX512F__)
constexpr int kLanes = 16, kChains = 24;
#elif defined(__AVX__)
constexpr int kLanes = 8, kChains = 12;
#else
constexpr int kLanes = 4, kChains = 12;
#endif
typedef float Vector __attribute__((vector_size(kLanes * 4)));

// Seconds that this thread has run: what others take of the machine meanwhile doesn't count.
static double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// Keeps a value alive without a store to memory.
static void keep(Vector value) { asm volatile("" : : "x"(value)); }

static double gflops() {
  constexpr int64_t kSteps = 100000;
  Vector sums[kChains], factor, term;
  for (int lane = 0; lane < kLanes; ++lane) factor[lane] = 0.999f, term[lane] = 0.001f;
  for (int chain = 0; chain < kChains; ++chain) sums[chain] = term * float(chain);
  asm volatile("" : "+x"(factor), "+x"(term));
  double begin = seconds();
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 24
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = sums[chain] * factor + term;
  }
  double taken = seconds() - begin;
  for (int chain = 0; chain < kChains; ++chain) keep(sums[chain]);
  return 2.0 * kLanes * kChains * kSteps / taken / 1e9;
}

// Reads `bytes` again and again until about `total` bytes have been read.
static double gbytes(const float* buffer, int64_t bytes, int64_t total) {
  constexpr int kSums = 8;
  int64_t vectors = bytes / int64_t(sizeof(Vector)) / kSums * kSums, repeats = total / bytes + 1;
  const Vector* data = reinterpret_cast<const Vector*>(buffer);
  Vector sums[kSums] = {};
  double begin = seconds();
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    for (int64_t place = 0; place < vectors; place += kSums) {
#pragma GCC unroll 8
      for (int sum = 0; sum < kSums; ++sum) sums[sum] += data[place + sum];
    }
    asm volatile("" : "+x"(sums[0]) : : "memory");
  }
  double taken = seconds() - begin;
  for (int sum = 0; sum < kSums; ++sum) keep(sums[sum]);
  return double(vectors) * sizeof(Vector) * repeats / taken / 1e9;
}

static double row_nanoseconds(const float* table, int64_t bytes, uint64_t seed) {
  constexpr int kFloats = 16, kAhead = 24;
  constexpr int64_t kReads = 1 << 18;
  uint64_t rows = uint64_t(bytes) / 64, ahead = 88172645463325252ull + seed, now = ahead;
  auto next = [](uint64_t& state) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  };
  for (int step = 0; step < kAhead; ++step) next(ahead);
  float sum = 0;
  double begin = seconds();
  for (int64_t read = 0; read < kReads; ++read) {
    __builtin_prefetch(table + (next(ahead) % rows) * kFloats);
    sum += table[(next(now) % rows) * kFloats];
  }
  double taken = seconds() - begin;
  asm volatile("" : : "x"(sum));
  return taken / kReads * 1e9;
}

static double larger(double left, double right) { return left > right ? left : right; }

static double smaller(double left, double right) { return left < right ? left : right; }

int main(int count, char** arguments) {
  int rounds = 16 * (count > 1 ? atoi(arguments[1]) : 3);
  const int64_t table_bytes = int64_t(1) << 30;
  void* mapped = mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return fprintf(stderr, "no memory for the table\n"), 1;
  madvise(mapped, table_bytes, MADV_HUGEPAGE);
  float* table = static_cast<float*>(mapped);
  for (int64_t place = 0; place < table_bytes / 4; place += 1024) table[place] = 1.0f;
  double flops = 0, first = 0, second = 0, last = 0, memory = 0, cached = 1e9, row = 1e9;
  for (int round = 0; round < rounds; ++round) {
    flops = larger(flops, gflops());
    first = larger(first, gbytes(table, 16 << 10, 128 << 20));
    second = larger(second, gbytes(table, 384 << 10, 64 << 20));
    last = larger(last, gbytes(table, 8 << 20, 64 << 20));
    // Another part of the table each time, which no cache can hold.
    int64_t part = 32 << 20, place = round % (table_bytes / part) * part;
    memory = larger(memory, gbytes(table + place / 4, part, 1));
    cached = smaller(cached, row_nanoseconds(table, 8 << 20, 0));
    row = smaller(row, row_nanoseconds(table, table_bytes, round));
  }
  printf("{\"float32_gflops\": %.1f, \"l1_gbytes\": %.1f, \"l2_gbytes\": %.1f, "
         "\"l3_gbytes\": %.1f, \"memory_gbytes\": %.1f, \"cached_row_nanoseconds\": %.2f, \"row_nanoseconds\": %.2f}\n",
         flops, first, second, last, memory, cached, row);
}

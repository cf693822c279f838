// Speed of the kernels against the measured peak of one core. Run by bench.py, once per ISA.
#include "kernels.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

using namespace swath;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds per call, the best of several short runs: other work on the machine can only make a run
// slower.
double seconds(const std::function<void()>& call) {
  call();
  long repeats = 1;
  for (;; repeats *= 2) {
    const double start = now();
    for (long i = 0; i < repeats; ++i) call();
    if (now() - start > 2e-3) break;
  }
  double best = 1e9;
  for (int run = 0; run < 25; ++run) {
    const double start = now();
    for (long i = 0; i < repeats; ++i) call();
    const double each = (now() - start) / static_cast<double>(repeats);
    best = each < best ? each : best;
  }
  return best;
}

// 64-byte aligned floats in [-1, 1), with room to read past the end.
struct Buffer {
  std::vector<float> storage;
  float* data;
  explicit Buffer(long size) : storage(static_cast<size_t>(size + 64)) {
    unsigned state = 12345;
    for (float& x : storage) {
      state = state * 1664525u + 1013904223u;
      x = static_cast<float>(static_cast<int>(state)) * 4.6566129e-10f;
    }
    data = storage.data() + (16 - reinterpret_cast<size_t>(storage.data()) / 4 % 16) % 16;
  }
};

volatile float kept;

// Independent chains of fma, enough to hide their latency: GFLOP/s.
double measure_peak() {
  constexpr int CHAINS = 12;
  constexpr long STEPS = 4096;
  const double time = seconds([] {
    f32v chain[CHAINS];
    for (int c = 0; c < CHAINS; ++c) chain[c] = broadcast(static_cast<float>(c));
    f32v a = broadcast(0.999f), b = broadcast(0.001f);
    __asm__ volatile("" : "+v"(a), "+v"(b));
    for (long i = 0; i < STEPS; ++i) {
      SWATH_UNROLL for (int c = 0; c < CHAINS; ++c) chain[c] = fma(chain[c], a, b);
    }
    for (int c = 1; c < CHAINS; ++c) chain[0] += chain[c];
    kept = chain[0][0];
  });
  return 2e-9 * LANES * CHAINS * STEPS / time;
}

double peak;

void report(const char* name, double flops, double bytes, double time) {
  std::printf("%-52s %9.2f us  %7.1f GFLOP/s  %5.1f %%  %6.1f GB/s\n", name, time * 1e6,
              flops / time * 1e-9, flops / time * 1e-9 / peak * 100, bytes / time * 1e-9);
  std::fflush(stdout);
}

// `rows` rows in swaths of `swath` through one linear layer. The swath buffers are used again and
// again, as in a program.
template <class Function = Relu>
void bench_linear(long rows, long swath, long inputs, long outputs, const char* activation = "",
                  Function function = {}) {
  const long in_stride = (inputs + 15) / 16 * 16, out_stride = (outputs + 15) / 16 * 16;
  Buffer a(swath * in_stride), w((outputs + 15) / 16 * 16 * inputs), bias(out_stride),
      c(swath * out_stride);
  char name[128];
  std::snprintf(name, sizeof name, "linear M=%ld in swaths of %ld, K=%ld, N=%ld%s", rows, swath,
                inputs, outputs, activation);
  report(name, 2.0 * static_cast<double>(rows * inputs * outputs),
         4.0 * static_cast<double>(inputs * outputs), seconds([&] {
           for (long m = 0; m < rows; m += swath)
             product(rows - m < swath ? rows - m : swath, outputs, inputs,
                     rows_of(a.data, in_stride), packed_weights(w.data, inputs),
                     from_bias(bias.data), to_rows(c.data, out_stride, function));
         }));
}

template <long WIDTH>
void bench_left(long batch, long outputs, long inputs) {
  Buffer w(outputs * inputs), z(batch * inputs * WIDTH), c(batch * outputs * WIDTH),
      packed((batch * WIDTH + 15) / 16 * 16 * inputs);
  char name[128];
  std::snprintf(name, sizeof name, "left rows=%ld O=%ld K=%ld D=%ld", batch, outputs, inputs,
                WIDTH);
  report(name, 2.0 * static_cast<double>(batch * outputs * inputs * WIDTH),
         4.0 * static_cast<double>(outputs * inputs), seconds([&] {
           Right right = {z.data, 16, inputs * WIDTH};
           if (WIDTH != 16) {
             pack_side_by_side<WIDTH>(batch, inputs, z.data, inputs * WIDTH, packed.data);
             right = packed_weights(packed.data, inputs);
           }
           product(outputs, batch * WIDTH, inputs, rows_of(w.data, inputs), right, FROM_ZERO,
                   to_batches<WIDTH>(c.data, outputs * WIDTH, WIDTH));
         }));
}

void bench_attention(long batch, long queries, long keys, long width) {
  Buffer q(batch * queries * width), k(batch * keys * width), c(batch * queries * keys),
      scratch((keys + 15) / 16 * 16 * width);
  char name[128];
  std::snprintf(name, sizeof name, "scores rows=%ld %ldx%ld over %ld", batch, queries, keys, width);
  report(name, 2.0 * static_cast<double>(batch * queries * keys * width), 0, seconds([&] {
           for (long r = 0; r < batch; ++r) {
             pack_transposed(keys, width, k.data + r * keys * width, width, scratch.data);
             product(queries, keys, width, rows_of(q.data + r * queries * width, width),
                     packed_weights(scratch.data, width), FROM_ZERO,
                     to_rows(c.data + r * queries * keys, keys));
           }
         }));
}

void bench_dots(long rows, long inputs) {
  const long stride = (inputs + 15) / 16 * 16;
  Buffer a(rows * stride), w(inputs), c(rows);
  char name[128];
  std::snprintf(name, sizeof name, "dots M=%ld, K=%ld", rows, inputs);
  report(name, 2.0 * static_cast<double>(rows * inputs), 4.0 * static_cast<double>(rows * inputs),
         seconds([&] { dots(rows, inputs, a.data, stride, w.data, c.data); }));
}

template <class F>
void bench_function(const char* name, F f) {
  constexpr long COUNT = 4096;
  Buffer a(COUNT), c(COUNT);
  const double time = seconds([&] {
    for (long i = 0; i < COUNT; i += LANES) store(c.data + i, f(load(a.data + i)));
  });
  std::printf("%-52s %9.3f ns per element\n", name, time * 1e9 / COUNT);
}

#define BENCH_FUNCTION(name) bench_function(#name, [](f32v x) { return name(x); })

void bench_bag(long count) {
  constexpr long WIDTH = 16, TABLE = 1000000;
  static Buffer table(TABLE * WIDTH);
  std::vector<long> ids(static_cast<size_t>(count * 997));
  unsigned state = 7;
  for (long& id : ids) id = (state = state * 1664525u + 1013904223u) / 16 % TABLE;
  Buffer c(WIDTH);
  size_t at = 0;
  char name[128];
  std::snprintf(name, sizeof name, "sum of %ld x 16 out of 64 MB", count);
  const double time = seconds([&] {
    const long* bag = ids.data() + at * static_cast<size_t>(count);
    auto row_at = [=](long i) { return table.data + bag[i] * WIDTH; };
    pool<WIDTH, POOL_SUM>(c.data, count, row_at, row_at);
    at = (at + 1) % 997;
  });
  std::printf("%-52s %9.3f ns per id\n", name, time * 1e9 / static_cast<double>(count));
}

}  // namespace

int main(int count, char** arguments) {
  auto wanted = [&](const char* part) { return count < 2 || std::strstr(arguments[1], part); };
  peak = measure_peak();
  std::printf("%d lanes, measured peak %.1f GFLOP/s\n", LANES, peak);
  if (wanted("linear")) {
    bench_linear(1024, 64, 429, 256);
    bench_linear(1024, 96, 416, 256);
    bench_linear(1024, 48, 429, 256);
    bench_linear(1024, 96, 256, 128);
    bench_linear(1024, 64, 1024, 512);
    bench_linear(1024, 64, 128, 64);
    bench_linear(2496, 2496, 16, 16);
    bench_linear(2496, 2496, 16, 32);
    bench_linear(2496, 2496, 32, 64);
    bench_linear(2496, 2496, 64, 16);
    auto through_relu = [](f32v x, long, long) { return relu(x); };
    auto through_sigmoid = [](f32v x, long, long) { return sigmoid(x); };
    bench_linear(2496, 2496, 16, 16, ", relu by functor", through_relu);
    bench_linear(2496, 2496, 16, 32, ", relu by functor", through_relu);
    bench_linear(1024, 64, 128, 64, ", relu by functor", through_relu);
    bench_linear(1024, 64, 128, 64, ", sigmoid", through_sigmoid);
    bench_linear(1024, 64, 429, 256, ", relu by functor", through_relu);
    bench_linear(1, 1, 16, 16, ", relu by functor", through_relu);
    for (long rows = 1; rows <= 8; ++rows) bench_linear(rows, rows, 429, 256);
    bench_linear(13, 13, 429, 256);
    bench_linear(1, 1, 256, 128);
    bench_linear(1, 1, 128, 64);
    bench_linear(1, 1, 16, 16);
    bench_linear(1, 1, 1024, 1024);
  }
  if (wanted("left")) {
    bench_left<16>(1, 128, 676);
    bench_left<16>(16, 128, 676);
    bench_left<8>(16, 128, 676);
    bench_left<4>(16, 128, 676);
    bench_left<10>(16, 128, 676);
    bench_left<32>(16, 128, 676);
    bench_left<16>(16, 64, 26);
  }
  if (wanted("scores")) {
    bench_attention(64, 26, 26, 16);
    bench_attention(64, 50, 50, 32);
    bench_attention(64, 1, 50, 32);
  }
  if (wanted("dots")) {
    bench_dots(64, 128);
    bench_dots(64, 429);
    bench_dots(50, 32);
    bench_dots(1, 128);
  }
  if (wanted("functions")) {
    BENCH_FUNCTION(exp);
    BENCH_FUNCTION(expm1);
    BENCH_FUNCTION(log);
    BENCH_FUNCTION(log1p);
    BENCH_FUNCTION(log2);
    BENCH_FUNCTION(sigmoid);
    BENCH_FUNCTION(tanh);
    BENCH_FUNCTION(silu);
    BENCH_FUNCTION(softplus);
    BENCH_FUNCTION(erf);
    BENCH_FUNCTION(gelu);
    BENCH_FUNCTION(gelu_tanh);
    BENCH_FUNCTION(sin);
    bench_function("pow", [](f32v x) { return pow(x, broadcast(1.7f)); });
  }
  if (wanted("bags")) {
    bench_bag(1);
    bench_bag(8);
    bench_bag(50);
  }
}

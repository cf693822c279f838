// Matrix products: C[m, n] = start[m, n] + sum over k of A[m, k] * B[k, n].
//
//   product(rows, columns, depth, left, right, start, sink);
//
// left   rows_of(a, stride)               A[m, k] = a[m * stride + k]
//        Left{a, row_stride, k_stride}    A[m, k] = a[m * row_stride + k * k_stride]
// right  packed_weights(w, depth)         B in panels [ceil(columns / 16)][depth][16], the last one
//                                         padded with anything
//        matrix(b, stride)                B[k, n] = b[k * stride + n]
// start  FROM_ZERO, from_bias(bias), or from_rows(c, stride) to go on with an earlier partial sum
// sink   to_rows(c, stride)               c[m * stride + n] = C[m, n]
//        to_rows(c, stride, Relu{})       c[m * stride + n] = max(C[m, n], 0)
//        to_rows(c, stride, f)            the same through f(f32v sum, long m, long n) -> f32v for
//                                         columns n, n + 1, ... of row m; lanes past the last
//                                         column hold anything
//        f(f32v sum, long m, long n, long count)    any functor: takes columns n .. n + count - 1
//                                         of row m and stores them itself
//
// For example a linear layer with its activation, 429 inputs, 256 outputs:
//
//   product(rows, 256, 429, rows_of(x, 432), packed_weights(weights + 1024, 429),
//           from_bias(bias), to_rows(h, 256, Relu{}));
//
// pack.h brings activations into the packed form: transposed (attention scores), or several batch
// rows side by side. One output column is better done by dots() of reduce.h.
//
// Nothing outside of the operands is read or written. Each sum is one chain of fma over
// k = 0, 1, 2, ...: its bits depend neither on the number of rows, nor on the place of the row, nor
// on the tile, the ISA or the compiler.
//
// The first two sinks store straight out of registers. For any other one the tiles write their sums
// to a small buffer and the sink reads them from there: so the tiles are compiled once per program,
// however many products and activations it has, and a sink costs one short loop (0.2 KB of code;
// all tiles together 42 KB on v4, 19 KB on v3).
//
// Measured on one Zen 4 core (peak 118 GFLOP/s for either ISA; `python -m tests.kernels.bench`), as
// shares of the peak:                                        v4       v3
//   swaths of 48 to 96 rows, 429 -> 256, 256 -> 128          98 %     97 %
//   2496 rows, 16 -> 16, 16 -> 32; to_rows or Relu{}         88 %     90 %
//   the same through a functor                               68 %     61 %
//   2, 3 rows, 429 -> 256                                    91, 95   85, 97
//   4 to 13 rows, 429 -> 256                                 98 %     81 to 97 %
//   1 row, 429 -> 256: weights from L2 at                    111      110 GB/s
//   1 row, 1024 -> 1024: weights from L3 at                  95       85 GB/s
// Row strides that are multiples of 4 KB (1024 floats) cost 3 to 5 %: all rows of a tile then fall
// into one set of L1.
#pragma once

#include "vector.h"

namespace swath {

constexpr long PANEL = 16;  // columns in a panel of packed weights, the same for every ISA
constexpr int VECTORS = PANEL / LANES;  // vectors across a panel

struct Left {  // element (m, k) is data[m * row_stride + k * k_stride]
  const float* data;
  long row_stride;
  long k_stride;
};

struct Right {  // element (k, n) is data[n / 16 * panel_stride + k * k_stride + n % 16]
  const float* data;
  long k_stride;
  long panel_stride;
};

// Addresses that are asked for while products are computed, a few in every sixteenth step: rows of tables that the next
// swath reads. More at once would fill the queue of outstanding loads and stall the product.
struct Fetch {
  const float* const* next;
  const float* const* end;
};

struct Start {  // element (m, n) is data[m * row_stride + n], or zero
  const float* data;
  long row_stride;
};

SWATH_INLINE Left rows_of(const float* a, long stride) { return {a, stride, 1}; }
SWATH_INLINE Right packed_weights(const float* w, long depth) { return {w, PANEL, PANEL * depth}; }
SWATH_INLINE Right matrix(const float* b, long stride) { return {b, stride, PANEL}; }
constexpr Start FROM_ZERO = {nullptr, 0};
SWATH_INLINE Start from_bias(const float* bias) { return {bias, 0}; }
SWATH_INLINE Start from_rows(const float* c, long stride) { return {c, stride}; }

// ---- sinks

template <class Function>
struct RowsThrough {
  float* data;
  long row_stride;
  Function function;
  SWATH_INLINE_MEMBER void operator()(f32v sum, long m, long n, long count) const {
    float* p = data + m * row_stride + n;
    store_some(p, function(sum, m, n), count);
  }
};
struct Same {
  SWATH_INLINE_MEMBER f32v operator()(f32v sum, long, long) const { return sum; }
};
struct Relu {
  SWATH_INLINE_MEMBER f32v operator()(f32v sum, long, long) const { return relu(sum); }
};

template <class Function = Same>
SWATH_INLINE RowsThrough<Function> to_rows(float* c, long stride, Function function = {}) {
  return {c, stride, function};
}

// ---- tiles

namespace detail {

// Rows and panels of the largest tile, chosen by measurement (tests/kernels/bench.cpp): as many
// sums as registers allow.
#if defined(__AVX512F__)
constexpr int TILE_ROWS = 12;
#else
constexpr int TILE_ROWS = 6;
#endif

struct TileCall {
  // Strides are in bytes: for strides in elements GCC compiles every loop twice, once for 1.
  const float* left;  // at the first row
  long left_row, left_k;
  const float* right;  // at the first column
  long right_panel, right_k;
  const float* start;  // at the first element, or null
  long start_row;
  float* out;  // at the first element
  long out_row;
  long depth;
  long columns;  // from the first on; fewer than the tile is wide at the right edge
  float floor;   // sums below it are raised to it: 0 is relu, -infinity nothing at all
  Fetch* fetch;
};

template <class T>
SWATH_INLINE T* bytes_on(T* p, long bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<unsigned long>(p) +
                              static_cast<unsigned long>(bytes));
}
// The same pointer, of which the compiler no longer knows how it was made: it keeps it in a
// register, and does not make one register each of pointer + 1 stride, + 2 strides, ... and spill
// them all.
template <class T>
SWATH_INLINE T* hidden(T* p) {
  __asm__("" : "+r"(p));
  return p;
}

template <bool EDGE>
SWATH_INLINE f32v part(const float* p, mask valid) {
  return EDGE ? isa::load_masked(p, valid) : load(p);
}

// `count` tiles below each other, each ROWS rows by PANELS panels, all its sums in registers. EDGE:
// tiles that reach over the last column, past which nothing may be read or written.
template <int ROWS, int PANELS, bool EDGE>
__attribute__((noinline)) void tiles(long count, const TileCall& call) {
  constexpr int ACROSS = PANELS * VECTORS;
  // Groups of rows that share a pointer: up to 3 strides on from it, an address costs nothing.
  constexpr int GROUPS = (ROWS + 3) / 4;
  long lanes[ACROSS];
  mask valid[ACROSS];
  SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) {
    const long left = call.columns - v * LANES;
    lanes[v] = left < 0 ? 0 : left < LANES ? left : LANES;
    valid[v] = first_lanes(lanes[v]);
  }
  const long left_row = call.left_row, left_k = call.left_k;
  const long right_panel = call.right_panel, right_k = call.right_k;
  const float* next_left = call.left;
  const float* start = call.start;
  float* out = call.out;

  for (; count > 0; --count) {
    f32v sum[ROWS][ACROSS];
    SWATH_UNROLL for (int r = 0; r < ROWS; ++r)
      SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) sum[r][v] = zero();
    if (start) {
      SWATH_UNROLL for (int r = 0; r < ROWS; ++r, start = hidden(bytes_on(start, call.start_row)))
        SWATH_UNROLL for (int v = 0; v < ACROSS; ++v)
          sum[r][v] = part<EDGE>(start + v * LANES, valid[v]);
    }

    const float* left[GROUPS];
    SWATH_UNROLL for (int g = 0; g < GROUPS; ++g)
      left[g] = hidden(bytes_on(next_left, g * 4 * left_row));
    next_left = bytes_on(next_left, ROWS * left_row);
    const float* right = call.right;
    auto left_at = [&](int r) __attribute__((always_inline)) {
      return broadcast(*bytes_on(left[r / 4], r % 4 * left_row));
    };
    auto right_at = [&](int v) __attribute__((always_inline)) {
      return part<EDGE>(bytes_on(right, v / VECTORS * right_panel) + v % VECTORS * LANES, valid[v]);
    };
    for (long k = 0; k < call.depth;) {
      // All rows reach a new cache line in the same step. The lines of the next tile are asked for
      // here, one tile ahead: otherwise every 16th step waits for L2. Not where rows are apart by a
      // multiple of 2 KB: the lines of two tiles would not fit the few sets of L1 that they all
      // fall into.
      if (left_row % 2048) {
        const float* ahead = bytes_on(left[0], ROWS * left_row);
        for (int r = 0; r < ROWS; ++r, ahead = bytes_on(ahead, left_row)) __builtin_prefetch(ahead);
      }
      Fetch& fetch = *call.fetch;
      for (int i = 0; i < 3 && fetch.next != fetch.end; ++i) __builtin_prefetch(*fetch.next++);
      for (const long end = k + 16 < call.depth ? k + 16 : call.depth; k < end; ++k) {
        // Whichever operand has fewer vectors waits in registers for the other.
        if constexpr (ROWS <= ACROSS) {
          f32v w[ROWS];
          SWATH_UNROLL for (int r = 0; r < ROWS; ++r) w[r] = left_at(r);
          SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) {
            f32v x = right_at(v);
            // GCC would load x again in every fma: three rows ran at 80 % of the peak, not 95.
            if (ROWS > 1) __asm__("" : "+v"(x));
            SWATH_UNROLL for (int r = 0; r < ROWS; ++r) sum[r][v] = fma(w[r], x, sum[r][v]);
          }
        } else {
          f32v x[ACROSS];
          SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) x[v] = right_at(v);
          SWATH_UNROLL for (int r = 0; r < ROWS; ++r) {
            const f32v w = left_at(r);
            SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) sum[r][v] = fma(w, x[v], sum[r][v]);
          }
        }
        SWATH_UNROLL for (int g = 0; g < GROUPS; ++g) left[g] = bytes_on(left[g], left_k);
        right = bytes_on(right, right_k);
      }
    }

    const f32v floor = broadcast(call.floor);
    SWATH_UNROLL for (int r = 0; r < ROWS; ++r, out = hidden(bytes_on(out, call.out_row)))
      SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) {
        const f32v y = isa::max_or_second(floor, sum[r][v]);
        if (EDGE) store_n(out + v * LANES, y, lanes[v]);
        else store(out + v * LANES, y);
      }
  }
}

// How many panels a tile of so many rows spans: enough independent sums to hide the latency of fma
// (4 cycles, 2 a cycle on v3), no more than there are registers for.
SWATH_INLINE long panels_across(long rows) {
  if (LANES == 16) return rows > 6 ? 2 : 4;
  return rows > 3 ? 1 : rows > 1 ? 2 : 4;
}

template <int ROWS>
SWATH_INLINE void tiles_of_rows(long panels, long count, const TileCall& call) {
  if (panels == 1 && call.columns < PANEL) return tiles<ROWS, 1, true>(count, call);
  if (panels == 1) return tiles<ROWS, 1, false>(count, call);
  // The widths that panels_across() gives to so many rows, and their halves.
  constexpr bool TWO = LANES == 16 || ROWS <= 3, FOUR = LANES == 16 ? ROWS <= 6 : ROWS == 1;
  if constexpr (TWO) {
    if (panels == 2) return tiles<ROWS, 2, false>(count, call);
  }
  if constexpr (FOUR) {
    if (panels == 4) return tiles<ROWS, 4, false>(count, call);
  }
}

static inline __attribute__((noinline)) void any_tiles(long rows, long panels, long count,
                                                       const TileCall& call) {
  switch (rows) {
    case 1: return tiles_of_rows<1>(panels, count, call);
    case 2: return tiles_of_rows<2>(panels, count, call);
    case 3: return tiles_of_rows<3>(panels, count, call);
    case 4: return tiles_of_rows<4>(panels, count, call);
    case 5: return tiles_of_rows<5>(panels, count, call);
    case 6: return tiles_of_rows<6>(panels, count, call);
#if defined(__AVX512F__)
    case 7: return tiles_of_rows<7>(panels, count, call);
    case 8: return tiles_of_rows<8>(panels, count, call);
    case 9: return tiles_of_rows<9>(panels, count, call);
    case 10: return tiles_of_rows<10>(panels, count, call);
    case 11: return tiles_of_rows<11>(panels, count, call);
    case 12: return tiles_of_rows<12>(panels, count, call);
#endif
  }
}

// Where the sums of a product go: straight into memory, or through a buffer of one tile to
// `deliver`, which hands them to the sink.
struct Target {
  float* out;
  long row_stride;
  float floor;
  const void* sink;
  void (*deliver)(const void* sink, const float* sums, long width, long rows, long columns, long m,
                  long n);
};

template <class Sink>
__attribute__((noinline)) void deliver(const void* sink, const float* sums, long width, long rows,
                                       long columns, long m, long n) {
  const Sink& take = *static_cast<const Sink*>(sink);
  for (const long end = m + rows; m < end; ++m, sums += width) {
    long c = 0;
    for (; c + LANES <= columns; c += LANES)
      take(load(sums + c), m, n + c, static_cast<long>(LANES));
    if (c < columns) take(load(sums + c), m, n + c, columns - c);
  }
}

static inline __attribute__((noinline)) void run_product(long rows, long columns, long depth,
                                                         const Left& a, const Right& b,
                                                         const Start& start, const Target& target,
                                                         Fetch* fetch) {
  alignas(64) float sums[24 * PANEL];  // the largest tile is 12 rows x 2 panels, or 6 x 4
  // Tiles of equal height, give or take a row: 13 rows are 7 + 6, not 12 + 1. The taller ones come
  // first.
  const long count = (rows + TILE_ROWS - 1) / TILE_ROWS;
  const long height = count > 1 ? rows / count : rows;
  const long taller = rows - height * count;
  TileCall call;
  Fetch nothing = {nullptr, nullptr};
  call.fetch = fetch ? fetch : &nothing;
  call.left_row = a.row_stride * 4;
  call.left_k = a.k_stride * 4;
  call.right_panel = b.panel_stride * 4;
  call.right_k = b.k_stride * 4;
  call.start_row = start.row_stride * 4;
  call.depth = depth;
  call.floor = target.floor;
  // The weights are the outer loop: a group of panels stays close while all rows of the swath go
  // over it.
  for (long n = 0; n < columns;) {
    const long whole = (columns - n) / PANEL;
    long panels = panels_across(height + (taller > 0));
    while (panels > 1 && panels > whole) panels /= 2;
    const long width = panels * PANEL, ready = columns - n < width ? columns - n : width;
    call.right = b.data + n / PANEL * b.panel_stride;
    call.columns = columns - n;
    call.left = a.data;
    call.start = start.data ? start.data + n : nullptr;
    call.out = target.deliver ? sums : target.out + n;
    call.out_row = (target.deliver ? width : target.row_stride) * 4;
    for (long m = 0, tile = 0; tile < count;) {
      const long tile_rows = height + (tile < taller);
      const long tiles = target.deliver ? 1 : tile < taller ? taller : count - tile;
      any_tiles(tile_rows, panels, tiles, call);
      const long done = tiles * tile_rows;
      if (target.deliver) target.deliver(target.sink, sums, width, done, ready, m, n);
      else call.out += done * target.row_stride;
      call.left += done * a.row_stride;
      if (call.start) call.start += done * start.row_stride;
      m += done;
      tile += tiles;
    }
    n += width;
  }
}

template <class Sink>
SWATH_INLINE Target target_of(const Sink& sink) {
  return {nullptr, 0, -__builtin_inff(), &sink, deliver<Sink>};
}
SWATH_INLINE Target target_of(const RowsThrough<Same>& sink) {
  return {sink.data, sink.row_stride, -__builtin_inff(), nullptr, nullptr};
}
SWATH_INLINE Target target_of(const RowsThrough<Relu>& sink) {
  return {sink.data, sink.row_stride, 0.0f, nullptr, nullptr};
}

}  // namespace detail

template <class Sink>
SWATH_INLINE void product(long rows, long columns, long depth, Left a, Right b, Start start,
                          const Sink& sink, Fetch* fetch = nullptr) {
  detail::run_product(rows, columns, depth, a, b, start, detail::target_of(sink), fetch);
}

}  // namespace swath

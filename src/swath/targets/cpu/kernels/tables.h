// Tables with a policy for ids: an id outside of its table never reaches memory. The entry's policy says what it becomes,
// and under `ID_ERROR` the call fails and its first fault names the row and the value.
#pragma once

#include "lookup.h"
#include "loops.h"
#include "swath_abi.h"

namespace swath {

enum Policy : int { ID_ERROR, ID_DEFAULT_ROW, ID_MODULO };

struct Entry {
  int table;  // position among the tables of the call
  int policy;
  long rows;
  long default_row;
  long number;  // position in the artefact's list of lookups
};

static __attribute__((noinline, cold)) void record_fault(const swath_call* call, long kind, long lookup, long row,
                                                         long value) {
  if (call->fault->kind) return;
  call->fault->kind = kind;
  call->fault->lookup = lookup;
  call->fault->row = row;
  call->fault->value = value;
}

static __attribute__((noinline, cold)) long settle_id(const swath_call* call, const Entry& entry, long id, long row) {
  if (entry.policy == ID_DEFAULT_ROW) return entry.default_row;
  if (entry.policy == ID_MODULO) {
    long rest = id % entry.rows;
    return rest < 0 ? rest + entry.rows : rest;
  }
  record_fault(call, SWATH_FAULT_ID_RANGE, entry.number, row, id);
  return 0;
}

template <long WIDTH>
SWATH_INLINE const float* table_row(const swath_call* call, const Entry& entry, long id, long row) {
  if (__builtin_expect(static_cast<unsigned long>(id) >= static_cast<unsigned long>(entry.rows), 0))
    id = settle_id(call, entry, id, row);
  return static_cast<const float*>(call->tables[entry.table]) + id * WIDTH;
}

template <long WIDTH>
SWATH_INLINE void fill_row(float* to, float value) {
  lanes(WIDTH, [&](long i, auto n) { store(to + i, broadcast(value), n); });
}

// A position along an axis of `size`: negative ones count from the end; out of range is a fault.
SWATH_INLINE long checked_position(const swath_call* call, long position, long size, long row) {
  long from_front = position < 0 ? position + size : position;
  if (__builtin_expect(static_cast<unsigned long>(from_front) < static_cast<unsigned long>(size), 1)) return from_front;
  record_fault(call, SWATH_FAULT_INDEX, size, row, position);
  return 0;
}

// One bag: rows of `entry` at ids[begin..end) pooled into `to`, in the order of the ids. Empty bags
// give zeros.
template <long WIDTH, int POOLING, class Id>
void bag(const swath_call* call, const Entry& entry, const Id* ids, const float* weights,
         long begin, long end, long padding_id, long row, float* to) {
  const void* const table = call->tables[entry.table];
  auto row_at = [&](long i) -> const float* {
    const long id = static_cast<long>(ids[begin + i]);
    return id == padding_id && id >= 0 ? nullptr : table_row<WIDTH>(call, entry, id, row);
  };
  // A hint needs no check: made as a number, since a pointer far outside would be undefined.
  auto hint_at = [&](long i) {
    const unsigned long id = static_cast<unsigned long>(ids[begin + i]);
    return reinterpret_cast<const float*>(reinterpret_cast<unsigned long>(table) + id * WIDTH * 4);
  };
  pool<WIDTH, POOLING>(to, end - begin, row_at, hint_at, weights ? weights + begin : nullptr);
}

}  // namespace swath

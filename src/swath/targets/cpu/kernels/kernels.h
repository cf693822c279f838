// Everything that generated code may call. No file here includes a standard header: together they parse in a few hundredths
// of a second. Build: -O3 -std=c++17 -ffp-contract=off -fvisibility=hidden -march=x86-64-v3 or -march=x86-64-v4.
#pragma once

#include "vector.h"      // f32v and what is done with it
#include "elementary.h"  // exp, log, sigmoid, tanh, ...
#include "trigonometry.h"  // sin, cos
#include "power.h"       // pow
#include "reduce.h"      // sums and dots of a row
#include "gemm.h"        // matrix products
#include "pack.h"        // activations as the right operand of a product
#include "lookup.h"      // embedding rows and bags

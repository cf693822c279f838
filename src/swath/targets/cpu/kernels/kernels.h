// The device library as a whole. No file here includes a standard header: all together parse in a
// few hundredths of a second.
//
// Build with -O3 -std=c++17 -ffp-contract=off and -march=x86-64-v3 or -march=x86-64-v4.
#pragma once

#include "elementary.h"    // exp, log, sigmoid, tanh, ...
#include "gemm.h"          // matrix products
#include "lookup.h"        // embedding rows and bags
#include "pack.h"          // activations as the right operand of a product
#include "power.h"         // pow
#include "reduce.h"        // sums and dots of a row
#include "trigonometry.h"  // sin, cos
#include "vector.h"        // f32v and what is done with it

#include <nanobind/nanobind.h>

#include "swath_abi.h"

NB_MODULE(_native, module) { module.attr("ABI_VERSION") = SWATH_ABI_VERSION; }

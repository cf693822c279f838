#pragma once

#include <string>
#include <vector>

namespace swath {

// Names of the CPU features that generated code may need, of those that both the CPU and the
// operating system offer.
std::vector<std::string> cpu_features();

// CPUs that this process may run on, at least 1.
int cpu_count();

}  // namespace swath

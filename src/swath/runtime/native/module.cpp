#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cpu.hpp"
#include "pool.hpp"
#include "program.hpp"

namespace nb = nanobind;

NB_MODULE(_native, module) {
  module.attr("ABI_VERSION") = SWATH_ABI_VERSION;
  module.attr("NativeProgram") = nb::steal(swath::make_program_type());
  module.def("share_vectorcall", [](nb::type_object type) {
    swath::share_vectorcall(reinterpret_cast<PyTypeObject*>(type.ptr()));
  });
  module.def("cpu_features", &swath::cpu_features);
  module.def("cpu_count", &swath::cpu_count);
  module.def("helper_threads", [] { return swath::Pool::shared().helpers(); });
}

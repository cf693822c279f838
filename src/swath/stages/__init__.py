"""From a row-form graph to kernels over swaths of rows: lowering, schedule, scratch plan."""

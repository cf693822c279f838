"""Running a compiled program: validation, threads, tables. Imports neither torch nor the compiler."""

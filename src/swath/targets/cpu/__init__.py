"""The CPU target: C++ with explicit vector types, one library per ISA level."""

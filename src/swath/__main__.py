"""`python -m swath`."""

from swath.cli import main

main()

"""How fast it is beside what it is made of: `make bench`. docs/benchmarks.md explains and keeps figures."""

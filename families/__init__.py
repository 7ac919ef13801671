"""What works for every text family of transformers: `make coverage-families`."""

"""The theorems, one module for each group of kernels."""

"""What symbolic execution can say about the oracle's kernels.

A theorem is a function of plain values. Its leading asserts say what it is about, the asserts after
them what it claims; CrossHair looks for values that break a claim. ``python -m tests.contracts``
checks them all, and ``docs/contracts.md`` lists them.
"""

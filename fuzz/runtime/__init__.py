"""The real LaminarDB, under generated load, killed at any moment, against oracle and model.

A *run* (:mod:`fuzz.runtime.runs`) is data: a pipeline and the steps that are done to it. It is
carried out (:mod:`fuzz.runtime.execution`) on a program (:mod:`fuzz.runtime.program`, in Rust,
beside this file) that is killed and started again on one directory. After every stop the store is
audited (:mod:`fuzz.runtime.stores`), and what the database says after recovery is compared with
what it had acknowledged (:mod:`fuzz.runtime.model`).
"""

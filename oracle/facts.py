"""Contracts by name, and contracts from files of facts.

A file of facts overrides what a format's row in :mod:`oracle.formats` says, without a change of
code: so what is only assumed of a format can be put right the day an engine shows otherwise.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

from oracle import model
from oracle.formats import CONTRACTS, PAYLOAD_ORDER, VIEW_LOG, Contract
from oracle.shapes import TAG, fields_of


def contract_named(name: str) -> Contract:
    """The contract called *name*, or the one that the TOML file *name* describes.

    Raises :class:`ValueError` with the known names, or with what is wrong in the file.
    """
    if name in CONTRACTS:
        return CONTRACTS[name]
    if name.endswith(".toml"):
        return contract_from_file(Path(name))
    known = ", ".join(CONTRACTS)
    raise ValueError(
        f"no contract is called {name!r}; choose one of {known}, or give a .toml file of facts"
    )


def contract_from_file(path: Path) -> Contract:
    """The contract that the facts in *path* make of the one that they name as their ``base``.

    The file is TOML: ``base`` (a contract's name, ``view-log`` without one) and, each optional,
    the tables ``numbers`` (``manifest_version``, ``pipeline_identity_version``,
    ``max_view_log_segments``, ``max_cluster_view_log_segments``), ``names``
    (``"Type.field" = "name in the text"``) and ``orders`` (``Type = [names in the text, in
    declaration order]``; ``payloads = [lists in the order in which their ranges fill the current
    object]``). Raises :class:`ValueError`.
    """
    try:
        facts = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a file of facts: {error}") from None
    except RecursionError:
        raise ValueError(f"{path} cannot be read as a file of facts: it nests too deep") from None
    try:
        return contract_from_facts(facts, name=path.stem)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


_TABLES = ("numbers", "names", "orders")
_NUMBERS = (
    "manifest_version",
    "pipeline_identity_version",
    "max_view_log_segments",
    "max_cluster_view_log_segments",
)
_STRUCTS: dict[str, Any] = {
    name: shape
    for name, shape in vars(model).items()
    if is_dataclass(shape) and shape not in (model.Bounds, model.Length)
}


def contract_from_facts(facts: Mapping[str, Any], name: str) -> Contract:
    """The contract *name* that *facts*, as :func:`contract_from_file` reads them, describe."""
    unknown = set(facts).difference(_TABLES, ["base"])
    if unknown:
        raise ValueError(f"unknown facts {sorted(unknown)}; known are base, {', '.join(_TABLES)}")
    base = facts.get("base", VIEW_LOG.name)
    if not isinstance(base, str) or base not in CONTRACTS:
        raise ValueError(f"base must be one of {', '.join(CONTRACTS)}")
    for table in _TABLES:
        if not isinstance(facts.get(table, {}), dict):
            raise ValueError(f"{table} must be a table")
    numbers, names = facts.get("numbers", {}), facts.get("names", {})
    orders = {shape: _names(shape, order) for shape, order in facts.get("orders", {}).items()}
    payloads = orders.pop("payloads", PAYLOAD_ORDER)
    if set(numbers).difference(_NUMBERS) or not all(
        type(number) is int and number > 0 for number in numbers.values()
    ):
        raise ValueError(f"numbers are positive integers called {', '.join(_NUMBERS)}")
    if sorted(payloads) != sorted(PAYLOAD_ORDER):
        raise ValueError(f"orders.payloads must list {', '.join(PAYLOAD_ORDER)}")
    renamed = replace(
        CONTRACTS[base], name=name, names=dict(names), payload_order=payloads, **numbers
    )
    _check_names(renamed)
    _check_orders(orders, renamed)
    return replace(renamed, orders=orders)


def _names(shape: str, order: Any) -> tuple[str, ...]:
    if not isinstance(order, list) or not all(isinstance(name, str) for name in order):
        raise ValueError(f"orders.{shape} must be a list of names")
    return tuple(order)


def _check_names(contract: Contract) -> None:
    for field, text in contract.names.items():
        shape, _, attribute = field.partition(".")
        if attribute not in getattr(_STRUCTS.get(shape), "__dataclass_fields__", {}):
            raise ValueError(f"names: {field!r} is no Type.field of a manifest")
        if not isinstance(text, str):
            raise ValueError(f"names: the name of {field} must be a string")
    for shape in {field.partition(".")[0] for field in contract.names}:
        taken = [TAG] if hasattr(_STRUCTS[shape], TAG) else []
        taken += [field.name for field in fields_of(_STRUCTS[shape], contract)]
        if len(set(taken)) < len(taken):
            raise ValueError(f"names: two fields of {shape} would have the same name")


def _check_orders(orders: Mapping[str, tuple[str, ...]], contract: Contract) -> None:
    for shape, order in orders.items():
        if shape not in _STRUCTS:
            raise ValueError(f"orders: {shape!r} is no type of a manifest")
        wanted = [field.name for field in fields_of(_STRUCTS[shape], contract)]
        if sorted(order) != sorted(wanted):
            raise ValueError(f"orders.{shape} must list {', '.join(wanted)}")

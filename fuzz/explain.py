"""Explain one document: both verdicts side by side, and what would have to change."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from functools import partial
from random import Random

from rich.console import Console
from rich.table import Table
from rich.text import Text

import oracle
from fuzz.comparison import Comparison, compare, mapped
from fuzz.engines.protocol import Engine
from fuzz.mutator.documents import Tree, read
from fuzz.mutator.seal import Sealer
from fuzz.mutator.values import Values
from oracle import RULES, Contract, DecodeError, Stage

_WIDTH_WITHOUT_TERMINAL = 120
_MOST_DIFF_LINES = 200
# An array of numbers, which reads better in one line.
_NUMBERS = re.compile(r"\[\s*\d+(?:,\s*\d+)*\s*\]")


def explain(document: bytes, key_groups: int, engine: Engine, contract: Contract) -> None:
    """Write an explanation of *document* to standard output."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_WITHOUT_TERMINAL)
    found = compare(document, engine, key_groups, contract)
    known = "" if found.known is None else f" (known: {found.known})"
    console.print(
        Text(f"{found.signature}{known}", "bold"),
        Text(f"{len(document):,} bytes, key groups: {key_groups}, contract {contract.name}"),
    )
    console.print(_stages(found, engine))
    if found.oracle.rejection is not None:
        console.print(_rejection(found.oracle.rejection))
    if found.oracle.rules or found.engine_rules:
        console.print(_rules(found, contract))
    _print_diff(console, document, key_groups, contract)


def _stages(found: Comparison, engine: Engine) -> Table:
    table = Table("", "oracle", engine.name)
    table.add_row("stage", found.oracle.stage.value, found.engine.stage)
    if found.engine.stage in ("decode", "panic", "hang", "crash"):
        rejection = found.oracle.rejection
        messages = [*found.engine.messages, *filter(None, [found.engine.place])]
        table.add_row("reason", Text(str(rejection or "")), Text("\n".join(messages)))
    return table


def _rejection(error: DecodeError) -> Text:
    return Text(f"rejected because {error.kind.statement}")


def _rules(found: Comparison, contract: Contract) -> Table:
    """Every rule that either side found broken, place by place."""
    table = Table("rule", "broken when", "oracle", "engine", show_lines=True)
    for rule in sorted({*found.oracle.rules, *found.engine_rules}):
        places = [
            f"{one.pointer}: {one.message}" for one in found.oracle.findings if one.rule == rule
        ]
        messages = [
            text
            for text in found.engine.messages
            if rule in mapped([text], contract, found.engine_rules & {rule})[0]
        ]
        statement = RULES[rule].statement if rule in RULES else ""
        same = rule in found.oracle.rules and rule in found.engine_rules
        table.add_row(
            Text(rule, "" if same else "bold red"),
            Text(statement),
            Text("\n".join(places) or "-"),
            Text("\n".join(messages) or "-"),
        )
    return table


def _print_diff(console: Console, document: bytes, key_groups: int, contract: Contract) -> None:
    """Print what a valid document near *document* has instead."""
    valid = nearest_valid(document, key_groups, contract)
    if valid is None:
        console.print("no valid document was found near it")
        return
    lines = [
        *difflib.unified_diff(
            _lines(document), _lines(valid), "this document", "a valid one", lineterm="", n=2
        )
    ]
    if not lines:
        console.print("the document is valid, or only its spelling is wrong")
        return
    for line in lines[:_MOST_DIFF_LINES]:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        console.print(Text(line, style))
    if len(lines) > _MOST_DIFF_LINES:
        console.print(f"and {len(lines) - _MOST_DIFF_LINES} lines more")


def nearest_valid(document: bytes, key_groups: int, contract: Contract) -> bytes | None:
    """A valid document like *document*, with as few repairs as a try of all single ones finds."""
    sealer = Sealer(contract, Values(Random(0)))
    try:
        tree = read(document)
    except (ValueError, RecursionError):
        return None
    candidates: list[Callable[[Tree], Tree]] = [lambda tree: tree]
    candidates += [partial(_repaired, part) for part in sealer.parts]
    candidates.append(partial(sealer.seal, key_groups=key_groups))
    for candidate in candidates:
        try:
            made = candidate(json.loads(json.dumps(tree)))
            text = json.dumps(made, ensure_ascii=False).encode("utf-8", "surrogatepass")
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            continue
        if oracle.judge(text, key_groups, contract).stage is Stage.VALID:
            return text
    return None


def _repaired(part: Callable[[Tree], None], tree: Tree) -> Tree:
    part(tree)
    return tree


def _lines(document: bytes) -> list[str]:
    text = json.dumps(json.loads(document), indent=1, sort_keys=True, ensure_ascii=False)
    return _NUMBERS.sub(lambda array: "".join(array[0].split()), text).split("\n")

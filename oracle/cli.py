"""The command line: ``python -m oracle``, installed as ``manifest-oracle``.

Data goes to standard output, summaries and warnings to standard error. The exit code is 0 when
everything is as it should be, 1 when something is not, 2 when it could not be found out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from oracle import cuts, store
from oracle.assumptions import ASSUMPTIONS
from oracle.constants import (
    DEFAULT_KEY_GROUP_COUNT,
    MAX_CHECKPOINT_MANIFEST_BYTES,
    MAX_KEY_GROUP_COUNT,
)
from oracle.digests import (
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
    checkpoint_sha256,
)
from oracle.encoding import encode
from oracle.errors import DecodeError, Kind
from oracle.facts import contract_named
from oracle.formats import CONTRACTS, V10, VIEW_LOG, Contract
from oracle.registry import RULES, Finding, Level, Rule
from oracle.store.cli import add_parser as add_audit
from oracle.terminal import never_fail_to_print, printable
from oracle.verdict import Stage, decode, hazards, judge

CLEAN, FINDINGS, COULD_NOT_RUN = 0, 1, 2
"""The exit codes."""

STANDARD_INPUT = "-"

_DOCUMENT = "document"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command in *arguments* (of the process, when ``None``) and return the exit code."""
    options = _parser().parse_args(arguments)
    # Python has None for a stream that was closed before it started.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as long as the process lives
    if sys.stdout is None:
        _complain(options.parser.prog, "standard output is closed; open it, or give it /dev/null")
        return COULD_NOT_RUN
    never_fail_to_print(sys.stdout)
    never_fail_to_print(sys.stderr)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        code = command(options)
        sys.stdout.flush()
    except OSError as error:
        # The interpreter must not try to write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # else whoever read the output has gone
            _complain(options.parser.prog, f"could not finish: {error}")
        return COULD_NOT_RUN
    except Exception:  # Python would end with 1, which says that a manifest is wrong
        traceback.print_exc()
        _complain(options.parser.prog, "this is a fault of the command; please report the above")
        return COULD_NOT_RUN
    return code


# --- what can be asked -----------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="manifest-oracle",
        description="What a LaminarDB checkpoint manifest is worth, by the rules of its format.",
        epilog="Exit codes: 0 all is well, 1 something is not, 2 it could not be found out. "
        "COMMAND --help tells more.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    check = _command(
        commands,
        "check",
        _check,
        "judge manifests",
        "Says of each manifest whether it decodes and which rules it breaks; warnings tell what "
        "a later stage of the engine would refuse, and change no verdict. Text has nothing on a "
        "manifest without either; json has one object a line for each file.",
        "Exit codes: 0 all are valid, 1 some are not, 2 a file cannot be read.",
    )
    _add_contract(check)
    check.add_argument(
        "--key-groups",
        type=_key_groups,
        default=DEFAULT_KEY_GROUP_COUNT,
        metavar="N|document",
        help=f"vnodes that the engine is configured for, 1..={MAX_KEY_GROUP_COUNT}, or "
        "'document' for each manifest's own vnode_count, or the default where that is 0 "
        "(default: %(default)s)",
    )
    _add_format(check, "text", "json")
    check.add_argument("files", nargs="+", metavar="FILE", help="a manifest, or - for stdin")

    rules = _command(
        commands,
        "rules",
        _rules,
        "list what is checked",
        "Every reason to reject a manifest, every rule and every hazard, of committed indexes, "
        "cuts and stores, too: its id, the formats that it holds in, and when it fires.",
    )
    _add_format(rules, "text", "json", "markdown")

    encoding = _command(
        commands,
        "encode",
        _encode,
        "write a manifest in its canonical encoding",
        "The bytes that the engine would write, on standard output, whether the manifest is valid "
        "or not.",
        "Exit codes: 0 it is written, 1 it does not decode, 2 it cannot be read.",
    )
    _add_contract(encoding)
    encoding.add_argument("file", metavar="FILE", help="a manifest, or - for stdin")

    digest = _command(
        commands,
        "digest",
        _digest,
        "print a digest that manifests carry",
        "As 64 hexadecimal digits, of the bytes in FILE as they stand.",
    )
    digest.add_argument(
        "domain",
        choices=_DIGESTS,
        help="bytes: of an object or a state frame; descriptor: of a prepared sink's payload; "
        "intent: of a sink artifact intent's payload",
    )
    content = digest.add_mutually_exclusive_group(required=True)
    content.add_argument(
        "--absent",
        action="store_true",
        help="of a descriptor or an intent without payload, and so without FILE",
    )
    content.add_argument("file", nargs="?", metavar="FILE", help="the payload, or - for stdin")

    add_audit(commands)

    bench = _command(
        commands,
        "bench",
        _bench,
        "measure what a verdict costs",
        "Takes about half a minute.",
        "Exit codes: 0 every limit holds, 1 one is exceeded.",
    )
    _add_format(bench, "text", "json")
    return parser


def _command(
    commands: Any,
    name: str,
    command: Callable[[argparse.Namespace], int],
    does: str,
    more: str,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    description = f"{does[0].upper()}{does[1:]}. {more}"
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=does, description=description, epilog=epilog
    )
    parser.set_defaults(command=command, parser=parser)
    return parser


def _add_contract(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--contract",
        type=_contract,
        default=V10,
        metavar="NAME",
        help=f"the manifests' format: {', '.join(CONTRACTS)}, or a .toml file of facts about "
        f"another one, as oracle/facts.py describes it (default: {V10.name})",
    )


def _add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    parser.add_argument(
        "--format", choices=formats, default=formats[0], help="of the output (default: %(default)s)"
    )


def _contract(name: str) -> Contract:
    try:
        return contract_named(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _key_groups(text: str) -> int | None:
    if text == _DOCUMENT:
        return None
    if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_KEY_GROUP_COUNT)):
        count = int(text)
        if 1 <= count <= MAX_KEY_GROUP_COUNT:
            return count
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a key-group count; give 1..={MAX_KEY_GROUP_COUNT} or {_DOCUMENT!r}"
    )


def _read(file: str) -> bytes | None:
    """The bytes of *file*; without them, the reason and what to do are on standard error."""
    if file == STANDARD_INPUT and sys.stdin is None:
        _complain(file, "standard input is closed; name a file instead")
        return None
    try:
        if file == STANDARD_INPUT:
            return sys.stdin.buffer.read()
        with open(file, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        _complain(file, "there is no such file; check the path")
    except IsADirectoryError:
        _complain(file, "this is a directory; name the manifest.json in it")
    except OSError as error:
        _complain(file, f"cannot be read: {error.strerror}")
    return None


def _complain(file: str, message: str) -> None:
    print(f"{printable(file)}: {message}", file=sys.stderr)


# --- check -----------------------------------------------------------------------------------


def _check(options: argparse.Namespace) -> int:
    if options.files.count(STANDARD_INPUT) > 1:
        options.parser.error("standard input can be read only once; give - once")
    report = _report_json if options.format == "json" else _report_text
    stages: list[Stage | None] = []
    for file in options.files:
        data = _read(file)
        if data is None:
            stages.append(None)
            continue
        if len(data) > MAX_CHECKPOINT_MANIFEST_BYTES:
            _complain(
                file,
                f"warning: {len(data):,} bytes; an engine loads no manifest above "
                f"{MAX_CHECKPOINT_MANIFEST_BYTES:,} from a store",
            )
        judged = Judged(file, data, options.key_groups, options.contract)
        for line in report(judged):
            print(line)
        sys.stdout.flush()
        stages.append(judged.verdict.stage)
    _summarise(stages)
    if None in stages:
        return COULD_NOT_RUN
    return CLEAN if set(stages) == {Stage.VALID} else FINDINGS


def _summarise(stages: Sequence[Stage | None]) -> None:
    names = {
        Stage.VALID: "valid",
        Stage.INVALID: "invalid",
        Stage.DECODE: "not decoded",
        None: "not read",
    }
    counts = [f"{stages.count(stage)} {name}" for stage, name in names.items() if stage in stages]
    files = "file" if len(stages) == 1 else "files"
    print(f"{len(stages)} {files}: {', '.join(counts)}", file=sys.stderr)


class Judged:
    """A file with its verdict and its hazards.

    ``key_groups`` is what the verdict was held against: with ``None`` the manifest's own
    vnode_count, or, where that is 0 and so no key-group count, the engine's default. It stays
    ``None`` when there is no manifest.
    """

    def __init__(self, file: str, data: bytes, key_groups: int | None, contract: Contract) -> None:
        self.file = file
        self.contract = contract
        self.key_groups = key_groups
        self.verdict = judge(data, key_groups or DEFAULT_KEY_GROUP_COUNT, contract)
        manifest = self.verdict.manifest
        if key_groups is None and manifest is not None:
            self.key_groups = manifest.vnode_count or DEFAULT_KEY_GROUP_COUNT
            if self.key_groups != DEFAULT_KEY_GROUP_COUNT:
                self.verdict = judge(data, self.key_groups, contract)
        self.hazards = [] if manifest is None else hazards(manifest, data, contract)


def _report_json(judged: Judged) -> Iterator[str]:
    verdict, rejection = judged.verdict, judged.verdict.rejection
    yield json.dumps(
        {
            "file": judged.file,
            "contract": judged.contract.name,
            "key_groups": judged.key_groups,
            "stage": verdict.stage.value,
            "rejection": None
            if rejection is None
            else {
                "kind": rejection.kind.value,
                "pointer": rejection.pointer,
                "message": rejection.message,
            },
            "findings": [_finding_json(finding) for finding in verdict.findings],
            "hazards": [_finding_json(finding) for finding in judged.hazards],
        }
    )


def _finding_json(finding: Finding) -> dict[str, str]:
    return {"rule": finding.rule, "pointer": finding.pointer, "message": finding.message}


_MOST_SHOWN = 20


def _report_text(judged: Judged) -> Iterator[str]:
    if judged.verdict.rejection is not None:
        yield from _rejection_text(judged.file, judged.verdict.rejection)
    for finding_list in (judged.verdict.findings, judged.hazards):
        for rule, same in groupby(finding_list, attrgetter("rule")):
            yield from _findings_text(judged.file, RULES[rule], [*same])


def _rejection_text(file: str, rejection: DecodeError) -> Iterator[str]:
    yield _place(file, rejection.pointer, f"{rejection.kind.value}: {rejection.message}")
    yield f"    not decoded when: {rejection.kind.statement}"


def _findings_text(file: str, rule: Rule, findings: Sequence[Finding]) -> Iterator[str]:
    label = f"warning: {rule.id}" if rule.level is Level.HAZARD else rule.id
    for finding in findings[:_MOST_SHOWN]:
        yield _place(file, finding.pointer, f"{label}: {finding.message}")
    if len(findings) > _MOST_SHOWN:
        more = len(findings) - _MOST_SHOWN
        yield _place(file, "", f"{label}: and {more:,} more ({len(findings):,} in all)")
    verb = "warns" if rule.level is Level.HAZARD else "broken"
    yield f"    {verb} when: {_one_line(rule.statement)}"
    if rule.consequence is not None:
        yield f"    later: {rule.consequence}"
    if rule.assumption is not None:
        yield f"    assumption {rule.assumption}: no released engine has this rule yet"


def _place(file: str, pointer: str, message: str) -> str:
    colon = ":" if pointer else ""
    return printable(f"{file}{colon}{pointer}: {message}")


def _one_line(text: str) -> str:
    return " ".join(text.split())


# --- rules -----------------------------------------------------------------------------------


def _rules(options: argparse.Namespace) -> int:
    listing = {"text": _listing_text, "json": _listing_json, "markdown": _listing_markdown}
    for line in listing[options.format]():
        print(line)
    return CLEAN


_HEADINGS = {
    Level.RULE: "Rules: the manifest is invalid",
    Level.FAULT: "Faults of subscription output: the first one makes the manifest invalid",
    Level.HAZARD: "Hazards: the manifest may be valid, and a later stage refuses it",
    Level.INDEX: "Committed index: the first that fires makes it invalid",
    Level.CUT: "Cuts: index, manifests and predecessor do not belong together; the first counts",
    Level.STORE: "Stores: what an audit finds beside the faults of cuts and manifests",
}
_BEYOND_MANIFESTS = (Level.INDEX, Level.CUT, Level.STORE)
_ALL_RULES = RULES | cuts.RULES | store.RULES
_DECODE_HEADING = "Decode: the document is not a manifest"
_ASSUMPTIONS_HEADING = f"Assumptions about {VIEW_LOG.name}: D is documented, A is a guess"


def _entries(level: Level) -> list[Rule]:
    return [rule for rule in _ALL_RULES.values() if rule.level is level]


def _formats(rule: Rule) -> list[str]:
    """The manifest formats that *rule* holds in; none, where it is not about manifests."""
    if rule.level in _BEYOND_MANIFESTS:
        return []
    return [contract.name for contract in CONTRACTS.values() if contract.has(rule.feature)]


def _listing_text() -> Iterator[str]:
    yield f"{_DECODE_HEADING}\n"
    for kind in Kind:
        yield f"{kind.value}\n    {kind.statement}"
    for level, heading in _HEADINGS.items():
        yield f"\n{heading}\n"
        for rule in _entries(level):
            yield f"{rule.id}  [{' '.join(_formats(rule))}]" if _formats(rule) else rule.id
            yield f"    {_one_line(rule.statement)}"
            if rule.unspecified_with:
                yield f"    unspecified while broken: {', '.join(rule.unspecified_with)}"
            if rule.consequence is not None:
                yield f"    later: {rule.consequence}"
            if rule.assumption is not None:
                yield f"    assumption {rule.assumption}"
    yield f"\n{_ASSUMPTIONS_HEADING}\n"
    for entry in ASSUMPTIONS.values():
        yield f"{entry.id}\n    {entry.statement}"
        yield f"    because: {entry.basis}"
        yield f"    confirmed by: {entry.confirmed_by}"


def _listing_json() -> Iterator[str]:
    """One object a line: the kinds of decode rejections, the registry, and what is assumed."""
    for kind in Kind:
        yield json.dumps(
            {
                "id": kind.value,
                "level": "decode",
                "formats": [*CONTRACTS],
                "statement": kind.statement,
                "unspecified_with": [],
                "family": None,
                "consequence": None,
                "assumption": None,
            }
        )
    for rule in _ALL_RULES.values():
        yield json.dumps(
            {
                "id": rule.id,
                "level": rule.level.value,
                "formats": _formats(rule),
                "statement": _one_line(rule.statement),
                "unspecified_with": rule.unspecified_with,
                "family": rule.family,
                "consequence": rule.consequence,
                "assumption": rule.assumption,
            }
        )
    for entry in ASSUMPTIONS.values():
        yield json.dumps(
            {
                "id": entry.id,
                "level": "assumption",
                "formats": [VIEW_LOG.name],
                "statement": entry.statement,
                "basis": entry.basis,
                "confirmed_by": entry.confirmed_by,
            }
        )


def _listing_markdown() -> Iterator[str]:
    yield f"### {_DECODE_HEADING}\n"
    yield from _table(["kind", "not decoded when"], ([k.value, k.statement] for k in Kind))
    for level, heading in _HEADINGS.items():
        yield f"\n### {heading}\n"
        titles = ["id", "formats", "fires when"]
        titles.append("what happens later" if level is Level.HAZARD else "unspecified while broken")
        yield from _table(titles, map(_row, _entries(level)))
    yield f"\n### {_ASSUMPTIONS_HEADING}\n"
    entries = ASSUMPTIONS.values()
    yield from _table(
        ["id", "statement", "because", "confirmed by"],
        ([entry.id, entry.statement, entry.basis, entry.confirmed_by] for entry in entries),
    )


def _row(rule: Rule) -> list[str]:
    unspecified = ", ".join(f"`{id}`" for id in rule.unspecified_with)
    assumed = "" if rule.assumption is None else f" (assumption {rule.assumption})"
    return [
        f"`{rule.id}`",
        " ".join(_formats(rule)) + assumed,
        _one_line(rule.statement),
        unspecified if rule.consequence is None else rule.consequence,
    ]


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"| {' | '.join('---' for _ in titles)} |"
    for row in rows:
        cells = (cell.replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"


# --- encode, digest, bench -------------------------------------------------------------------


def _encode(options: argparse.Namespace) -> int:
    data = _read(options.file)
    if data is None:
        return COULD_NOT_RUN
    try:
        manifest = decode(data, options.contract)
    except DecodeError as error:
        for line in _rejection_text(options.file, error):
            print(line, file=sys.stderr)
        return FINDINGS
    sys.stdout.buffer.write(encode(manifest, options.contract))
    return CLEAN


_DIGESTS: dict[str, Callable[[bytes | None], str]] = {
    "bytes": lambda data: checkpoint_sha256(data or b""),
    "descriptor": checkpoint_descriptor_sha256,
    "intent": checkpoint_artifact_intent_sha256,
}


def _digest(options: argparse.Namespace) -> int:
    data = None if options.absent else _read(options.file)
    if options.absent and options.domain == "bytes":
        options.parser.error("only a descriptor or an intent can be absent; give a FILE")
    if data is None and not options.absent:
        return COULD_NOT_RUN
    print(_DIGESTS[options.domain](data))
    return CLEAN


def _bench(options: argparse.Namespace) -> int:
    from oracle.bench import measure

    report = measure()
    print(report.as_json() if options.format == "json" else report.as_text())
    return FINDINGS if report.exceeded else CLEAN

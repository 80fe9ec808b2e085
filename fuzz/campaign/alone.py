"""Judge one document in a process of its own, which it may take down."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.engines.protocol import StoreEngine
    from fuzz.targets.session import Disagreement

_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Died:
    """A document took its process down: ``how``, the ``place`` if it is known, and what it said."""

    how: str
    place: str
    told: str


def judge_alone(
    document: bytes, key_groups: int | None, engine: str, contract: str
) -> Disagreement | Died | None:
    """Compare both sides on *document* elsewhere; ``None`` where they agree or it is known.

    A document without *key_groups* is a whole cut.
    """
    return _elsewhere("judge", document, key_groups, engine, contract)


def reduce_alone(
    document: bytes, key_groups: int | None, engine: str, contract: str
) -> Disagreement | None:
    """Reduce *document* elsewhere; ``None`` where that did not work out."""
    made = _elsewhere("reduce", document, key_groups, engine, contract)
    return None if isinstance(made, Died) else made


def _elsewhere(
    what: str, document: bytes, key_groups: int | None, engine: str, contract: str
) -> Disagreement | Died | None:
    from fuzz.targets.session import Disagreement

    with TemporaryDirectory() as room:
        path = Path(room) / "document"
        path.write_bytes(document)
        command = [sys.executable, "-m", "fuzz.campaign.alone", what, str(path), str(key_groups)]
        try:
            done = subprocess.run(
                [*command, engine, contract], capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Died("hang", "alone", f"no verdict in {_SECONDS} seconds")
        document = path.read_bytes()
    if done.returncode != 0:
        told = done.stderr.decode("utf-8", "replace")[-2000:]
        if done.returncode < 0:
            return Died("crash", signal.Signals(-done.returncode).name, told)
        return Died("crash", f"status {done.returncode}", told)
    fields = json.loads(done.stdout)
    if fields is None:
        return None
    for side in ("oracle", "engine"):
        fields[side] = tuple(fields[side])
    return Disagreement(**fields, document=document)


def main() -> None:
    """Print what differs between both sides on the document that the arguments name.

    With ``reduce`` for the first of them, the document is made small before, in its file.
    """
    from fuzz.campaign.canary import plant_from_environment
    from fuzz.campaign.contracts import contract_called
    from fuzz.comparison import compare
    from fuzz.cuts import lending_cuts
    from fuzz.engines import load
    from fuzz.reduce import reduce
    from fuzz.targets.session import disagreement

    what, path, key_groups, engine_name, contract_name = sys.argv[1:]
    plant_from_environment()
    document = Path(path).read_bytes()
    engine = load(engine_name)
    contract = contract_called(contract_name, engine)
    if key_groups == str(None):
        _print(_cut_disagreement(what, path, lending_cuts(engine)))
        return
    groups = int(key_groups)
    if what == "reduce":
        made = reduce(document, groups, engine, contract)
        Path(path).write_bytes(made.document)
        found, groups = made.comparison, made.key_groups
    else:
        found = compare(document, engine, groups, contract)
    _print(disagreement(found, b"", groups) if found.is_finding else None)


def _cut_disagreement(what: str, path: str, engine: StoreEngine) -> Disagreement | None:
    from fuzz.cuts import CutDocuments, compare_cut
    from fuzz.reduce_cuts import reduce_cut
    from fuzz.targets.session import cut_disagreement

    documents = CutDocuments.of_text(Path(path).read_bytes())
    if what == "reduce":
        made = reduce_cut(documents, engine)
        Path(path).write_bytes(made.documents.text())
        found = made.comparison
    else:
        found = compare_cut(engine, documents)
    return cut_disagreement(found, b"") if found.is_finding else None


def _print(found: Disagreement | None) -> None:
    told = None if found is None else asdict(found)
    if told is not None:
        del told["document"]
    print(json.dumps(told))


if __name__ == "__main__":
    main()

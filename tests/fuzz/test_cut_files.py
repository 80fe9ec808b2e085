"""Cuts on disk are read as they lie there."""

from pathlib import Path

import pytest

from corpora import ROOT
from fuzz.cut_files import files_of, is_cut, read_cut
from fuzz.cuts import CutDocuments
from oracle import cuts

STORE = ROOT / "stores" / "trades"
INDEXES = sorted((STORE / "committed-checkpoints").rglob("sha256=*"))
CUT = CutDocuments(b"index", (b"first", b"", b"third"), b"older")


def test_text_is_lines() -> None:
    """A cut's text gives the cut again, with and without predecessor and manifests."""
    assert CUT.text() == b"index\nolder\nfirst\n\nthird"
    for cut in (CUT, CutDocuments(b"index", ()), CutDocuments(b"", (b"{}",))):
        assert CutDocuments.of_text(cut.text()) == cut


@pytest.mark.parametrize("text", [b"", b"\n", b"\n\n\n", b"{}", b"\xff\n\xff"])
def test_any_bytes_are_a_cut(text: bytes) -> None:
    """No input of a fuzzer is refused before it is judged."""
    assert CutDocuments.of_text(text).index == text.split(b"\n")[0]


def test_text_refuses_lines() -> None:
    """A document with a line break would come back as two."""
    with pytest.raises(ValueError, match="more than one line"):
        CutDocuments(b"{\n}", ()).text()


def test_directory(tmp_path: Path) -> None:
    """Manifests are in the order of their numbers, not of their names."""
    many = CutDocuments(b"index", tuple(b"%d" % number for number in range(12)), b"older")
    for name, data in files_of(many).items():
        (tmp_path / name).write_bytes(data)
    assert is_cut(tmp_path)
    assert read_cut(tmp_path) == many
    (tmp_path / "manifest.json").touch()
    assert not is_cut(tmp_path)


def test_what_is_no_cut(tmp_path: Path) -> None:
    """A directory of documents, even with one called index.json, and a file of any name."""
    assert not is_cut(tmp_path)
    (tmp_path / "other.json").touch()
    (tmp_path / "index.json").touch()
    (tmp_path / "sha256=00").touch()
    assert not any(map(is_cut, [tmp_path, *tmp_path.iterdir()]))
    assert not is_cut(ROOT / "index.jsonl")


def test_cut_in_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index brings its manifests and the predecessor that is still there."""
    monkeypatch.chdir(STORE)
    first, second = (path.relative_to(STORE) for path in INDEXES)
    assert is_cut(second)
    found = read_cut(second)
    manifest = Path("nodes/1/checkpoints/00000000000000065540/manifest.json")
    assert found == CutDocuments(second.read_bytes(), (manifest.read_bytes(),), first.read_bytes())
    assert read_cut(first).predecessor is None


def test_no_digest_leads_out_of_a_store(tmp_path: Path) -> None:
    """A reference is only followed where it can be the name of an index."""
    index = cuts.decode_index(INDEXES[1].read_bytes())
    assert index.predecessor is not None
    text = (
        INDEXES[1].read_bytes().replace(index.predecessor.sha256.encode(), b"/../../../../secret")
    )
    place = tmp_path / INDEXES[1].relative_to(STORE)
    place.parent.mkdir(parents=True)
    place.write_bytes(text)
    older = (
        place.parents[2]
        / f"epoch={index.predecessor.epoch:020}/checkpoint={index.predecessor.epoch:020}/sha256="
    )
    older.mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"secret")
    assert Path(f"{older}/../../../../secret").read_bytes() == b"secret"
    assert read_cut(place) == CutDocuments(text, ())

"""Checkpoints with their bytes, damage to these, and whole cuts."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import oracle
from oracle import (
    CONTRACTS,
    V9,
    Contract,
    StateChunkId,
    checkpoint_artifact_intent_sha256,
    checkpoint_descriptor_sha256,
    checkpoint_sha256,
)
from strategies import Checkpoint, Cut, DamageKind, Trait, checkpoints, cuts, damages
from strategies.sampling import sample

FORMATS = list(CONTRACTS.values())
contracts = pytest.mark.parametrize("contract", FORMATS, ids=[c.name for c in FORMATS])

DIGESTS = {
    "sink_artifact_intents": checkpoint_artifact_intent_sha256,
    "prepared_sinks": checkpoint_descriptor_sha256,
}


def untrue(checkpoint: Checkpoint, objects: Mapping[StateChunkId, bytes]) -> set[str]:
    """Pointers of everything whose length or digest is not that of its bytes in *objects*."""
    manifest, found = checkpoint.manifest, set()
    wholes = {"/node_data": manifest.node_data}
    for index, reference in enumerate(manifest.referenced_chunks):
        wholes[f"/referenced_chunks/{index}"] = reference  # type: ignore[assignment]
    for pointer, whole in wholes.items():
        data = objects[whole.chunk]
        if len(data) != whole.object_length or checkpoint_sha256(data) != whole.sha256:
            found.add(pointer)
    payloads = {f"/state_frames/{index}": one for index, one in enumerate(manifest.state_frames)}
    for number, log in enumerate(manifest.view_logs):
        for index, segment in enumerate(log.segments):
            payloads[f"/view_logs/{number}/segments/{index}"] = segment  # type: ignore[assignment]
    for pointer, one in payloads.items():
        data = objects[one.chunk][one.range.offset :][: one.range.length]
        if checkpoint_sha256(data) != one.sha256:
            found.add(pointer)
    for field, digest in DIGESTS.items():
        for index, entry in enumerate(getattr(manifest, field)):
            payload = None
            if entry.payload is not None:
                payload = objects[manifest.current_chunk][entry.payload.offset :]
                payload = payload[: entry.payload.length]
            if digest(payload) != entry.sha256:
                found.add(f"/{field}/{index}")
    return found


@contracts
@given(data=st.data())
def test_every_digest_of_a_checkpoint_is_true(contract: Contract, data: st.DataObject) -> None:
    """The manifest is valid and describes the bytes, older objects too."""
    checkpoint = data.draw(checkpoints(contract))
    manifest = checkpoint.manifest
    assert oracle.validate(manifest, manifest.vnode_count, contract) == []
    assert untrue(checkpoint, checkpoint.objects) == set()
    assert set(checkpoint.objects) == {
        manifest.current_chunk,
        *(reference.chunk for reference in manifest.referenced_chunks),
    }


@contracts
@given(data=st.data())
def test_digests_reveal_every_damage(contract: Contract, data: st.DataObject) -> None:
    """Exactly what the damage says is no longer true."""
    checkpoint = data.draw(checkpoints(contract))
    damage = data.draw(damages(checkpoint))
    assert damage.data != checkpoint.objects[damage.chunk]
    assert damage.revealed_by
    assert untrue(checkpoint, damage.objects) == damage.revealed_by


def test_every_kind_of_damage_comes() -> None:
    """Two frames of one object can be swapped; one has nothing to be swapped with."""
    one = sample(checkpoints(without=[Trait.OLDER_FRAME, Trait.CURRENT_FRAME, Trait.SINK]), 1)[0]
    with pytest.raises(InvalidArgument):
        damages(one, kinds=[DamageKind.SWAP])
    found = set()
    for checkpoint in sample(checkpoints(having=[Trait.OLDER_FRAME]), 40):
        found |= {damage.kind for damage in sample(damages(checkpoint), 8)}
    assert found == set(DamageKind)


@contracts
@given(data=st.data())
def test_cuts_fit_together(contract: Contract, data: st.DataObject) -> None:
    """Each manifest is valid, all share the fence, and each vnode has exactly one owner."""
    cut: Cut = data.draw(cuts(contract))
    owners: dict[int, int] = {}
    for checkpoint in cut.checkpoints:
        manifest = checkpoint.manifest
        assert oracle.validate(manifest, len(cut.owners), contract) == []
        assert oracle.hazards(manifest, checkpoint.document, contract) == []
        assert untrue(checkpoint, checkpoint.objects) == set()
        assert manifest.assignment_fence == cut.fence
        for vnode in manifest.owned_vnodes:
            assert vnode not in owners
            owners[vnode] = manifest.participant_id
    assert tuple(owners[vnode] for vnode in range(len(cut.owners))) == cut.owners
    assert cut.fence.assignment_digest == oracle.owner_map_digest(len(cut.owners), cut.owners)
    participants = [member.node_id for member in cut.fence.participants]
    assert [manifest.participant_id for manifest in cut.manifests] == participants


@pytest.mark.parametrize(
    "arguments",
    [
        {"min_participants": 0},
        {"min_participants": 3, "max_participants": 2},
        {"max_participants": 99},
    ],
    ids=str,
)
def test_bad_arguments_fail_at_the_call(arguments: dict[str, int]) -> None:
    """What cannot be met is refused before anything is drawn."""
    with pytest.raises(InvalidArgument):
        cuts(**arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        cuts(V9, subscription=True)
    with pytest.raises(InvalidArgument):
        checkpoints(having=[Trait.U64_END])

"""What can be wrong with a store, and how a finding names the place.

A store's findings are of these rules, of the rules of a cut (:data:`oracle.cuts.RULES`), or of
those of a manifest (:data:`oracle.RULES`).
"""

from __future__ import annotations

from dataclasses import dataclass

from oracle.model import ByteRange
from oracle.registry import Level, Rule

RULES: dict[str, Rule] = {}
"""Every rule of a store by id, in the order in which a store is read."""


@dataclass(frozen=True, slots=True)
class StoreFinding:
    """One thing that is wrong with one file.

    ``file`` is relative to the root, with slashes; it may be one that is missing. The place is
    ``pointer``, a JSON Pointer into the file, or ``range``, of its bytes.
    """

    file: str
    rule: str
    message: str
    pointer: str = ""
    range: ByteRange | None = None

    @property
    def place(self) -> str:
        """The place inside the file as text; empty for the whole file."""
        if self.range is not None:
            return f"bytes {self.range.offset}..{self.range.end}"
        return self.pointer


def _rule(id: str, statement: str) -> str:
    RULES[id] = Rule(id, Level.STORE, statement)
    return id


IDENTITY_MISSING = _rule("identity.missing", "There is no deployment identity.")
IDENTITY_DECODE = _rule(
    "identity.decode", "The deployment identity is above 1 KiB or does not decode."
)
IDENTITY_ENCODING = _rule(
    "identity.encoding", "The deployment identity is not as the engine writes it."
)
IDENTITY_VERSION = _rule("identity.version", "The deployment identity's version is not 3.")
IDENTITY_ID = _rule(
    "identity.id",
    "id or allocation_id is not the canonical text of a non-nil UUID.",
)
IDENTITY_FOREIGN = _rule(
    "identity.foreign", "The records of the store are another deployment's than the identity's."
)
IDENTITY_ALLOCATOR = _rule(
    "identity.allocator", "A checkpoint id in use is above the allocator's checkpoint_id."
)
DECISIONS_MISSING = _rule(
    "decisions.missing", "A local store has checkpoints and no decision head."
)
DECISIONS_DECODE = _rule(
    "decisions.decode", "The decision head is above 128 KiB or does not decode."
)
DECISIONS_ENCODING = _rule(
    "decisions.encoding", "The decision head is not as the engine writes it."
)
DECISIONS_VERSION = _rule("decisions.version", "The decision head's version is not 2.")
DECISIONS_DEPLOYMENT = _rule(
    "decisions.deployment", "The decision head is of another deployment than its path."
)
DECISIONS_OUTCOME = _rule(
    "decisions.outcome",
    "An outcome is not of version 3, names no attempt, another deployment or another scope than "
    "local, or has a reference where it must have none, none where it must, or a wrong one.",
)
DECISIONS_COMMIT = _rule(
    "decisions.commit",
    "latest_commit is not the last terminal commit, or the head has neither outcome nor attempt.",
)
DECISIONS_ARTIFACTS = _rule(
    "decisions.artifacts", "active_artifacts is not canonical or names an attempt that has ended."
)
DECISIONS_STALE = _rule(
    "decisions.stale",
    "The store has something newer than the last attempt that the head knows, ended or active.",
)
DECISIONS_INDEX = _rule(
    "decisions.index", "latest_commit's scope or fence is not that of the index it names."
)
RETENTION_MISSING = _rule(
    "retention.missing", "A cut of the chain has been retired, and there is no retention head."
)
RETENTION_DECODE = _rule(
    "retention.decode", "The retention head is above 64 KiB or does not decode."
)
RETENTION_ENCODING = _rule(
    "retention.encoding", "The retention head is not as the engine writes it."
)
RETENTION_VERSION = _rule("retention.version", "The retention head's version is not 1.")
RETENTION_DEPLOYMENT = _rule(
    "retention.deployment", "The retention head is of another deployment than its path."
)
RETENTION_STATE = _rule(
    "retention.state",
    "The phase and what it holds do not go together, a reference is not canonical, or the cursor "
    "does not move from the protected cut to older ones and stop at its boundary.",
)
RETENTION_PROTECTED = _rule(
    "retention.protected", "The protected cut is not on the chain from latest_commit."
)
RETENTION_CURSOR = _rule(
    "retention.cursor",
    "The cut that is being retired is not behind the protected one, or next is not its "
    "predecessor.",
)
RETENTION_METADATA = _rule(
    "retention.metadata", "A cut that is being retired has lost its index before its manifests."
)
COMMITTED_MISSING = _rule(
    "committed.missing", "An index that latest_commit, retention or a newer index names is missing."
)
COMMITTED_DIGEST = _rule(
    "committed.digest",
    "An index is not of the length or the SHA-256 by which it is referred to.",
)
COMMITTED_DECODE = _rule("committed.decode", "The bytes of an index do not decode.")
COMMITTED_ENCODING = _rule("committed.encoding", "An index is not in canonical encoding.")
COMMITTED_PATH = _rule("committed.path", "An index is of another attempt than its path.")
COMMITTED_DEPLOYMENT = _rule("committed.deployment", "An index is of another deployment.")
MANIFEST_MISSING = _rule("manifest.missing", "A participant's manifest is missing.")
MANIFEST_SIZE = _rule("manifest.size", "A manifest is above 16 MiB.")
OBJECT_MISSING = _rule("object.missing", "A node data object that a manifest names is missing.")
OBJECT_LENGTH = _rule("object.length", "A node data object is not of the length that is named.")
OBJECT_CONFLICT = _rule(
    "object.conflict", "Two manifests name different lengths or digests of one object."
)
OBJECT_DIGEST = _rule(
    "object.digest",
    "A node data object is not of the SHA-256 that is named, and none of its parts explains it.",
)
OBJECT_FRAME = _rule("object.frame", "A state frame is not of its SHA-256.")
OBJECT_INTENT = _rule("object.intent", "A sink artifact intent's payload is not of its digest.")
OBJECT_SINK = _rule("object.sink", "A prepared sink's payload is not of its digest.")
SEAL_INVALID = _rule(
    "seal.invalid",
    "A seal of an aborted attempt is not canonical, not of its path, or contradicts itself.",
)
STORE_DEPLOYMENT = _rule("store.deployment", "There are records of another deployment.")
STORE_UNREACHABLE = _rule(
    "store.unreachable",
    "Nothing names a file, and it is neither newer than latest_commit, nor sealed, nor on its way "
    "out by the retention state.",
)

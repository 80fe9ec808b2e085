"""The control records of a store: whose it is, what was decided, and what retention does."""

from __future__ import annotations

from collections.abc import Iterator

from oracle.kernels import is_canonical_uuid
from oracle.store import records, registry
from oracle.store.layout import IDENTITY, decision_head, retention_head
from oracle.store.reader import Reader
from oracle.store.records import AllocatorMode, CheckpointDecisionHead, CheckpointRetentionState


class Control:
    """What the control records say, as far as they are sound; else ``None``.

    ``deployment`` is the identity's, or where that cannot be trusted the one of the decisions.
    ``retention_known`` tells a store without a retention head from one whose head is broken.
    """

    def __init__(self, reader: Reader) -> None:
        """Read and check the records of *reader*'s store."""
        self.reader = reader
        self.deployment: str | None = None
        self.allocator: AllocatorMode | None = None
        self.retention_known = True
        self._identity()
        self.head = self._decisions()
        self.retention = self._retention()

    def _identity(self) -> None:
        identity = self._sound_identity()
        named = sorted({*self.reader.inventory.decision_deployments})
        if identity is None:
            # The records of the store tell whose it is, if they agree.
            self.deployment = named[0] if len(named) == 1 else None
            return
        self.allocator, self.deployment = identity.allocator_mode, identity.id
        if named and identity.id not in named:
            self.reader.find(
                IDENTITY,
                registry.IDENTITY_FOREIGN,
                f"it is of {identity.id}, the decisions are of {', '.join(named)}",
                "/id",
            )
            self.deployment = named[0]
        greatest = self.reader.inventory.greatest_id()
        if greatest > identity.checkpoint_id:
            self.reader.find(
                IDENTITY,
                registry.IDENTITY_ALLOCATOR,
                f"checkpoint_id is {identity.checkpoint_id}, {greatest} is in use",
                "/checkpoint_id",
            )

    def _sound_identity(self) -> records.DeploymentIdentity | None:
        if not (self.reader.root / IDENTITY).is_file():
            self.reader.find(IDENTITY, registry.IDENTITY_MISSING, "there is no such file")
            return None
        identity = self.reader.record(
            records.DeploymentIdentity,
            IDENTITY,
            records.DEPLOYMENT_IDENTITY_MAX_BYTES,
            registry.IDENTITY_DECODE,
            registry.IDENTITY_ENCODING,
        )
        if identity is None:
            return None
        if identity.version != records.DEPLOYMENT_IDENTITY_VERSION:
            message = f"version is {identity.version}, not {records.DEPLOYMENT_IDENTITY_VERSION}"
            self.reader.find(IDENTITY, registry.IDENTITY_VERSION, message, "/version")
            return None
        defect = records.identity_defect(identity)
        if defect is not None:
            self.reader.find(IDENTITY, registry.IDENTITY_ID, defect[1], defect[0])
            return None
        return identity

    def _decisions(self) -> CheckpointDecisionHead | None:
        for deployment in self.reader.inventory.decision_deployments:
            if self.deployment not in (None, deployment):
                file = decision_head(deployment)
                self.reader.find(
                    file, registry.STORE_DEPLOYMENT, f"the store is {self.deployment}'s"
                )
        if self.deployment in self.reader.inventory.decision_deployments:
            return self._sound_head(decision_head(self.deployment), self.deployment)
        if (
            self.allocator is AllocatorMode.LOCAL_SINGLE_WRITER
            and self.reader.inventory.greatest_id()
        ):
            file = decision_head(self.deployment or "")
            self.reader.find(file, registry.DECISIONS_MISSING, "there is no such file")
        return None

    def _sound_head(self, file: str, deployment: str) -> CheckpointDecisionHead | None:
        head = self.reader.record(
            CheckpointDecisionHead,
            file,
            records.CHECKPOINT_DECISION_HEAD_MAX_BYTES,
            registry.DECISIONS_DECODE,
            registry.DECISIONS_ENCODING,
        )
        if head is None:
            return None
        for rule, pointer, message in _head_defects(head, deployment):
            self.reader.find(file, rule, message, pointer)
            return None
        return head

    def _retention(self) -> CheckpointRetentionState | None:
        for deployment in self.reader.inventory.retention_deployments:
            if self.deployment not in (None, deployment):
                file = retention_head(deployment)
                self.reader.find(
                    file, registry.STORE_DEPLOYMENT, f"the store is {self.deployment}'s"
                )
        if self.deployment not in self.reader.inventory.retention_deployments:
            if self.reader.inventory.retention_deployments:
                self._retention_unknown()
            return None
        file = retention_head(self.deployment)
        head = self.reader.record(
            records.CheckpointRetentionHead,
            file,
            records.CHECKPOINT_RETENTION_HEAD_MAX_BYTES,
            registry.RETENTION_DECODE,
            registry.RETENTION_ENCODING,
        )
        place = None
        if head is not None:
            version, wanted = head.version, records.CHECKPOINT_RETENTION_HEAD_VERSION
            defect = records.retention_defect(head.state)
            if version != wanted:
                place = registry.RETENTION_VERSION, "/version", f"it is {version}, not {wanted}"
            elif head.deployment_id != self.deployment:
                message = f"it is {head.deployment_id!r}"
                place = registry.RETENTION_DEPLOYMENT, "/deployment_id", message
            elif defect is not None:
                place = registry.RETENTION_STATE, f"/state{defect[0]}", defect[1]
        if place is not None:
            self.reader.find(file, place[0], place[2], place[1])
        if head is None or place is not None:
            self._retention_unknown()
            return None
        return head.state

    def _retention_unknown(self) -> None:
        """Take it that nobody knows what has been retired, nor how far the chain goes."""
        self.reader.complete = self.retention_known = False


def _head_defects(head: CheckpointDecisionHead, deployment: str) -> Iterator[tuple[str, str, str]]:
    """Rule, pointer and message of what is wrong with a decision head by itself."""
    if head.version != records.CHECKPOINT_DECISION_HEAD_VERSION:
        message = f"version is {head.version}, not {records.CHECKPOINT_DECISION_HEAD_VERSION}"
        yield registry.DECISIONS_VERSION, "/version", message
    if head.deployment_id != deployment or not is_canonical_uuid(deployment):
        message = f"it is {head.deployment_id!r}, the path's is {deployment!r}"
        yield registry.DECISIONS_DEPLOYMENT, "/deployment_id", message
    for field in ("latest_terminal", "latest_commit"):
        outcome = getattr(head, field)
        defect = None if outcome is None else records.outcome_defect(outcome, deployment)
        if defect is not None:
            yield registry.DECISIONS_OUTCOME, f"/{field}{defect[0]}", defect[1]
    defect = records.commit_defect(head)
    if defect is not None:
        yield registry.DECISIONS_COMMIT, *defect
    defect = records.inventory_defect(head)
    if defect is not None:
        yield registry.DECISIONS_ARTIFACTS, f"/active_artifacts{defect[0]}", defect[1]

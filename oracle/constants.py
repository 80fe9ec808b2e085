"""The engine's constants, under the engine's names.

Every number that a rule, a decoder or a digest needs stands here and nowhere else; what differs
between formats stands in :mod:`oracle.formats`. Units are bytes unless a name says otherwise.
"""

from typing import Final

U8_MAX: Final = 2**8 - 1
U16_MAX: Final = 2**16 - 1
U32_MAX: Final = 2**32 - 1
U64_MAX: Final = 2**64 - 1
I64_MIN: Final = -(2**63)
I64_MAX: Final = 2**63 - 1

PARTITIONING_ABI_VERSION: Final = 2
"""Version of key encoding, hashing and key-group mapping that every engine here speaks."""

LOCAL_NODE_ID: Final = 1
"""The participant id of a manifest without an assignment fence."""

DEFAULT_KEY_GROUP_COUNT: Final = 256
"""Key groups (vnodes) of an engine that was told nothing else."""

MAX_KEY_GROUP_COUNT: Final = 65_535
"""The most key groups; the least is 1."""

MAX_CHECKPOINT_PARTICIPANTS: Final = 129
"""The most participants that a fence may list; the least is 1."""

PREPARED_SINK_DESCRIPTOR_VERSION: Final = 1
"""Envelope version of prepared sink descriptors and of sink artifact intents."""

SINGLETON_WATERMARK_CHANNEL: Final = b"\0"
"""The reserved input channel: one logical watermark for a source and participant."""

MAX_CHECKPOINT_MANIFEST_BYTES: Final = 16 * 1024 * 1024
"""The longest manifest that an engine loads from a store."""

MAX_JSON_DEPTH: Final = 127
"""Arrays and objects may nest at most this deep in a document."""

SUBSCRIPTION_PROTOCOL_VERSION: Final = 1
OUTPUT_DISTRIBUTION_CERTIFICATE_VERSION: Final = 1

MAX_STREAM_ID_BYTES: Final = 256
MAX_OPERATOR_ID_BYTES: Final = 512
MAX_OBJECT_KEY_BYTES: Final = 2_048
OBJECT_KEY_PREFIX: Final = "subscription-output/"
MAX_OUTPUT_SEGMENTS_PER_MANIFEST: Final = 65_536
"""The most segments of one stream in one participant's subscription output."""

MAX_OUTPUT_FRAMES_PER_SEGMENT: Final = 1_024
MAX_OUTPUT_SEGMENT_BYTES: Final = 16 * 1024 * 1024
MAX_SUBSCRIPTION_MANIFEST_BYTES: Final = 8 * 1024 * 1024

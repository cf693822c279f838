"""The file manifest.json: the manifest, preceded by the SHA-256 of its bytes.

    {"sha256":"<64 hex digits>","manifest":{...}}

The bytes around the two values are fixed for all versions of the format, so that the digest can be
checked before anything is parsed, and so that no byte of the file can change unseen.
"""

from __future__ import annotations

import hashlib

import msgspec

from swath.artifact.manifest import Manifest

_OPENING = b'{"sha256":"'
_MIDDLE = b'","manifest":'
_ENDING = b"}\n"
_DIGITS = 64
_BODY_START = len(_OPENING) + _DIGITS + len(_MIDDLE)


class FormatVersion(msgspec.Struct):
    """The part of a manifest that every version of the format has."""

    format_version: int


def seal(manifest: Manifest) -> bytes:
    """The bytes of manifest.json."""
    return seal_json(msgspec.json.format(msgspec.json.encode(manifest), indent=1))


def seal_json(body: bytes) -> bytes:
    """The bytes of manifest.json around the JSON of a manifest."""
    return _OPENING + hashlib.sha256(body).hexdigest().encode() + _MIDDLE + body + _ENDING


def unseal(content: bytes) -> bytes | None:
    """The JSON of the manifest, or None where the file isn't whole."""
    body = content[_BODY_START : -len(_ENDING)]
    digest = hashlib.sha256(body).hexdigest().encode()
    whole = _OPENING + digest + _MIDDLE + body + _ENDING == content
    return body if whole else None

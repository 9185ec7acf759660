"""Borgee's key: ``BORGEE_API_KEY`` in the environment, or a reference to the keyring in its place.

The product page knows the first alone; ``BORGEE_API_KEY_REF=service/account`` is the second way (decision C1). A key
in config.yaml is never looked at: the adapter refuses to start with one.

Source: Borgee 2.4; decisions C1.
"""

from __future__ import annotations

from canon_ops.lean import dataclass
from canon_ops.settings.problems import BadOption, BorgeeKeyMissing
from canon_ops.settings.profiles import KeyReference
from canon_ops.settings.provenance import Found, Setting
from canon_ops.settings.secret import Secret
from canon_ops.settings.surroundings import Surroundings

__all__ = ["BORGEE_KEY", "BORGEE_REFERENCE", "BorgeeKey", "borgee_key"]

BORGEE_KEY, BORGEE_REFERENCE = "BORGEE_API_KEY", "BORGEE_API_KEY_REF"


@dataclass(frozen=True, slots=True)
class BorgeeKey:
    """The key in force, or the reference that leads to it; exactly one of the two.

    Args:
        setting: where it came from, and what it hides.
    """

    api_key: Secret | None
    api_key_ref: KeyReference | None
    setting: Setting


def borgee_key(surroundings: Surroundings) -> BorgeeKey:
    """Find it; the key itself counts before a reference.

    Raises:
        BorgeeKeyMissing: neither is set.
        BadOption: the reference is none.
    """
    direct, reference = surroundings.find(BORGEE_KEY), surroundings.find(BORGEE_REFERENCE)
    hidden = (Found(reference.value, reference.origin), *reference.shadows) if reference and reference.value else ()
    if direct is not None and isinstance(direct.value, Secret):
        setting = Setting(direct.name, direct.value, direct.origin, (*direct.shadows, *hidden))
        return BorgeeKey(direct.value, None, setting)
    if reference is None or not reference.value:
        raise BorgeeKeyMissing(surroundings.dotenv_file)
    where = KeyReference.parse(str(reference.value))
    if where is None:
        raise BadOption(BORGEE_REFERENCE, repr(reference.value), ("service/account",), reference.origin)
    return BorgeeKey(None, where, reference)

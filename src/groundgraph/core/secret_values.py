"""Which values are secrets: they may not stand in a configuration file, nor in any message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MASK = "***"
_SECRET_KEY = re.compile(
    r"(?:^|[_-]|^pg)(?:api[_-]?key|(?:access|private|secret|subscription)[_-]key|passw(?:or)?d|passphrase|secret|token"
    r"|credentials?|bearer|authorization)$",
    re.IGNORECASE,
)
# What known services hand out, and any long word without a space that mixes letters and digits.
_SECRET_TEXT = re.compile(r"^(?:sk|pk|rk|ghp|gho|xox[abp]|AKIA|AIza|glpat|hf)[-_A-Za-z0-9]{8,}$")
_LONG_WORD = re.compile(r"^(?=.*[A-Za-z])(?=.*\d)[\w.+/=-]{20,}$")
_PASSWORD_IN_URL = re.compile(r"(?<=://)([^/\s:@]*):([^/\s@]+)@")
# Below these keys the names are those of the user's own data.
OWN_NAMES = frozenset({"filters", "default_filters", "fields", "schema", "metadata", "records"})
# Below these keys every value is a secret, under a name of the user's own; they are set all at once, as JSON.
SECRET_MAPPINGS = frozenset({"passwords"})


def is_secret_key(key: str) -> bool:
    """Whether a value under `key` is a secret, going by its name."""
    return bool(_SECRET_KEY.search(key))


def masked(value: str, key: str = "") -> str:
    """`value` as it may be shown: a secret, by its key or by its look, and a password in an address become `***`."""
    if is_secret_key(key) or _SECRET_TEXT.match(value) or _LONG_WORD.match(value):
        return MASK
    return _PASSWORD_IN_URL.sub(rf"\1:{MASK}@", value)


def shown(value: Any, key: str = "") -> Any:
    """`value` of a setting under `key` as it may be shown, with `***` for each secret that its name or its place in an
    address tells."""
    if isinstance(value, Mapping):
        if key in OWN_NAMES:
            return value
        return {name: shown(one, key if key in SECRET_MAPPINGS else str(name)) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [shown(one, key) for one in value]
    if not isinstance(value, str):
        return value
    if value and (is_secret_key(key) or key in SECRET_MAPPINGS):
        return MASK
    return _PASSWORD_IN_URL.sub(rf"\1:{MASK}@", value)


def written_secrets(given: Any, location: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places in `given` where a secret is written out."""
    if isinstance(given, Mapping):
        for key, value in given.items():
            if key in SECRET_MAPPINGS and value:
                yield (*location, str(key))
            elif key not in OWN_NAMES:
                yield from written_secrets(value, (*location, str(key)))
    elif isinstance(given, list):
        for number, value in enumerate(given):
            yield from written_secrets(value, (*location, number))
    elif _is_secret(given, next((part for part in reversed(location) if isinstance(part, str)), "")):
        yield location


def _is_secret(value: Any, key: str) -> bool:
    if value is None or isinstance(value, bool) or value == "":
        return False
    return is_secret_key(key) or (isinstance(value, str) and bool(_PASSWORD_IN_URL.search(value)))

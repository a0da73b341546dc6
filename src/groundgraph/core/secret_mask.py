"""The one mask over text from outside: no secret that this process knows gets into a state, a note, a record or a log.

Providers and gateways repeat the key that they refuse, whole or as `sk-abc***xyz`, and drivers the address that they
were given. What is known: every secret of the settings that were loaded and of the models that were passed in, and
every environment variable whose name is that of a secret.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from pydantic import BaseModel, SecretBytes, SecretStr

# Which values are secrets: they may not stand in a configuration file, nor in any message.

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


def _hides(key: str) -> bool:
    return is_secret_key(key) or key in SECRET_MAPPINGS


def _key_below(key: str, name: object) -> str:
    """The key that tells whether the value of `name`, which stands below `key`, is a secret."""
    return key if key in SECRET_MAPPINGS else str(name)


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
        return {name: shown(one, _key_below(key, name)) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [shown(one, key) for one in value]
    if not isinstance(value, str):
        return value
    if value and _hides(key):
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
    elif _is_secret(given, location):
        yield location


def _is_secret(value: Any, location: tuple[str | int, ...]) -> bool:
    if value is None or isinstance(value, bool) or value == "":
        return False
    key = next((part for part in reversed(location) if isinstance(part, str)), "")
    return is_secret_key(key) or (isinstance(value, str) and bool(_PASSWORD_IN_URL.search(value)))


# A run of so many characters of a secret is masked wherever it stands; a shorter secret only as a whole word.
_RUN = 8
_SHORTEST = 4
# What stands between the ends of a secret that is shown cut, and how much of an end there must be.
_FILLER = re.compile(r"[*•·]{2,}+|\.{3,}+|…++|[xX]{4,}+")
_END, _LONGEST_END = 3, 64
_LOOKS = re.compile(
    r"(?:(?:password|passwd|pwd|secret|api[ _-]?key(?: provided)?|authorization|(?:access|auth|id|refresh)[_-]?token"
    r"|token(?==))[\"']?[ \t]*+[:=][ \t]*+[\"']?(?:(?:bearer|basic)[ ]++)?|bearer )(?P<value>[^\s\"'&;,<>()]++)",
    re.IGNORECASE,
)
_KEY_LOOKS = re.compile(r"\b(?:sk|pk|rk|ghp|gho|xox[abp]|AKIA|AIza|glpat|hf)[-_][-_A-Za-z0-9]{12,}+")
_IN_ADDRESS = re.compile(r"://(?P<user>[^/\s:@]*+):(?P<password>[^/\s@]++)@")
_IN_PARAMETERS = re.compile(r"(?:password|passwd|api[_-]?key|token|secret)=(?P<value>[^\s&;'\"]++)", re.IGNORECASE)
_DEEPEST = 8
_NO_SECRET = frozenset([type(None), bool, int, float])

_known: set[str] = set()


def know_secrets(*given: Any) -> None:
    """Remember every secret among `given`: settings, models, mappings of options."""
    _known.update(secret for one in given for secret in secrets_in(one))


def secrets_in(given: Any, key: str = "", depth: int = 0) -> Iterator[str]:
    """The secrets among the values of `given`, which stands under `key`.

    By type, by the name that they stand under, and by their place in an address or in a header.
    """
    if depth > _DEEPEST:
        return
    if isinstance(given, SecretStr | SecretBytes):
        value = given.get_secret_value()
        yield from _values(value if isinstance(value, str) else value.decode("utf-8", "replace"))
    elif isinstance(given, str):
        yield from _values(given) if _hides(key) else _in_text(given)
    else:
        for below, value in _below(given, key):
            # Most settings are numbers, switches and what is not set.
            if type(value) not in _NO_SECRET:
                yield from secrets_in(value, below, depth + 1)


def _below(given: Any, key: str) -> Iterator[tuple[str, Any]]:
    """The values within `given`, each with the key that tells whether it is a secret."""
    if isinstance(given, BaseModel | Mapping):
        # A model gives its further keys too.
        yield from ((_key_below(key, name), value) for name, value in dict(given).items() if name not in OWN_NAMES)
    elif isinstance(given, list | tuple):
        yield from ((key, value) for value in given)


def mask(text: str) -> str:
    """`text` with `***` in place of every secret that is known, and of what is written as one.

    Also where it is encoded (in an address, in JSON, HTML, base64 or hexadecimal) or cut.
    """
    return _replaced(text, [*_known_in(text), *_written(text)])


class _Forms:
    """The shapes in which some secrets may stand in a text."""

    def __init__(self, secrets: frozenset[str]) -> None:
        long = [secret for secret in secrets if len(secret) >= _RUN]
        forms = set(chain.from_iterable(map(_encoded, long)))
        self.words = secrets.difference(long)
        self.runs = {form[at : at + _RUN] for form in forms for at in range(len(form) - _RUN + 1)}
        ends = range(_END, _LONGEST_END + 1)
        self.beginnings = {secret[:size] for secret in long for size in ends}
        self.endings = {secret[-size:] for secret in long for size in ends}


@lru_cache(maxsize=4)
def _forms_of(secrets: frozenset[str]) -> _Forms:
    return _Forms(secrets)


def _values(value: str) -> Iterator[str]:
    # Of a header the part behind its scheme.
    scheme, _, rest = value.strip().partition(" ")
    one = rest.strip() if scheme.lower() in ("bearer", "basic", "token", "apikey") else value.strip()
    if len(one) >= _SHORTEST and one.lower() not in ("true", "false", "none", "null"):
        yield one


def _in_text(text: str) -> Iterator[str]:
    for found in _IN_ADDRESS.finditer(text) if "://" in text else ():
        # What is the name as well hides nothing, and may be any word.
        if found["password"] != found["user"]:
            yield from _values(found["password"])
            yield from _values(unquote(found["password"]))
    for found in _IN_PARAMETERS.finditer(text) if "=" in text else ():
        yield from _values(found["value"])


def _encoded(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield from (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], html.escape(secret))
    yield from (repr(secret)[1:-1], raw.hex(), raw.hex().upper())
    for address in (quote(raw, safe=""), quote(raw), quote_plus(raw), "".join(f"%{byte:02X}" for byte in raw)):
        yield from (address, re.sub("%..", lambda code: code[0].lower(), address))
    # Behind a name or a scheme, base64 writes the same bytes in one of three ways; its ends depend on what is beside.
    for before, skipped in ((0, 0), (1, 2), (2, 3)):
        inner = base64.b64encode(bytes(before) + raw)[skipped:].rstrip(b"=")[: -1 if (before + len(raw)) % 3 else None]
        yield from (inner.decode(), inner.decode().replace("+", "-").replace("/", "_"))


def _known_in(text: str) -> Iterator[tuple[int, int]]:
    forms = _forms_of(frozenset(_known | set(secrets_in(os.environ))))
    yield from _runs(text, forms)
    yield from _cut(text, forms)
    for word in forms.words:
        yield from (found.span() for found in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text))


def _runs(text: str, forms: _Forms) -> Iterator[tuple[int, int]]:
    for at in range(len(text) - _RUN + 1) if forms.runs else ():
        if text[at : at + _RUN] in forms.runs:
            yield at, at + _RUN


def _cut(text: str, forms: _Forms) -> Iterator[tuple[int, int]]:
    for found in _FILLER.finditer(text) if forms.beginnings else ():
        start, end = found.span()
        sizes = range(_LONGEST_END, _END - 1, -1)
        before = next((size for size in sizes if text[max(0, start - size) : start] in forms.beginnings), 0)
        after = next((size for size in sizes if text[end : end + size] in forms.endings), 0)
        if before or after:
            yield max(0, start - before), end + after


def _written(text: str) -> Iterator[tuple[int, int]]:
    for pattern, group in ((_LOOKS, "value"), (_KEY_LOOKS, 0), (_IN_ADDRESS, "password")):
        for found in pattern.finditer(text):
            yield found.span(group)


def _replaced(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    shown = 0
    for left, right in sorted(spans):
        if left > shown or not parts:
            parts += [text[shown:left], MASK]
        shown = max(shown, right)
    return "".join([*parts, text[shown:]])

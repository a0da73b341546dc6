"""What a renderer, a linkifier or a browser would take for an address, and the form in which none takes it for one.

A defanged address stays readable and leads nowhere: `https[://]evil[.]example/a`, `evil[.]example`,
`[//]evil[.]example`, `mailto[:]someone[@]evil[.]example`, `https[&]colon;`.
"""

from __future__ import annotations

import html
import re

# Never part of an address in a text: white space, quotation marks, brackets but for round ones.
APART = r"\s<>\"“”„«»`\[\]{}|^、。，；：！？・「」『』【】（）［］《》｜"
# A character of a host's label: linkify takes any that is neither white space nor punctuation.
_LETTER = rf"[^{APART}!#%&'()*,./:;?@\\…’‘·—–\x00-\x1f\x7f-\x9f]"
# Those that linkify takes for the end of a host that has no scheme: the oldest, and those of countries.
_TOP = (
    r"(?:biz|com|edu|gov|net|org|pro|web|xxx|aero|asia|coop|info|museum|name|shop|рф|xn--[a-z0-9\-]{1,59}|"
    "a[cdefgilmnoqrstuwxz]|b[abdefghijmnorstvwyz]|c[acdfghiklmnoruvwxyz]|d[ejkmoz]|e[cegrstu]|f[ijkmor]|"
    "g[abdefghilmnpqrstuwy]|h[kmnrtu]|i[delmnoqrst]|j[emop]|k[eghimnprwyz]|l[abcikrstuvy]|m[acdeghklmnopqrstuvwxyz]|"
    "n[acefgilopruz]|om|p[aefghklmnrstwy]|qa|r[eosuw]|s[abcdeghijklmnortuvxyz]|t[cdfghjklmnortvwz]|u[agksyz]|"
    "v[aceginu]|w[fs]|y[et]|z[amw])"
)
# From the beginning of a host on; a name with a dot inside a path, as in `src/main.py`, begins none.
_HOST = rf"(?<!{_LETTER})(?<!{_LETTER}\.)(?!(?<=[\w.\-]/)[a-z0-9][\w.\-]*+(?!{_LETTER}))(?:{_LETTER}++\.)+"
_ADDRESS = "|".join(
    [
        r":/{2,}[^/\\]",
        # `//` begins a comment or divides unless a host, or what stands in markup, follows.
        rf"(?<![^\W_])(?<![/:])/{{2,}}(?:localhost|[^/.@]*(?:@|\.+(?:\w|{_LETTER})))",
        r"(?<=[=(,'])/{2,}[^/\\]",
        r"(?<![^\W_])(?:(?:https?|ftps?|wss?|file|blob):++[^\s\\]|(?:mailto|javascript|vbscript):)",
        r"(?<![^\W_])data:[\w.+\-]{0,80}[/;,]",
        r"(?<![^\W_])www\.\w",
        r"\S@(?:[\w\-]++\.)+[^\W\d_]{2}",
        rf"{_HOST}[^\W\d_]{{2,63}}(?::\d{{1,5}})?(?:/|[?#][^\s?!.)])",
    ]
)
_IN_CODE = re.compile(_ADDRESS, re.IGNORECASE)
# To a linkifier a host alone is a link too; it leaves code alone, where `user.id` is a name.
_IN_TEXT = re.compile(rf"{_ADDRESS}|{_HOST}{_TOP}(?![^\W_])(?!\.[^\W_])", re.IGNORECASE)
# Markup that a linkifier takes for a part of a host, or of the name before one.
_GOES_ON = re.compile(r"(?<![^\W_])(?<![/:])/{2,}[^/]*\Z")
_WITHIN = frozenset('"“”„«»`{}|^、。，；：！？・「」『』【】（）［］《》')
_JOINT = re.compile(
    r"(?<!\\)\\*+(?::[\\/]{2,}|(?<!:):++(?=.)|(?<=[ot]):|\.(?=\w)|@(?=\w))|(?<![\\/])[\\/]{2,}|&(?:#\w{1,8}|\w{2,31});?"
)
_HARMLESS = frozenset("&<>\"' \xa0")
_BEHIND = ".,;:!?'*_~\\"


def is_address(run: str, before: str = "", after: str = "", *, code: bool = False) -> bool:
    """Whether anything in `run`, which holds nothing of `APART`, leads somewhere as it stands or read as Markdown.

    Args:
        run: the text.
        before: the character before it, if any.
        after: the character behind it, if any.
        code: whether it stands in code, where a host alone is none.
    """
    pattern = _IN_CODE if code else _IN_TEXT
    plain = html.unescape(run).replace("\\", "") if "&" in run or "\\" in run else run
    for text in dict.fromkeys((run, plain)):
        if text.startswith("//") and text.strip("/\\") and before and not before.isspace():
            return True
        if pattern.search(text) or (after in _WITHIN and not code and _GOES_ON.search(text)):
            return True
    return False


def defanged(text: str) -> str:
    """`text`, an address or anything around one, with brackets around whatever makes it lead somewhere."""
    return _JOINT.sub(_apart, text)


def _apart(found: re.Match[str]) -> str:
    joint = found.group()
    if joint[0] == "&":
        decoded = html.unescape(joint)
        return joint if decoded == joint or decoded in _HARMLESS else f"[&]{joint[1:]}"
    if not joint.strip("\\"):
        return joint
    # Behind a scheme browsers take a backslash for a slash; elsewhere one escapes what follows.
    bare = joint.lstrip("\\")
    joint = (joint if bare[0] == "/" else bare).replace("\\", "/")
    # A bracket that closes must not meet what would make a link or a definition of it.
    meets = found.string[found.end() : found.end() + 1]
    return f"[{joint}]" + ("\\" if meets in ("(", ":") else "")


def url_end(text: str) -> int:
    """Where an address at the beginning of `text` ends when it stands in a sentence: before its punctuation."""
    end, closing, opening = len(text), text.count(")"), text.count("(")
    while end and (text[end - 1] in _BEHIND or (text[end - 1] == ")" and opening < closing)):
        end -= 1
        closing -= text[end] == ")"
    return end

"""Texts without the secrets of addresses in them: no user and password, and no query, which may be a signature.

The one place that knows what of an address is secret. Errors, messages, reports, command lines and run files ask here.
"""

from __future__ import annotations

import re

# From the first letter of a scheme: without it the "s" of gs:// would be a scheme of its own.
_SCHEME = r"(?<![a-z0-9+.-])[a-z0-9+.-]+://"
# As browsers read it, up to the last @ before a slash; or a password with a slash in it, which is no port. Lengths
# are bounded: a long text of nothing but ://'s would be looked through from each of them.
_USER = r"(?:[^\s/?#]*@|[^\s/?#:@\[]*:(?!\d+(?!\w))\S{0,400}@)"
_CREDENTIALS = re.compile(rf"({_SCHEME}){_USER}", re.IGNORECASE)
# In the key of an object ? and # are letters like others.
_QUERY = re.compile(rf"((?!(?:s3|gs)://){_SCHEME}[^\s?#]{{0,2000}})([?#]\S*)", re.IGNORECASE)
# What closes a sentence, a quotation or a bracket around an address.
_CLOSING = ":;,!)]}>'\"`"


def redacted(text: str) -> str:
    """The text, the addresses in it without credentials and with ?... for a query."""
    return _QUERY.sub(_shortened, without_credentials(text)) if "://" in text else text


def without_credentials(text: str) -> str:
    """The text, the addresses in it without user and password."""
    return _CREDENTIALS.sub(r"\1", text)


def _shortened(found: re.Match[str]) -> str:
    query = found[2].rstrip(_CLOSING)
    closing = found[2][len(query) :]
    return f"{found[1]}{query[0]}...{closing}" if len(query) > 1 else found[0]

"""Where a database is, and who reads it: the password is in no text that anybody sees."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from lakebed.errors import Invalid

_JDBC = "jdbc:"
_SCHEMES = ("sqlite", "postgresql", "postgres")
_NAMED_SECRET = re.compile(r"(?i)(?:password|pwd|passwd|sslpassword|token|secret|key)=([^&;]+)")


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A database. `url` is as the driver takes it, `shown` as people may see it: without user, password and options."""

    kind: str
    url: str
    shown: str
    user: str | None
    password: str | None
    secrets: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def without_secrets(self, text: str) -> str:
        """A text of somebody else, such as a driver's error, without what must not be seen."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "…")
        return text


def parse_address(
    url: object, user: str | None, password: str | None, options: Mapping[str, str] | None = None
) -> Address:
    """The address of a database; `Invalid`, without the URL in it, if it is none. Options may have secrets too."""
    for what, text in (("a database's URL", url), ("a user", user), ("a password", password)):
        if (text is not None and not isinstance(text, str)) or (what.endswith("URL") and not text):
            raise Invalid(f"{what} is text", expected="str", found=type(text).__name__)
    given = str(url)
    if given.startswith(_JDBC):
        return _jdbc(given, user, password, options or {})
    if options:
        raise Invalid("options are Spark's, for jdbc: URLs", found=", ".join(options))
    try:
        parts = urlsplit(given)
        host, own_user, own_password = parts.hostname or "", parts.username, parts.password
        place = f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        raise _not_a_url() from None
    if parts.scheme not in _SCHEMES:
        raise _not_a_url()
    if parts.scheme == "sqlite":
        path = os.path.abspath(unquote(parts.path)[given.startswith("sqlite:///") :])
        return Address("sqlite", path, f"sqlite:///{path}", None, None, ())
    if (own_user is not None and user is not None) or (own_password is not None and password is not None):
        raise Invalid("the user or the password is given twice", subject=place, advice="Leave it out of the URL.")
    name = user if own_user is None else unquote(own_user)
    secret = password if own_password is None else unquote(own_password)
    login = "" if name is None else quote(name, safe="") + ("" if secret is None else f":{quote(secret, safe='')}")
    if secret is not None and name is None:
        raise Invalid("a password needs a user", subject=place, advice="Pass user=…, or write it into the URL.")
    full = urlunsplit((parts.scheme, f"{login}@{place}" if login else place, parts.path, parts.query, ""))
    return Address(
        "postgresql",
        full,
        f"postgresql://{place}{parts.path}",
        name,
        secret,
        _all_forms((secret, own_password, *_named(parts.query)), full, given),
    )


def _jdbc(url: str, user: str | None, password: str | None, options: Mapping[str, str]) -> Address:
    plain = re.split(r"[?;]", url, maxsplit=1)[0]
    head, _, tail = plain.rpartition("@")
    shown = f"{':'.join(head.split(':')[:2])}:…@{tail}" if head else plain
    own = re.findall(r"[:/]([^:/@]+)@", head + "@") if head else []
    hidden = _named("&".join(f"{name}={text}" for name, text in options.items()))
    return Address("jdbc", url, shown, user, password, _all_forms((password, *_named(url), *own, *hidden), url))


def _named(options: str) -> list[str]:
    """The values of options that are secret."""
    return _NAMED_SECRET.findall(options)


def _all_forms(given: tuple[str | None, ...], *urls: str) -> tuple[str, ...]:
    """Secrets as drivers may repeat them: as they are, and as in a URL."""
    plain = [secret for secret in given if secret]
    forms = [form for secret in plain for form in (secret, unquote(secret), quote(secret, safe=""), quote(secret))]
    return tuple(dict.fromkeys([*urls, *forms]))


def _not_a_url() -> Invalid:
    return Invalid(
        "this is not the URL of a database",
        expected="sqlite:///file.db, sqlite:////folder/file.db, postgresql://user@host/name, or jdbc:… with spark=",
        advice="Write special characters in a user or password as %40, or pass user= and password=.",
    )

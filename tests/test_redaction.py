"""What of an address is secret, wherever in a text it stands; any other text stays as it is."""

from __future__ import annotations

import pickle

import pytest

from enrelm_cli.errors import DataError
from enrelm_cli.model.problems import shown
from enrelm_cli.redaction import redacted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://host/t.csv?X-Amz-Signature=hush", "https://host/t.csv?..."),
        ("HTTPS://host/t.csv?sig=hush/hush?hush#hush", "HTTPS://host/t.csv?..."),
        ("https://host/t.csv#token=hush", "https://host/t.csv#..."),
        ("--validation=http://host/t.csv?sig=hush", "--validation=http://host/t.csv?..."),
        ("-ohttp://host/t.csv?sig=hush", "-ohttp://host/t.csv?..."),
        ("no such command 'http://h/t?sig=hush'", "no such command 'http://h/t?...'"),
        ("(http://h/t?sig=hush), http://h/u?sig=hush: damaged", "(http://h/t?...), http://h/u?...: damaged"),
        ("two\nhttp://h/t?sig=hush\nlines", "two\nhttp://h/t?...\nlines"),
        ("s3://key:hush@bucket/x.csv", "s3://bucket/x.csv"),
        ("s3://key:hush/hush+hush@bucket/x.csv", "s3://bucket/x.csv"),
        ("s3://key:9hush/hush@bucket/x.csv", "s3://bucket/x.csv"),
        ("tcp://me:hush@host:8786", "tcp://host:8786"),
        ("https://me:hu@sh@host/x?sig=hush", "https://host/x?..."),
        ("https://me:hush?hush@host/x", "https://host/x"),
        ("s3://bucket/a?b,http://me:hush@host/x?sig=hush", "s3://bucket/a?b,http://host/x?..."),
        ("https://host/x?next=http://other/y&sig=hush", "https://host/x?..."),
    ],
)
def test_an_address_has_neither_credentials_nor_a_query(text: str, expected: str) -> None:
    assert redacted(text) == expected
    assert redacted(expected) == expected
    assert "hush" not in expected


@pytest.mark.parametrize(
    "text",
    [
        "did you mean --target?",
        "column 'a?b#c' and me@example.org",
        r"C:\data\t.csv",
        "C:/data/what?.csv",
        "s3://bucket/key?x#1",
        "GS://bucket/day-?.csv",
        "s3://bucket/of@me/x.csv",
        "http://localhost:9000/of@me/x.csv",
        "http://[::1]:9000/of@me/x.csv",
        "is it https://host/x? yes",
        "https://host/x: cannot be read, ask me@example.org",
        "what is ://?x",
    ],
)
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


def test_an_error_has_no_secret_also_where_it_comes_from_another_machine() -> None:
    error = DataError("https://host/t.csv?sig=hush: damaged", "try https://me:hush@host/t.csv")
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert (str(one), one.hint) == ("https://host/t.csv?...: damaged", "try https://host/t.csv")


def test_an_address_that_is_cut_for_its_length_has_no_secret_at_its_end() -> None:
    assert "hush" not in shown(f"https://host/{'long/' * 30}m.joblib?sig=hush")

"""Canonical JSON (protocol/core 1.1 to 1.3) computed a second time, with Python's json module.

Nothing here is shared with the product. Input: a file with one base64 document per line. Output: a file with one line
per document, `=` and its canonical text, or `!` when it must be refused. Call: json_reference.py INPUT OUTPUT
"""

import base64
import json
import math
import sys

MAX_DEPTH = 64
MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**64 - 1


class Refused(Exception):
    pass


def check_depth(text):
    """Rule 7. Counts brackets outside strings; for a text that is no JSON the parser says no afterwards."""
    depth = 0
    in_string = False
    escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Refused("depth")
        elif character in "]}":
            depth -= 1


def check_text(text):
    """Rule 6. json.loads lets an unpaired surrogate through; UTF-8 does not."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("surrogate") from None


def read_object(pairs):
    """Rule 2. json.loads would keep the last of two members with one name."""
    members = {}
    for name, value in pairs:
        check_text(name)
        if name in members:
            raise Refused("duplicate")
        members[name] = value
    return members


def read_integer(token):
    """Rule 4. The length is looked at first: Python itself refuses to convert thousands of digits."""
    if len(token) > 20:
        raise Refused("range")
    value = int(token)
    if value < MIN_INTEGER or value > MAX_INTEGER:
        raise Refused("range")
    return value


def read_double(token):
    """Rules 3 and 5."""
    value = float(token)
    if math.isinf(value):
        raise Refused("overflow")
    return value


def refuse_constant(token):
    """Rule 3. NaN, Infinity and -Infinity are no JSON, yet json.loads knows them."""
    raise Refused(token)


def check_strings(value):
    """Strings that are values; names were checked when their object was read."""
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, list):
        for item in value:
            check_strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            check_strings(item)


def canonical(document):
    text = document.decode("utf-8", errors="strict")
    check_depth(text)
    value = json.loads(
        text,
        object_pairs_hook=read_object,
        parse_int=read_integer,
        parse_float=read_double,
        parse_constant=refuse_constant,
    )
    check_strings(value)
    # Python sorts text by code point, escapes everything outside U+0020 to U+007E and writes doubles as 1.3 asks.
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def main():
    source, target = sys.argv[1], sys.argv[2]
    with open(source, "r", encoding="ascii") as documents, open(target, "w", encoding="ascii", newline="\n") as answers:
        for line in documents:
            try:
                answers.write("=" + canonical(base64.b64decode(line.strip(), validate=True)) + "\n")
            except (Refused, json.JSONDecodeError, UnicodeDecodeError):
                # Only the known refusals: any other exception is a mistake of this program and must stop it.
                answers.write("!\n")


main()

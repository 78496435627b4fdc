"""A beginning in another language: the parts of the protocol that need no signature library.

Run it with: npx chancery-conformance -- python3 examples/python.py
"""

import hashlib
import json
import sys


def sha256(text):
    return {"sha256": hashlib.sha256(text.encode()).hexdigest()}


def merkle_root(values):
    """Leaves in the order of code points, filled up to a power of two with the digest of nothing."""
    level = [hashlib.sha256(value.encode()).digest() for value in sorted(values)]
    while len(level) & (len(level) - 1):
        level.append(hashlib.sha256(b"").digest())
    while len(level) > 1:
        level = [hashlib.sha256(level[at] + level[at + 1]).digest() for at in range(0, len(level), 2)]
    return {"root": level[0].hex()}


OPERATIONS = {
    "sha256": lambda given: sha256(given["text"]) if "text" in given else None,
    "merkle-root": lambda given: merkle_root(given["values"]),
}

for line in sys.stdin:
    request = json.loads(line)
    operation = OPERATIONS.get(request["operation"])
    output = operation(request["input"]) if operation else None
    answer = {"unsupported": True} if output is None else {"output": output}
    print(json.dumps({"id": request["id"], **answer}), flush=True)

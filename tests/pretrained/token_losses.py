"""Compares the losses that `alibi export --losses` writes with log p of transformers, token by token.

usage: token_losses.py write FIXTURE DIR     writes a tokenizer whose ids are single characters, and a text of short.ids
       token_losses.py compare FIXTURE FILE  compares FILE with short.logp64 of the fixture (5e-5, as check_open does)

The text is the first row of short.ids without its first id, which is printed: the text begins after it."""
import json
import pathlib
import struct
import sys

mode, fixture, path = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
data = (fixture / "expected.safetensors").read_bytes()
header_n = struct.unpack_from("<Q", data)[0]
header = json.loads(data[8 : 8 + header_n])

CODES = {"I32": "i", "F32": "f", "F64": "d"}


def first_row(name):
    x = header[name]
    n = x["shape"][1]
    return struct.unpack_from(f"<{n}{CODES[x['dtype']]}", data, 8 + header_n + x["data_offsets"][0])


ids = first_row("short.ids")
if mode == "write":
    vocab_n = json.loads((fixture / "config.json").read_text())["vocab_size"]
    model = {"type": "BPE", "vocab": {chr(0x4E00 + i): i for i in range(vocab_n)}, "merges": []}
    (path / "tokenizer.json").write_text(json.dumps({"added_tokens": [], "model": model}))
    (path / "test.txt").write_text("".join(chr(0x4E00 + i) for i in ids[1:]), encoding="utf-8")
    print(ids[0])
else:
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert lines.pop(0) == ["position", "token", "loss_nats"], "another header"
    assert [(int(a), int(b)) for a, b, _ in lines] == list(enumerate(ids[1:])), "other positions or ids"
    largest = max(abs(float(loss) + logp) for (_, _, loss), logp in zip(lines, first_row("short.logp64")))
    print(f"{len(lines)} losses, largest difference {largest:.1e}")
    sys.exit(largest > 5e-5)

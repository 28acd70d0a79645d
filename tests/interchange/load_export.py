#!/usr/bin/env python3
"""Loads a model that `alibi export` wrote and computes its perplexity with PyTorch, beside alibi's own.

The forward pass is written out in plain operations, so that it can serve as a description of the
model; make_checkpoint.py trains with the same functions.
"""
import argparse
import json
import math
import os
import struct
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None


def read_safetensors(path):
    """The tensors of a .safetensors file, fp32."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    (n,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + n])
    header.pop("__metadata__", None)
    weights = {}
    for name, entry in header.items():
        first, end = entry["data_offsets"]
        assert entry["dtype"] == "F32", name
        flat = torch.frombuffer(data, dtype=torch.float32, offset=8 + n + first, count=(end - first) // 4)
        weights[name] = flat.view(entry["shape"])
    return weights


def read_tokens(path):
    """The ids of a token file: 64 bytes of head, then 2 or 4 bytes an id."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"ALIBITOK", path
    width, n = struct.unpack_from("<IQ", data, 12)
    return list(struct.unpack_from("<%d%s" % (n, "H" if width == 2 else "I"), data, 64))


def slopes(heads):
    """Slope of each head (section 3 of the paper; for other counts, the authors' code). config.json has them too."""
    def power_of_two(n):
        return [2 ** (-8 * (i + 1) / n) for i in range(n)]
    p = 2 ** int(math.log2(heads))
    return power_of_two(heads) if p == heads else power_of_two(p) + power_of_two(2 * p)[0::2][: heads - p]


def t5_bucket(distance, buckets, most):
    exact = buckets // 2
    if distance < exact:
        return distance
    return min(buckets - 1, exact + int(math.log(distance / exact) / math.log(most / exact) * (buckets - exact)))


def score_bias(w, c, T):
    """What is added to the attention scores, (heads, T, T), the causal mask included."""
    distance = torch.arange(T)[:, None] - torch.arange(T)[None, :]
    bias = torch.zeros(c["heads"], T, T)
    if c["position"] == "alibi":
        bias = -torch.tensor(c.get("alibi_slopes", slopes(c["heads"])))[:, None, None] * distance
    if c["position"] == "t5":
        bucket = [t5_bucket(d, c["t5_buckets"], c["t5_max_distance"]) for d in range(T)]
        table = w["decoder.relative_attention_bias.weight"][torch.tensor(bucket)]  # (T, heads)
        bias = c["t5_multiplier"] * table[distance.clamp(min=0)].permute(2, 0, 1)
    return bias.masked_fill(distance < 0, float("-inf"))


def sinusoids(T, dim):
    half = dim // 2
    rate = torch.exp(-torch.arange(half) * (math.log(10000) / (half - 1)))
    angle = torch.arange(2, T + 2)[:, None] * rate[None, :]  # positions begin at 2
    return F.pad(torch.cat([angle.sin(), angle.cos()], 1), (0, dim - 2 * half))


def rotate(x, c):
    """Rotary positions on (B, heads, T, width)."""
    T, d = x.shape[-2:]
    angle = torch.arange(T)[:, None] * c["rotary_base"] ** (-torch.arange(0, d, 2) / d)[None, :]
    cos, sin = angle.cos(), angle.sin()
    if c["rotary_layout"] == "adjacent_pairs":
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def bands(c):
    edges = [0] + c["cutoffs"] + [c["vocab_size"]]
    return list(zip(edges[:-1], edges[1:]))


def embed(w, c, ids):
    if not c["cutoffs"]:
        return w["decoder.embed_tokens.weight"][ids] * math.sqrt(c["dim"])
    out = torch.zeros(ids.shape + (c["dim"],))
    for i, (first, end) in enumerate(bands(c)):
        name = "decoder.embed_tokens.embeddings.%d." % i
        inside = (ids >= first) & (ids < end)
        out[inside] = w[name + "0.weight"][ids[inside] - first] @ w[name + "1.weight"].T
    return out * math.sqrt(c["dim"])


def features(w, c, ids):
    """(B, T) ids to (B, T, dim): the input of the output layer."""
    B, T = ids.shape
    H = c["heads"]
    x = embed(w, c, ids)
    if c["position"] == "sinusoidal":
        x = x + sinusoids(T, c["dim"])
    bias = score_bias(w, c, T)

    def linear(name, y):
        return y @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(name, y):
        return F.layer_norm(y, (c["dim"],), w[name + ".weight"], w[name + ".bias"], 1e-5)

    for i in range(c["layers"]):
        p = "decoder.layers.%d." % i
        a = norm(p + "self_attn_layer_norm", x)
        q, k, v = (linear(p + "self_attn.%s_proj" % s, a).view(B, T, H, -1).transpose(1, 2) for s in "qkv")
        if c["position"] == "rotary":
            q, k = rotate(q, c), rotate(k, c)
        mix = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(c["dim"] // H) + bias, -1)
        x = x + linear(p + "self_attn.out_proj", (mix @ v).transpose(1, 2).reshape(B, T, -1))
        g = norm(p + "final_layer_norm", x)
        x = x + linear(p + "fc2", torch.relu(linear(p + "fc1", g)))
    return norm("decoder.layer_norm", x) if c["final_norm"] else x


def log_probability(w, c, source, target):
    """log p of each target, (B, T)."""
    x = features(w, c, source)
    if not c["cutoffs"]:
        logits = x @ w["decoder.embed_tokens.weight"].T
        return torch.log_softmax(logits, -1).gather(-1, target[..., None])[..., 0]
    table = "decoder.embed_tokens.embeddings.%d.%d.weight"
    head = torch.cat([x @ w[table % (0, 0)].T, x @ w["decoder.adaptive_softmax.head.class_proj.weight"].T], -1)
    head = torch.log_softmax(head, -1)
    c1 = c["cutoffs"][0]
    out = head.gather(-1, target.clamp(max=c1 - 1)[..., None])[..., 0]
    for i, (first, end) in enumerate(bands(c)):
        if i == 0:
            continue
        inside = (target >= first) & (target < end)
        tail = torch.log_softmax((x[inside] @ w[table % (i, 1)]) @ w[table % (i, 0)].T, -1)
        found = head[inside][:, c1 + i - 1] + tail.gather(-1, (target[inside] - first)[:, None])[:, 0]
        out = out.masked_scatter(inside, found)
    return out


def perplexity(w, c, ids, length, progress=None):
    """Nonoverlapping blocks of `length`; every token is scored, the first one after </s>."""
    total = 0.0
    with torch.no_grad():
        for first in range(0, len(ids), length):
            target = torch.tensor([ids[first : first + length]])
            source = torch.tensor([([2] + ids)[first : first + target.shape[1]]])
            total += log_probability(w, c, source, target).double().sum().item()
            if progress:
                progress(first / len(ids))
    return math.exp(-total / len(ids))


def report_progress():
    """A function that prints the share of the work to stderr, every five seconds."""
    last = time.monotonic()

    def progress(share):
        nonlocal last
        if time.monotonic() - last >= 5:
            last = time.monotonic()
            print("%3.0f %%" % (100 * share), file=sys.stderr)
    return progress


def check(c):
    """Refuses what the forward pass above leaves out."""
    if c["position"] not in ("sinusoidal", "rotary", "t5", "alibi", "none"):
        sys.exit("position method %s is not written out in this script" % c["position"])
    if c.get("attention_window", 0) or c.get("rope_scaling", "none") != "none" or c.get("rotary_share", 1) != 1 or c.get("temperature", "none") != "none":
        sys.exit("windows, scaled angles, partial rotations and temperatures are not written out in this script")


def alibis(c, split, tokens, length):
    """alibi's perplexity of the same text as text, from config.json."""
    for r in c.get("results", []):
        if r["split"] == split and r["protocol"] == "nonoverlapping" and r["L_valid"] == length:
            return "%.9g" % r["perplexity"] + ("" if r["tokens"] == tokens else "  of the first %d tokens only" % r["tokens"])
    return "-  (config.json has no result of split %s, nonoverlapping, L_valid %d)" % (split, length)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="what `alibi export` wrote: exports/RUN")
    parser.add_argument("tokens", help="a file of its corpus, such as data/wikitext103/valid.tokens")
    parser.add_argument("length", type=int, help="tokens per row, L_valid")
    a = parser.parse_args()
    if a.length < 1:
        parser.error("length must be at least 1")
    for path in (os.path.join(a.folder, "config.json"), a.tokens):
        if not os.path.exists(path):
            parser.error("%s not found" % path)
    if torch is None:
        sys.exit("PyTorch is not installed for %s" % sys.executable)
    with open(os.path.join(a.folder, "config.json")) as f:
        config = json.load(f)
    check(config)
    weights = read_safetensors(os.path.join(a.folder, "model.safetensors"))
    ids = read_tokens(a.tokens)
    split = os.path.basename(a.tokens).split(".")[0]
    print("perplexity of %d tokens (%s) in rows of %d" % (len(ids), split, a.length))
    print("PyTorch %.9g" % perplexity(weights, config, ids, a.length, report_progress()))
    print("alibi   %s" % alibis(config, split, len(ids), a.length))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""open_model.py NAME FOLDER - writes a checkpoint folder of a published model's shape with random weights.

The folder has config.json and model.safetensors in Hugging Face format, without a tokenizer. The values depend only
on the name, --seed and --dtype: normal, of deviation 0.02, gains around 1. They come cyclically from one pool, whose
prime length makes all rows of a matrix differ. Needs Python's standard library only; 560M parameters take seconds."""
import argparse
import array
import hashlib
import json
import os
import random
import struct
import sys

POOL = 1048583  # a prime

# NAME: family, layers, width, heads, vocabulary, trained length
MODELS = {
    "pythia-160m": ("gpt_neox", 12, 768, 12, 50304, 2048),
    "pythia-410m": ("gpt_neox", 24, 1024, 16, 50304, 2048),
    "bloom-560m": ("bloom", 24, 1024, 16, 250880, 2048),
    # Small enough for a test.
    "pythia-tiny": ("gpt_neox", 2, 64, 4, 512, 64),
    "bloom-tiny": ("bloom", 2, 64, 4, 512, 64),
}


def gpt_neox(layers, width, heads, vocab, length):
    config = {"model_type": "gpt_neox", "hidden_size": width, "num_hidden_layers": layers,
              "num_attention_heads": heads, "intermediate_size": 4 * width, "vocab_size": vocab,
              "max_position_embeddings": length, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "rotary_pct": 0.25,
              "rotary_emb_base": 10000, "use_parallel_residual": True, "tie_word_embeddings": False,
              "bos_token_id": 0, "eos_token_id": 0}
    tensors = {"gpt_neox.embed_in.weight": (vocab, width)}
    for layer in range(layers):
        at = "gpt_neox.layers.%d." % layer
        tensors.update({at + "input_layernorm": width, at + "post_attention_layernorm": width,
                        at + "attention.query_key_value": (3 * width, width), at + "attention.dense": (width, width),
                        at + "mlp.dense_h_to_4h": (4 * width, width), at + "mlp.dense_4h_to_h": (width, 4 * width)})
    tensors.update({"gpt_neox.final_layer_norm": width, "embed_out.weight": (vocab, width)})
    return config, tensors


def bloom(layers, width, heads, vocab, length):
    config = {"model_type": "bloom", "hidden_size": width, "n_layer": layers, "n_head": heads, "vocab_size": vocab,
              "seq_length": length, "layer_norm_epsilon": 1e-5, "apply_residual_connection_post_layernorm": False,
              "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3}
    tensors = {"word_embeddings.weight": (vocab, width), "word_embeddings_layernorm": width}
    for layer in range(layers):
        at = "h.%d." % layer
        tensors.update({at + "input_layernorm": width, at + "post_attention_layernorm": width,
                        at + "self_attention.query_key_value": (3 * width, width),
                        at + "self_attention.dense": (width, width), at + "mlp.dense_h_to_4h": (4 * width, width),
                        at + "mlp.dense_4h_to_h": (width, 4 * width)})
    tensors["ln_f"] = width
    return config, tensors


FAMILIES = {"gpt_neox": gpt_neox, "bloom": bloom}


def with_biases(tensors):
    """(name, shape): a width is a norm with gain and bias; a matrix without ".weight" has a bias of its rows."""
    for name, shape in tensors.items():
        if name.endswith(".weight"):
            yield name, shape
        else:
            yield name + ".weight", shape if isinstance(shape, tuple) else (shape,)
            yield name + ".bias", (shape[0] if isinstance(shape, tuple) else shape,)


def encode(values, dtype):
    if dtype == "F16":
        return struct.pack("<%de" % len(values), *values)
    words = array.array("f", values)
    if sys.byteorder == "big":
        words.byteswap()
    if dtype == "F32":
        return words.tobytes()
    return array.array("H", array.array("H", words.tobytes())[1::2]).tobytes()  # BF16, the upper half


def write_weights(path, tensors, seed, dtype):
    draw = random.Random(seed)
    noise = [draw.gauss(0.0, 1.0) for _ in range(POOL)]
    pools = {gain: encode([(1.0 if gain else 0.0) + (0.1 if gain else 0.02) * x for x in noise], dtype)
             for gain in (False, True)}
    size, header, offset = len(pools[True]) // POOL, {}, 0
    for name, shape in tensors:
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + count * size]}
        offset += count * size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name, shape in tensors:
            pool = pools[len(shape) == 1 and name.endswith(".weight")]
            begin, end = header[name]["data_offsets"]
            at = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % POOL * size
            while begin < end:
                part = pool[at:at + end - begin]
                out.write(part)
                begin += len(part)
                at = 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(MODELS))
    parser.add_argument("folder")
    parser.add_argument("--dtype", choices=["F32", "BF16", "F16"], default="F32")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocab", type=int, help="instead of the model's, for a tokenizer with other ids")
    options = parser.parse_args()
    family, layers, width, heads, vocab, length = MODELS[options.name]
    config, tensors = FAMILIES[family](layers, width, heads, options.vocab or vocab, length)
    os.makedirs(options.folder, exist_ok=True)
    with open(os.path.join(options.folder, "config.json"), "w") as out:
        json.dump(config, out, indent=1)
        out.write("\n")
    write_weights(os.path.join(options.folder, "model.safetensors"), list(with_biases(tensors)), options.seed,
                  options.dtype)


main()

#!/usr/bin/env python3
"""Makes the checkpoints under tests/fixtures/checkpoints, with PyTorch's own torch.save.

usage: make_checkpoint.py FOLDER

A small ALiBi model is trained for some updates on a text made here. It is saved in the layout of
fairseq: a module tree whose state dict has fairseq's names, tied tensors that share a storage and
are listed twice, bookkeeping buffers, options and statistics beside the weights. tiny.pt is fp32
with the options in `cfg`, tiny_half.pt is float16 with the options in `args`. tiny.json holds the
perplexities that PyTorch computes from the same weights.
"""
import argparse
import collections
import json
import os
import random
import sys

import torch
from torch import nn

import load_export

CONFIG = {
    "vocab_size": 0, "position": "alibi", "layers": 2, "dim": 32, "heads": 4, "ffn": 64,
    "cutoffs": [64, 128], "adaptive_factor": 2, "final_norm": False,
}
L = 32
UPDATES = 150


def make_text(folder):
    """Sentences in which a word largely decides the next one, with a long tail of rare words."""
    rng = random.Random(7)
    os.makedirs(folder, exist_ok=True)
    for split, lines in (("train", 700), ("valid", 60), ("test", 60)):
        with open("%s/%s.txt" % (folder, split), "w") as f:
            for _ in range(lines):
                words, w = [], rng.randrange(200)
                for _ in range(rng.randrange(4, 14)):
                    words.append("w%d" % w)
                    w = (3 * w + rng.choice([1, 1, 1, 5, 17])) % 200 if rng.random() < 0.8 else rng.randrange(200)
                f.write(" ".join(words) + " .\n")


def make_dictionary(folder):
    """fairseq's order: by falling count, then by spelling; filled up to a multiple of 8."""
    count = collections.Counter(open(folder + "/text/train.txt").read().split())
    words = sorted(count, key=lambda word: (-count[word], word))
    rows = [(word, count[word]) for word in words]
    filler = 0
    while (4 + len(rows)) % 8:
        rows.append(("madeupword%04d" % filler, 0))
        filler += 1
    with open(folder + "/dict.txt", "w") as f:
        f.writelines("%s %d\n" % row for row in rows)
    return {word: 4 + i for i, (word, _) in enumerate(rows)}


def ids_of(path, dictionary):
    return [i for line in open(path) for i in [dictionary.get(word, 3) for word in line.split()] + [2]]


class Tied(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("_float_tensor", torch.zeros(1))


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.k_proj, self.v_proj, self.q_proj, self.out_proj = (nn.Linear(dim, dim) for _ in range(4))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.self_attn = Attention(c["dim"])
        self.self_attn_layer_norm = nn.LayerNorm(c["dim"])
        self.fc1 = nn.Linear(c["dim"], c["ffn"])
        self.fc2 = nn.Linear(c["ffn"], c["dim"])
        self.final_layer_norm = nn.LayerNorm(c["dim"])


class Input(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embeddings = nn.ModuleList()
        for i, (first, end) in enumerate(load_export.bands(c)):
            width = c["dim"] // c["adaptive_factor"] ** i
            band = nn.Sequential(nn.Embedding(end - first, width), nn.Linear(width, c["dim"], bias=False))
            nn.init.normal_(band[0].weight, std=width ** -0.5)
            self.embeddings.append(band)


class Head(nn.Module):
    def __init__(self, weight, clusters):
        super().__init__()
        self.word_proj = Tied(weight)
        self.class_proj = nn.Linear(weight.shape[1], clusters, bias=False)


class Softmax(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        band = inputs.embeddings
        self.head = Head(band[0][0].weight, len(band) - 1)
        self.tail = nn.ModuleList(
            nn.Sequential(Tied(b[1].weight), nn.Dropout(0.2), Tied(b[0].weight)) for b in band[1:])
        self.register_buffer("version", torch.LongTensor([1]))


class Decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.register_buffer("version", torch.Tensor([3]))
        self.embed_tokens = Input(c)
        self.embed_positions = Positions()
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["layers"]))
        self.adaptive_softmax = Softmax(self.embed_tokens)


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.decoder = Decoder(c)


def train(model, c, ids):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    blocks = torch.tensor(ids[: len(ids) // L * L]).view(-1, L)
    sources = torch.tensor(([2] + ids)[: blocks.numel()]).view(-1, L)
    for update in range(UPDATES):
        pick = torch.randperm(len(blocks))[:16]
        weights = model.state_dict(keep_vars=True)
        loss = -load_export.log_probability(weights, c, sources[pick], blocks[pick]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def options(c):
    cutoffs = ",".join(map(str, c["cutoffs"]))
    return {
        "activation_fn": "relu", "dropout": 0.3, "attention_dropout": 0.1, "relu_dropout": 0.1,
        "decoder_embed_dim": c["dim"], "decoder_output_dim": c["dim"], "decoder_input_dim": c["dim"],
        "decoder_ffn_embed_dim": c["ffn"], "decoder_layers": c["layers"],
        "decoder_attention_heads": c["heads"], "decoder_normalize_before": True,
        "no_decoder_final_norm": True, "adaptive_softmax_cutoff": cutoffs,
        "adaptive_softmax_dropout": 0.2, "adaptive_softmax_factor": float(c["adaptive_factor"]),
        "adaptive_input": True, "adaptive_input_factor": float(c["adaptive_factor"]),
        "adaptive_input_cutoff": cutoffs, "tie_adaptive_weights": True, "tie_adaptive_proj": True,
        "decoder_learned_pos": False, "character_embeddings": False, "offload_activations": None,
    }


def checkpoint(model, c, loss, valid, use_args):
    bits = loss / 0.6931471805599453
    meters = [(10, "loss", "AverageMeter", {"val": bits, "sum": 512 * bits, "count": 512, "round": 3}),
              (20, "wps", "TimeMeter", {"init": 0.0, "start": 1.0, "n": 512, "round": 1})]
    task = {"_name": "language_modeling", "tokens_per_sample": L, "sample_break_mode": "none"}
    cfg = {"_name": None, "common": {"seed": 1, "fp16": use_args}, "task": task,
           "model": dict(options(c), _name="transformer_lm_wiki103")}
    return {
        "args": argparse.Namespace(**options(c), tokens_per_sample=L, seed=1) if use_args else None,
        "cfg": None if use_args else cfg,
        "model": model.state_dict(),
        "criterion": None,
        "optimizer_history": [{"criterion_name": "AdaptiveLoss", "optimizer_name": "FairseqNAG",
                               "lr_scheduler_state": {"best": None}, "num_updates": UPDATES}],
        "task_state": {},
        "extra_state": {"metrics": collections.OrderedDict(train=meters),
                        "train_iterator": {"epoch": 3, "iterations_in_epoch": 0, "shuffle": True},
                        "val_loss": valid, "best": valid, "previous_training_time": 1.5},
        "last_optimizer_state": {"state": {0: {"momentum_buffer": torch.zeros(4)}},
                                 "param_groups": [{"lr": 0.1, "lr_old": 0.1, "momentum": 0.99, "params": [0]}]},
    }


def main():
    folder = sys.argv[1]
    torch.manual_seed(1)
    torch.set_num_threads(1)
    make_text(folder + "/text")
    dictionary = make_dictionary(folder)
    c = dict(CONFIG, vocab_size=4 + len(dictionary))
    ids = {split: ids_of("%s/text/%s.txt" % (folder, split), dictionary) for split in ("train", "valid", "test")}
    model = Model(c)
    loss = train(model, c, ids["train"])
    report = {"pytorch": torch.__version__, "vocab": c["vocab_size"], "updates": UPDATES, "train_loss_nats": loss,
              "tokens": {split: len(x) for split, x in ids.items()}}
    for name, half in (("tiny", False), ("tiny_half", True)):
        model = model.half() if half else model
        weights = {k: v.float() for k, v in model.state_dict().items()}
        report[name] = {"valid_L%d" % n: load_export.perplexity(weights, c, ids["valid"], n) for n in (32, 64, 128)}
        bits = torch.tensor(report[name]["valid_L32"]).log2().item()
        torch.save(checkpoint(model, c, loss, bits, half), "%s/%s.pt" % (folder, name))
    with open(folder + "/tiny.json", "w") as f:
        json.dump(report, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()

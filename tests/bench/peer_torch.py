#!/usr/bin/env python3
"""The PyTorch side of `make bench`: the model, weights and tokens of bench_cpu, eager, fp32, on the CPU.

A call measures one case of bench_cpu, from its weights and its line of results, which has the case's
settings and its initial loss and gradient norm. A variant of PyTorch is timed only if its loss and norm
agree (peer_model.disagreement). Prints one line of JSON with the keys of bench_cpu, or the disagreement
on stderr (exit 65).
PyTorch and its libraries get the instruction set of our kernels, which ALIBI_KERNELS may limit. An
OpenBLAS that does not know the processor would use far slower ones. Subnormals are flushed, as on our side.
Attention is scaled_dot_product_attention (PyTorch 2.0 or later) or the plain formula, whichever is
faster here."""
import argparse
import json
import math
import os
import statistics
import sys
import time

HEADS = 8

parser = argparse.ArgumentParser()
parser.add_argument("--weights", required=True)
parser.add_argument("--ours", required=True, help="file whose last line is bench_cpu's of this case")
parser.add_argument("--seconds", type=float, default=2.0)
options = parser.parse_args()
with open(options.ours) as f:
    ours = json.loads(f.read().splitlines()[-1])
os.environ["OPENBLAS_CORETYPE"] = "SkylakeX" if ours["kernels"] == "v4" else "Haswell"
if ours["kernels"] == "v3":
    os.environ.update(ATEN_CPU_CAPABILITY="avx2", ONEDNN_MAX_CPU_ISA="AVX2", MKL_ENABLE_INSTRUCTIONS="AVX2")
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(ours["threads"])

import torch  # noqa: E402 - the environment above must be set before
import torch.nn.functional as F  # noqa: E402

from peer_model import disagreement, load_tensors, off  # noqa: E402

torch.set_num_threads(ours["threads"])
torch.set_flush_denormal(True)
tensors = load_tensors(options.weights)
classes, width = tensors["decoder.embed_tokens.weight"].shape
length, head_width = ours["L"], width // HEADS
source, target = (tensors.pop(name).long().view(-1, length) for name in ("source", "target"))
rows = source.shape[0]


def penalty():
    """(H, T, T): the causal mask and the linear penalty of each head."""
    at = torch.arange(length)
    distance = at[:, None] - at[None, :]
    slopes = torch.tensor([2.0 ** (-8.0 * (h + 1) / HEADS) for h in range(HEADS)])
    bias = -slopes[:, None, None] * distance.clamp(min=0).float()
    return bias.masked_fill(distance < 0, float("-inf"))


def plain_attention(q, k, v, bias):
    return torch.matmul((torch.matmul(q * head_width ** -0.5, k.transpose(-1, -2)) + bias).softmax(-1), v)


def fused_attention(q, k, v, bias):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(q.shape[0], -1, -1, -1))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def names(self, at):
        """Our tensors of each of the modules: a bias and a weight each, with the rows of several concatenated."""
        attention = at + "self_attn"
        return {self.attention_norm: [attention + "_layer_norm"], self.ffn_norm: [at + "final_layer_norm"],
                self.qkv: [attention + ".%s_proj" % part for part in "qkv"], self.out: [attention + ".out_proj"],
                self.up: [at + "fc1"], self.down: [at + "fc2"]}

    def forward(self, x, bias, attend):
        parts = self.qkv(self.attention_norm(x)).view(rows, length, 3, HEADS, head_width)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        x = x + self.out(attend(q, k, v, bias).transpose(1, 2).reshape(rows, length, width))
        return x + self.down(F.relu(self.up(self.ffn_norm(x))))


class Decoder(torch.nn.Module):
    """Loads every tensor of the file; KeyError if a name is unknown."""

    def __init__(self):
        super().__init__()
        left = dict(tensors)
        self.table = torch.nn.Parameter(left.pop("decoder.embed_tokens.weight").clone())
        self.final_norm = torch.nn.LayerNorm(width)
        self.blocks = torch.nn.ModuleList()
        names = {self.final_norm: ["decoder.layer_norm"]}
        while "decoder.layers.%d.fc1.weight" % len(self.blocks) in left:
            self.blocks.append(Block())
            names.update(self.blocks[-1].names("decoder.layers.%d." % (len(self.blocks) - 1)))
        for module, ours_of_it in names.items():
            for kind in ("weight", "bias"):
                values = torch.cat([left.pop("%s.%s" % (name, kind)) for name in ours_of_it])
                setattr(module, kind, torch.nn.Parameter(values))
        if left:
            raise KeyError("the weights have tensors that this model lacks: %s" % ", ".join(sorted(left)))
        self.bias = penalty()

    def forward(self, attend):
        x = F.embedding(source, self.table) * math.sqrt(width)
        for block in self.blocks:
            x = block(x, self.bias, attend)
        logits = F.linear(self.final_norm(x), self.table).view(-1, classes)
        return F.cross_entropy(logits, target.reshape(-1))


def timed(step, seconds):
    """Median and best seconds of a step, and its mean CPU time, after three warm-up steps."""
    for _ in range(3):
        step()
    taken, start, cpu = [], time.perf_counter(), time.process_time()
    while len(taken) < 5 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        step()
        taken.append(time.perf_counter() - before)
    return statistics.median(taken), min(taken), (time.process_time() - cpu) / len(taken)


def train_step(attend):
    """The loss, and the gradient norm before clipping."""
    optimizer.zero_grad(set_to_none=True)
    loss = model(attend)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    return loss.item(), norm.item()


def eval_step(attend):
    with torch.no_grad():
        return model(attend).item()


ways = {"plain": plain_attention}
if hasattr(F, "scaled_dot_product_attention"):
    ways["fused"] = fused_attention
trained, scored, start = {}, {}, {}
for way, attend in ways.items():
    model = Decoder()  # every variant starts from the same weights
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.99, nesterov=True)
    eval_loss = eval_step(attend)
    loss, norm = train_step(attend)
    why = disagreement(loss, norm, ours, 1e-5) or disagreement(eval_loss, norm, ours, 1e-5)
    if why:
        print("peer_torch: %s attention of torch %s: %s" % (way, torch.__version__, why), file=sys.stderr)
        continue
    start[way] = loss, eval_loss, norm
    trained[way] = timed(lambda: train_step(attend), options.seconds / len(ways))
    scored[way] = timed(lambda: eval_step(attend), options.seconds / 2 / len(ways))
if not trained:
    sys.exit(65)
way = min(trained, key=lambda n: trained[n][0])
n, train, scoring = rows * length, trained[way], min(scored.values())
print(json.dumps({
    "side": "torch " + torch.__version__, "profile": ours["profile"], "L": length, "threads": ours["threads"],
    "train_tok_s": round(n / train[0]), "train_tok_s_best": round(n / train[1]),
    "train_tok_cpu_s": round(n / train[2]),
    "eval_tok_s": round(n / scoring[0]), "eval_tok_s_best": round(n / scoring[1]),
    "eval_tok_cpu_s": round(n / scoring[2]), "attention": way,
    "loss_nats": start[way][0], "eval_loss_nats": start[way][1], "grad_norm": start[way][2],
    "loss_off": off(start[way][0], ours["loss_nats"]), "norm_off": off(start[way][2], ours["grad_norm"]),
    "kernels": ours["kernels"]}))

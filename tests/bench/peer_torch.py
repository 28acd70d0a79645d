#!/usr/bin/env python3
"""The PyTorch side of `make bench`: the model and the batch of bench_cpu.c, eager, fp32, on the CPU.

One profile and one number of threads a call; prints one line of JSON with the keys of bench_cpu.
OPENBLAS_CORETYPE is set to AVX-512 kernels where the processor has them: an OpenBLAS that does not
know the processor takes far slower ones, which would not be a fair opponent. Subnormals are flushed,
as on our side. Attention is scaled_dot_product_attention where this PyTorch has it (2.0), the plain
formula otherwise, whichever is faster here."""
import argparse
import json
import math
import os
import statistics
import time

PROFILES = {  # layers, width, classes, tokens a row, tokens a batch
    "d64": (2, 64, 1024, 64, 768), "d64-long": (2, 64, 1024, 384, 768),
    "d128": (3, 128, 1024, 64, 1024), "d256": (4, 256, 8192, 256, 2048),
    "d512": (6, 512, 8192, 512, 2048),
}
HEADS = 8

parser = argparse.ArgumentParser()
parser.add_argument("--profile", required=True, choices=PROFILES)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--seconds", type=float, default=2.0)
options = parser.parse_args()
with open("/proc/cpuinfo") as f:
    has_avx512 = "avx512bw" in f.read()
os.environ["OPENBLAS_CORETYPE"] = "SkylakeX" if has_avx512 else "Haswell"
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402 - the environment above must be set before
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(options.threads)
torch.set_flush_denormal(True)
torch.manual_seed(1)
layers, width, classes, length, batch_tokens = PROFILES[options.profile]
rows, head_width = batch_tokens // length, width // HEADS


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

    def forward(self, x, bias, attend):
        parts = self.qkv(self.attention_norm(x)).view(rows, length, 3, HEADS, head_width)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        x = x + self.out(attend(q, k, v, bias).transpose(1, 2).reshape(rows, length, width))
        return x + self.down(F.relu(self.up(self.ffn_norm(x))))


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(classes, width) * width ** -0.5)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(layers))
        self.final_norm = torch.nn.LayerNorm(width)
        self.bias = penalty()

    def forward(self, source, target, attend):
        x = F.embedding(source, self.table) * math.sqrt(width)
        for block in self.blocks:
            x = block(x, self.bias, attend)
        logits = F.linear(self.final_norm(x), self.table).view(-1, classes)
        return F.cross_entropy(logits, target.reshape(-1))


def timed(step, seconds):
    """Median and best seconds of a step and its mean processor time, after three to warm up."""
    for _ in range(3):
        step()
    taken, start, cpu = [], time.perf_counter(), time.process_time()
    while len(taken) < 5 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        step()
        taken.append(time.perf_counter() - before)
    return statistics.median(taken), min(taken), (time.process_time() - cpu) / len(taken)


model = Decoder()
source, target = torch.randint(4, classes, (2, rows, length))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.99, nesterov=True)


def train_step(attend):
    optimizer.zero_grad(set_to_none=True)
    loss = model(source, target, attend)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    return loss.item()


def eval_step(attend):
    with torch.no_grad():
        return model(source, target, attend).item()


ways = {"plain": plain_attention}
if hasattr(F, "scaled_dot_product_attention"):
    ways["fused"] = fused_attention
first_loss = eval_step(plain_attention)
trained = {n: timed(lambda: train_step(a), options.seconds / len(ways)) for n, a in ways.items()}
scored = {n: timed(lambda: eval_step(a), options.seconds / 2 / len(ways)) for n, a in ways.items()}
way = min(trained, key=lambda n: trained[n][0])
n, train, scoring = rows * length, trained[way], min(scored.values())
print(json.dumps({
    "side": "torch " + torch.__version__, "profile": options.profile, "threads": options.threads,
    "train_tok_s": round(n / train[0]), "train_tok_s_best": round(n / train[1]),
    "train_tok_cpu_s": round(n / train[2]),
    "eval_tok_s": round(n / scoring[0]), "eval_tok_s_best": round(n / scoring[1]),
    "eval_tok_cpu_s": round(n / scoring[2]),
    "attention": way, "first_loss": round(first_loss, 4),
    "coretype": os.environ["OPENBLAS_CORETYPE"]}))

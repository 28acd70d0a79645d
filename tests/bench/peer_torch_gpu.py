#!/usr/bin/env python3
"""Compares a case of bench_gpu with PyTorch: same weights, same tokens, alternating on one device.

bench_gpu --serve runs the steps of our side. A variant of PyTorch is timed only if it computes the
same; the best of the variants begun within --budget seconds is reported. Prints one line of JSON.

1. Without dropout, its loss and gradient norm must be ours (loss: 1e-3 relative in bf16, 1e-5 in fp32;
   norm: five times that).
2. If the case has dropout, the variant gets it too. Its mean loss and norm over MASKS masks must be
   ours: they may differ by five standard errors of the two means together, plus the tolerance of
   rule 1. The variant that is checked, graph or not, is the one that is timed. This detects a wrong
   recipe, but not every wrong probability: without dropout of attention the loss is within the noise.

Variants combine attention (see peer_model.Model), loss (plain, or chunked without storing logits),
compilation (each block; the whole step; the whole step with max-autotune), and optionally a CUDA graph
of the whole step. FlexAttention has no dropout: with dropout a bias is dense."""
import argparse
import gc
import json
import math
import os
import statistics
import subprocess
import sys
import time

MASKS, ERRORS = 32, 5.0

parser = argparse.ArgumentParser()
parser.add_argument("--case", required=True)
parser.add_argument("--program", required=True)
parser.add_argument("--weights", required=True)
parser.add_argument("--device", default="cuda:0")
parser.add_argument("--gpu", default="")
parser.add_argument("--tiny", action="store_true")
parser.add_argument("--budget", type=float, default=45.0, help="seconds after which no other way is begun, twice that with dropout")
parser.add_argument("--rounds", type=int, default=5)
options = parser.parse_args()
kind, position, *_, precision = options.case.split("-")
trains, dropout = kind == "train", "-drop-" in options.case
on_gpu = options.device.startswith("cuda:") and options.device != "cuda:emulated"


class Ours:
    """A bench_gpu process that serves a case. first: its first line."""

    def __init__(self, case):
        self.process = subprocess.Popen(
            [options.program, "--case", case, "--device", options.device, "--serve"]
            + (["--tiny"] if options.tiny else []), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("peer_torch_gpu: bench_gpu ended with %s" % self.process.wait())
        return json.loads(line)

    def steps(self, n):
        """Runs n steps; returns seconds, loss_nats and grad_norm."""
        self.process.stdin.write("%d\n" % n)
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def finish(result, first):
    result.update({k: first[k] for k in ("code_id", "date", "precision", "tiny")})
    print(json.dumps(result, separators=(",", ":")))


# Ours starts first: its peak memory is what the driver counts for the whole device.
result = {"case": "peer-" + options.case, "device": options.device, "gpu": options.gpu}
plain = ours = Ours(options.case.replace("-drop-", "-"))
if dropout and "refused" not in plain.first:
    plain.end()
    ours = Ours(options.case)
first = ours.first
if "refused" in first:
    result["refused"] = first["refused"]
    finish(result, first)
    sys.exit(69)

os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(os.path.dirname(os.path.abspath(options.weights)), "inductor"))
import torch  # noqa: E402 - after our side has the device

from peer_model import Model, Shape, disagreement, flex_attention, load_tensors, off  # noqa: E402

device = torch.device("cuda:" + options.device[5:] if on_gpu else "cpu")
dtype = torch.bfloat16 if precision == "bf16" else torch.float32
tolerance = 1e-3 if precision == "bf16" else 1e-5
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.set_flush_denormal(True)
torch.manual_seed(1)
if on_gpu:  # every variant compiles a block
    import torch._dynamo

    for name in ("recompile_limit", "cache_size_limit"):
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, 64)
tensors = load_tensors(options.weights)
shape = Shape(tensors, position, first["L"], first["batch_tokens"])


def ways():
    """The variants for this machine, the most promising first."""
    has_bias = position in ("alibi", "t5")
    losses = ("plain", "chunked") if trains else ("plain",)
    if not on_gpu:
        attention = "sdpa" if hasattr(torch.nn.functional, "scaled_dot_product_attention") else "explicit"
        return [{"attention": attention, "loss": loss, "compile": "none"} for loss in losses]
    first, second = "sdpa", "cudnn"
    if has_bias:
        first, second = ("efficient", "cudnn") if dropout else ("flex", "sdpa") if flex_attention else ("sdpa", "cudnn")
    rows = [(first, "plain", "blocks"), (second, "plain", "blocks"), (first, "plain", "whole")]
    rows += [(first, "chunked", "blocks")] if trains else []
    rows += [(second, "plain", "whole"), (first, "plain", "autotune")]
    return [dict(zip(("attention", "loss", "compile"), r)) for r in rows]


def wait():
    if on_gpu:
        torch.cuda.synchronize()


def captured(step):
    """The step as one CUDA graph, or None if it cannot be captured."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            found = step()
    except RuntimeError as why:
        print("peer_torch_gpu: no graph: %s" % str(why).splitlines()[0], file=sys.stderr)
        torch.cuda.synchronize()
        return None

    def replay():
        graph.replay()
        return found

    return replay


def seconds_of(step, steps):
    taken = []
    for _ in range(steps):
        before = time.perf_counter()
        step()
        wait()
        taken.append(time.perf_counter() - before)
    return taken


def numbers_of(step):
    """(nats a token, gradient norm) of one step."""
    loss, norm = (float(x) for x in step())
    return loss / shape.tokens, norm


def check_plain(name, step):
    """Checks rule 1."""
    loss, norm = numbers_of(step)
    why = disagreement(loss, norm if trains else None, plain.first, tolerance)
    if why:
        raise ValueError("%s: %s" % (name, why))
    return {"loss_off": off(loss, plain.first["loss_nats"]), "norm_off": off(norm, plain.first["grad_norm"]) if trains else 0.0}


def check_masks(name, step):
    """Checks rule 2."""
    theirs = list(zip(*(numbers_of(step) for _ in range(MASKS))))
    found = {"masks": MASKS}
    for what, values, share in (("loss_nats", theirs[0], tolerance), ("grad_norm", theirs[1], 5 * tolerance)):
        mine = drawn[what]
        a, b = statistics.fmean(values), statistics.fmean(mine)
        error = math.sqrt((statistics.variance(values) + statistics.variance(mine)) / MASKS)
        allowed = ERRORS * error + share * abs(b)
        found["drop_" + what] = {"torch": a, "ours": b, "standard_error": error, "allowed": allowed}
        if not abs(a - b) <= allowed:
            raise ValueError("%s: mean %s over %d masks %.7g, ours %.7g, more than %.2g apart" % (
                name, what, MASKS, a, b, allowed))
    return found


def step_of(way, with_dropout):
    model = Model(tensors, shape, dtype, device, way, with_dropout)
    return model.train_step if trains else model.eval_step


def faster(name, step):
    """(name, step): the step, or the same as a graph if that is faster."""
    seconds_of(step, 3)
    replay = captured(step) if on_gpu else None
    if replay and statistics.median(seconds_of(replay, 5)) < statistics.median(seconds_of(step, 5)):
        return name + " graph", replay
    return name, step


def prepare(way):
    """(name, step, what was checked); raises ValueError if the numbers differ from ours."""
    name = " ".join(way.values())
    step = step_of(way, False)
    found = check_plain(name, step)
    if dropout:
        del step
        step = step_of(way, True)
    name, step = faster(name, step)
    found.update(check_masks(name, step) if dropout else check_plain(name, step))
    return name, step, found


def peak_of_theirs(step):
    """The driver's memory in use minus our side's, once only the best variant is left."""
    if not on_gpu:
        return 0
    gc.collect()
    torch.cuda.empty_cache()
    seconds_of(step, 2)
    unused, total = torch.cuda.mem_get_info()
    return total - unused - first["peak_memory_bytes"]


def best_way():
    """(median, name, step, what was checked) of the fastest variant, and a list of all that were tried."""
    start, tried, best = time.monotonic(), [], None
    for way in ways():
        if best and time.monotonic() - start > options.budget * (2 if dropout else 1):
            break
        try:
            name, step, found = prepare(way)
        except ValueError as why:
            tried.append({"way": " ".join(way.values()), "disagrees": str(why)})
            continue
        except Exception as why:  # this PyTorch does not support the variant
            tried.append({"way": " ".join(way.values()), "failed": (str(why).splitlines() or [type(why).__name__])[0][:200]})
            continue
        median = statistics.median(seconds_of(step, 7))
        tried.append({"way": name, "median_s": median, **found})
        if not best or median < best[0]:
            best = (median, name, step, found)
    return best, tried


def time_both(best):
    """Times both sides alternately."""
    median, name, step, found = best
    steps = max(2, min(40, int(1.0 / median)))
    peak, mine, theirs = peak_of_theirs(step), [], []
    for _ in range(options.rounds):
        mine += ours.steps(steps)["seconds"]
        theirs += seconds_of(step, steps)
    low, high = lambda x: statistics.quantiles(x, n=4)[0], lambda x: statistics.quantiles(x, n=4)[2]
    result.update({
        "torch": torch.__version__, "way": name, "rounds": options.rounds, "steps": steps * options.rounds,
        "ours_median_s": statistics.median(mine), "ours_low_s": low(mine), "ours_high_s": high(mine),
        "torch_median_s": statistics.median(theirs), "torch_low_s": low(theirs), "torch_high_s": high(theirs),
        "ours_peak_bytes": first["peak_memory_bytes"], "torch_peak_bytes": peak, "checked": found})


drawn = ours.steps(MASKS) if dropout else None
best, result["tried"] = best_way()
if best:
    time_both(best)
else:
    result["refused"] = "no way of PyTorch's gives our numbers"
result.update({k: plain.first[k] for k in ("loss_nats", "grad_norm")})
ours.end()
finish(result, first)

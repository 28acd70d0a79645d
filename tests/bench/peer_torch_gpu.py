#!/usr/bin/env python3
"""A case of bench_gpu beside PyTorch: the same weights, the same tokens, turn by turn on one device.

bench_gpu --serve takes the steps of our side. A way of PyTorch's is timed only if its loss and its
gradient norm are ours (loss: 1e-3 relative in bf16, 1e-5 in fp32; norm: five times that); the best
of the ways begun within --budget seconds is reported. Prints one line of JSON.

Ways are combinations of attention (sdpa; its cudnn backend; flex with score_mod and a causal block mask; dense, a bias
of T x T), loss (plain, or chunked without keeping logits), compiling (each block; the whole step;
the whole with max-autotune) and a CUDA graph of the whole step, which is tried with each."""
import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--case", required=True)
parser.add_argument("--program", required=True)
parser.add_argument("--weights", required=True)
parser.add_argument("--device", default="cuda:0")
parser.add_argument("--gpu", default="")
parser.add_argument("--tiny", action="store_true")
parser.add_argument("--budget", type=float, default=45.0, help="seconds after which no other way is begun")
parser.add_argument("--rounds", type=int, default=5)
options = parser.parse_args()
kind, position, nominal, precision = options.case.split("-")
on_gpu = options.device.startswith("cuda:") and options.device != "cuda:emulated"
length = int(nominal) // (32 if options.tiny else 1)

# Ours starts first: its peak memory is the driver's figure of the whole device.
ours = subprocess.Popen(
    [options.program, "--case", options.case, "--device", options.device, "--serve"]
    + (["--tiny"] if options.tiny else []), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def from_ours():
    line = ours.stdout.readline()
    if not line:
        sys.exit("peer_torch_gpu: bench_gpu ended with %s" % ours.wait())
    return json.loads(line)


first = from_ours()
result = {"case": "peer-" + options.case, "device": options.device, "gpu": options.gpu}
if "refused" in first:
    result.update({k: first[k] for k in ("code_id", "date", "precision", "refused")})
    print(json.dumps(result, separators=(",", ":")))
    sys.exit(69)

os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(os.path.dirname(os.path.abspath(options.weights)), "inductor"))
import torch  # noqa: E402 - after our side has the device

from peer_model import Model, Shape, disagreement, flex_attention, load_tensors, off  # noqa: E402

device = torch.device("cuda:" + options.device[5:] if on_gpu else "cpu")
dtype = torch.bfloat16 if precision == "bf16" else torch.float32
tolerance = 1e-3 if precision == "bf16" else 1e-5
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.set_flush_denormal(True)
tensors = load_tensors(options.weights)
shape = Shape(tensors, position, length)


def ways():
    """The ways of this machine, the most promising first."""
    has_bias = position in ("alibi", "t5")
    if not on_gpu:
        return [{"attention": "dense" if has_bias else "sdpa", "loss": loss, "compile": "none"}
                for loss in ("plain", "chunked")]
    attention = ["sdpa", "cudnn"] if not has_bias else ["flex", "dense"] if flex_attention else ["dense"]
    rows = [(attention[0], "plain", "blocks"), (attention[0], "plain", "whole"), (attention[0], "chunked", "blocks")]
    rows += [(a, "plain", "whole") for a in attention[1:]] + [(attention[0], "plain", "autotune")]
    return [dict(zip(("attention", "loss", "compile"), r)) for r in rows]


def wait():
    if on_gpu:
        torch.cuda.synchronize()


def captured(step):
    """The step as one CUDA graph, or None where it cannot be captured."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            step()
    except RuntimeError as why:
        print("peer_torch_gpu: no graph: %s" % str(why).splitlines()[0], file=sys.stderr)
        torch.cuda.synchronize()
        return None
    return graph.replay


def seconds_of(step, steps):
    taken = []
    for _ in range(steps):
        before = time.perf_counter()
        step()
        wait()
        taken.append(time.perf_counter() - before)
    return taken


def ours_seconds(steps):
    ours.stdin.write("%d\n" % steps)
    ours.stdin.flush()
    return from_ours()["seconds"]


def prepare(way):
    """(name, step, what it found); raises ValueError where the numbers are not ours."""
    model = Model(tensors, shape, dtype, device, way)
    step = model.train_step if kind == "train" else model.eval_step
    loss, norm = (float(x) for x in step())
    loss /= shape.tokens
    name = " ".join([way["attention"], way["loss"], way["compile"]])
    found = {"loss_off": off(loss, first["loss_nats"]), "norm_off": off(norm, first["grad_norm"])}
    why = disagreement(loss, norm if kind == "train" else None, first, tolerance)
    if why:
        raise ValueError("%s: %s" % (name, why))
    seconds_of(step, 3)
    replay = captured(step) if on_gpu else None
    if replay and statistics.median(seconds_of(replay, 5)) < statistics.median(seconds_of(step, 5)):
        return name + " graph", replay, found, model
    return name, step, found, model


def peak_of_theirs():
    """What the driver counts beyond our side, once only the best way is left."""
    if not on_gpu:
        return 0
    gc.collect()
    torch.cuda.empty_cache()
    seconds_of(best[2], 2)
    unused, total = torch.cuda.mem_get_info()
    return total - unused - first["peak_memory_bytes"]


start, tried, best = time.monotonic(), [], None
for way in ways():
    if best and time.monotonic() - start > options.budget:
        break
    try:
        name, step, found, model = prepare(way)
    except ValueError as why:
        tried.append({"way": " ".join(way.values()), "disagrees": str(why)})
        continue
    except Exception as why:  # a way that this PyTorch cannot go
        tried.append({"way": " ".join(way.values()), "failed": (str(why).splitlines() or [type(why).__name__])[0][:200]})
        continue
    median = statistics.median(seconds_of(step, 7))
    tried.append({"way": name, "median_s": median, **found})
    if not best or median < best[0]:
        best = (median, name, step, found, model)
if best:
    model = step = None
    peak = peak_of_theirs()
    steps = max(2, min(40, int(1.0 / best[0])))
    mine, theirs = [], []
    for _ in range(options.rounds):
        mine += ours_seconds(steps)
        theirs += seconds_of(best[2], steps)
    quartiles = lambda x: statistics.quantiles(x, n=4)  # noqa: E731
    result.update({
        "torch": torch.__version__, "way": best[1], "rounds": options.rounds, "steps": steps * options.rounds,
        "ours_median_s": statistics.median(mine), "ours_low_s": quartiles(mine)[0], "ours_high_s": quartiles(mine)[2],
        "torch_median_s": statistics.median(theirs), "torch_low_s": quartiles(theirs)[0],
        "torch_high_s": quartiles(theirs)[2], "ours_peak_bytes": first["peak_memory_bytes"],
        "torch_peak_bytes": peak, **best[3]})
else:
    result["refused"] = "no way of PyTorch's gives our numbers"
result.update({k: first[k] for k in ("code_id", "date", "precision", "loss_nats", "grad_norm")})
result["tried"] = tried
ours.stdin.close()
ours.wait()
print(json.dumps(result, separators=(",", ":")))

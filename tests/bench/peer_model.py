"""The model of bench_gpu in PyTorch: the paper's decoder with adaptive input and softmax and four
position methods, from the same weights, written for speed.

1. Master weights are fp32. In bf16 the forward and backward passes use bf16 copies, without autocast; the
   optimiser casts gradients to fp32, updates the master weights and writes the copies.
2. Nothing waits for the host: the device chooses input bands, and the rows of each tail are lists,
   padded to 256, as a data loader provides them. A step can therefore become one CUDA graph.
3. q, k and v are one product. The head's table is the first band's, followed by the class rows.
4. Dropout has the paper's probabilities at all its sites (configs/model/wt103_247m.yaml). They are constants in the
   code, so that a compiler can use them."""
import contextlib
import json
import math
import struct

import torch
import torch.nn.functional as F

try:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
except ImportError:  # before 2.5
    create_block_mask = flex_attention = None
try:
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:  # before 2.3
    SDPBackend = sdpa_kernel = None

PAD_ROWS = 256
DROPOUT, DROPOUT_ATTENTION, DROPOUT_RELU, DROPOUT_SOFTMAX = 0.3, 0.1, 0.1, 0.2


def load_tensors(path):
    """The tensors of a safetensors file of F32."""
    with open(path, "rb") as f:
        head_bytes = struct.unpack("<Q", f.read(8))[0]
        head = json.loads(f.read(head_bytes))
        raw = bytearray(f.read())
    head.pop("__metadata__", None)
    flat = torch.frombuffer(raw, dtype=torch.float32)
    return {name: flat[t["data_offsets"][0] // 4:t["data_offsets"][1] // 4].view(t["shape"])
            for name, t in head.items()}


def off(a, b):
    """The relative difference."""
    return abs(a - b) / max(abs(b), 1e-30)


def disagreement(loss, norm, ours, tolerance):
    """A sentence if loss and norm differ from ours, else None. The loss (nats a token) may differ by the
    tolerance, the gradient norm by five times that; the norm of an evaluation is None."""
    if off(loss, ours["loss_nats"]) <= tolerance and (
            norm is None or off(norm, ours["grad_norm"]) <= 5 * tolerance):
        return None
    return "loss %.7g and norm %.7g, ours %.7g and %.7g" % (
        loss, norm or 0.0, ours["loss_nats"], ours["grad_norm"])


class Shape:
    """The sizes, from the weights, and the batch as a data loader provides it."""

    def __init__(self, tensors, position, length, tokens, heads=8):
        table = [tensors["decoder.embed_tokens.embeddings.%d.0.weight" % i] for i in range(3)]
        self.position, self.length, self.heads = position, length, heads
        self.width = table[0].shape[1]
        self.head_width = self.width // heads
        self.bands = [0, table[0].shape[0], table[0].shape[0] + table[1].shape[0], sum(t.shape[0] for t in table)]
        self.layers = 1 + max(int(n.split(".")[2]) for n in tensors if n.startswith("decoder.layers."))
        self.tokens, self.rows = tokens, tokens // length


def t5_buckets(length, buckets=32, most=128):
    """T5's bucket of each distance: exact for the first half of the buckets, then logarithmic."""
    out, exact = [], buckets // 2
    for d in range(length):
        far = exact + int(math.log(max(d, 1) / exact) / math.log(most / exact) * (buckets - exact)) if d >= exact else d
        out.append(min(far, buckets - 1))
    return torch.tensor(out)


def sinusoids(length, width):
    """Rows 2, 3, ... of the authors' table: two halves, computed in fp32."""
    half = width // 2
    rate = torch.exp(torch.arange(half, dtype=torch.float32) * -(math.log(10000.0) / (half - 1)))
    angle = torch.arange(2, length + 2, dtype=torch.float32)[:, None] * rate[None]
    return torch.cat([angle.sin(), angle.cos()], 1)


def rotary_tables(length, head_width):
    theta = 10000.0 ** (-2.0 * torch.arange(head_width // 2, dtype=torch.float64) / head_width)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * theta[None]
    return angle.cos().float(), angle.sin().float()


def rotate(x, cosine, sine):
    """Rotates adjacent pairs of (B, H, T, D) by the angle of their token, in fp32."""
    pairs = x.float().unflatten(-1, (-1, 2))
    u, w = pairs[..., 0], pairs[..., 1]
    return torch.stack([u * cosine - w * sine, w * cosine + u * sine], -1).flatten(-2).to(x.dtype)


class LinearLoss(torch.autograd.Function):
    """Sum of -log p over rows with a target, a chunk of logits at a time. The forward pass computes the
    gradients too, so that no logits are stored and none are computed twice."""

    @staticmethod
    def forward(ctx, x, table, target, rows_a_chunk):
        total = x.new_zeros((), dtype=torch.float32)
        dx, dtable = torch.empty_like(x), torch.zeros_like(table, dtype=torch.float32)
        for at in range(0, x.shape[0], rows_a_chunk):
            part = slice(at, min(at + rows_a_chunk, x.shape[0]))
            logits = F.linear(x[part], table)
            keep = target[part] >= 0
            classes = target[part].clamp(min=0)[:, None]
            wide = logits.float()
            lse = wide.logsumexp(1, keepdim=True)
            total = total + ((lse - wide.gather(1, classes))[:, 0] * keep).sum()
            is_class = torch.arange(table.shape[0], device=x.device)[None] == classes
            dlogits = (((wide - lse).exp() - is_class.float()) * keep[:, None]).to(x.dtype)
            dx[part] = dlogits @ table
            dtable += dlogits.t() @ x[part]
        ctx.save_for_backward(dx, dtable.to(table.dtype))
        return total

    @staticmethod
    def backward(ctx, grad):
        dx, dtable = ctx.saved_tensors
        return dx * grad.to(dx.dtype), dtable * grad.to(dtable.dtype), None, None


def plain_loss(x, table, target, rows_a_chunk):
    return F.cross_entropy(F.linear(x, table).float(), target, reduction="sum", ignore_index=-1)


def chunked_loss(x, table, target, rows_a_chunk):
    return LinearLoss.apply(x, table, target, rows_a_chunk)


class Model:
    """way: dict of `attention` (sdpa; flex; cudnn or efficient, a backend of sdpa's; explicit,
    two products and a softmax; where the method has a bias all but flex read it as T x T), `loss` (plain, chunked), `compile` (none, blocks, whole,
    autotune)."""

    def __init__(self, tensors, shape, dtype, device, way, dropout=False):
        self.shape, self.way, self.dtype, self.device = shape, way, dtype, device
        self.dropout = dropout
        self.names, self.masters = [], []
        s = shape
        for i in range(3):
            table = tensors["decoder.embed_tokens.embeddings.%d.0.weight" % i]
            if i == 0:
                table = torch.cat([table, tensors["decoder.adaptive_softmax.head.class_proj.weight"]])
            self.add("table%d" % i, table)
            self.add("projection%d" % i, tensors["decoder.embed_tokens.embeddings.%d.1.weight" % i])
        for i in range(s.layers):
            at = "decoder.layers.%d." % i
            for kind in ("weight", "bias"):
                self.add("%d.qkv.%s" % (i, kind), torch.cat(
                    [tensors[at + "self_attn.%s_proj.%s" % (p, kind)] for p in "qkv"]))
                for mine, theirs in (("out", "self_attn.out_proj"), ("norm1", "self_attn_layer_norm"),
                                     ("fc1", "fc1"), ("fc2", "fc2"), ("norm2", "final_layer_norm")):
                    self.add("%d.%s.%s" % (i, mine, kind), tensors[at + theirs + "." + kind])
        if s.position == "t5":
            self.add("bias", tensors["decoder.relative_attention_bias.weight"])
        self.rates = torch.zeros(2, device=device)
        self.momentum = [torch.zeros_like(m) for m in self.masters]
        self.used = [m.to(dtype).requires_grad_() for m in self.masters] if dtype != torch.float32 else \
            [m.requires_grad_() for m in self.masters]
        self.weight = dict(zip(self.names, self.used))
        self.make_positions()
        self.make_batch(tensors)
        self.make_functions()

    def add(self, name, values):
        self.names.append(name)
        self.masters.append(values.clone().to(self.device))

    def make_positions(self):
        s, device = self.shape, self.device
        self.slopes = torch.tensor([2.0 ** (-8.0 * (h + 1) / s.heads) for h in range(s.heads)], device=device)
        if s.position == "sinusoidal":
            self.sinusoids = sinusoids(s.length, s.width).to(device)
        if s.position == "rotary":
            self.cosine, self.sine = (t.to(device) for t in rotary_tables(s.length, s.head_width))
        if s.position == "t5":
            self.buckets = t5_buckets(s.length).to(device)
        if s.position == "alibi" and self.way["attention"] != "flex":
            self.alibi = self.dense_bias()
        if self.way["attention"] == "explicit":
            self.future = torch.ones(s.length, s.length, dtype=torch.bool, device=device).triu(1)
        if self.way["attention"] == "flex":
            self.mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, s.length, s.length, device=device)

    def make_batch(self, tensors):
        """Source and target, and for each tail the rows and classes of its targets."""
        s = self.shape
        source, target = (tensors[side][:s.tokens].long() for side in ("source", "target"))
        self.source = source.to(self.device)
        head = target.clone()
        self.tails = []
        for i in (1, 2):
            inside = (target >= s.bands[i]) & (target < s.bands[i + 1])
            head[inside] = s.bands[1] + i - 1
            rows = inside.nonzero()[:, 0]
            n = -(-len(rows) // PAD_ROWS) * PAD_ROWS
            classes = torch.full((n,), -1)
            classes[:len(rows)] = target[rows] - s.bands[i]
            padded = torch.zeros(n, dtype=torch.long)
            padded[:len(rows)] = rows
            self.tails.append((padded.to(self.device), classes.to(self.device)))
        self.head = head.to(self.device)

    def make_functions(self):
        whole = {"whole": "default", "autotune": "max-autotune-no-cudagraphs"}.get(self.way["compile"])
        self.block_call, self.loss_call = self.block, self.loss
        self.update_call = self.update
        if self.way["compile"] == "blocks":
            self.block_call = torch.compile(self.block)
            self.embed = torch.compile(self.embed)
            self.output = torch.compile(self.output)
        if whole:
            self.loss_call = torch.compile(self.loss, mode=whole)
        if self.way["compile"] != "none":
            self.update_call = torch.compile(self.update)

    def dense_bias(self):
        """The bias (1, H, T, T) of a method that has one, -inf above the diagonal. ALiBi's is constant."""
        s = self.shape
        at = torch.arange(s.length, device=self.device)
        distance = at[:, None] - at[None, :]
        near = distance.clamp(min=0)
        if s.position == "alibi":
            bias = -self.slopes[:, None, None] * near
        else:
            bias = self.weight["bias"][self.buckets[near]].permute(2, 0, 1).float()
        return bias.masked_fill(distance < 0, float("-inf"))[None].to(self.dtype)

    def drop(self, x, p):
        return F.dropout(x, p) if self.dropout else x

    def backend(self):
        """The backend of scaled_dot_product_attention that the variant names, or any. It is set around a whole
        step, outside the compiled code."""
        named = {"cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}.get(self.way["attention"])
        return sdpa_kernel(getattr(SDPBackend, named)) if named else contextlib.nullcontext()

    def attend(self, q, k, v, bias):
        s = self.shape
        if s.position == "rotary":
            q, k = rotate(q, self.cosine, self.sine), rotate(k, self.cosine, self.sine)
        if self.way["attention"] == "explicit":
            scores = q @ k.transpose(-2, -1) * s.head_width ** -0.5
            scores = scores.masked_fill(self.future, float("-inf")) if bias is None else scores + bias
            return self.drop(scores.softmax(-1), DROPOUT_ATTENTION) @ v
        if self.way["attention"] != "flex":
            mask = {"is_causal": True} if bias is None else {"attn_mask": bias}
            p = DROPOUT_ATTENTION if self.dropout else 0.0
            return F.scaled_dot_product_attention(q, k, v, dropout_p=p, **mask)
        slopes, table = self.slopes, bias

        def alibi(score, b, h, i, j):
            return score - slopes[h] * (i - j)

        def t5(score, b, h, i, j):
            return score + table[h, torch.clamp(i - j, min=0)]

        return flex_attention(q, k, v, score_mod=alibi if s.position == "alibi" else t5, block_mask=self.mask)

    def block(self, x, bias, n1w, n1b, qkvw, qkvb, ow, ob, n2w, n2b, f1w, f1b, f2w, f2b):
        s = self.shape
        a = F.layer_norm(x, (s.width,), n1w, n1b, 1e-5)
        q, k, v = F.linear(a, qkvw, qkvb).view(s.rows, s.length, 3, s.heads, s.head_width).permute(2, 0, 3, 1, 4)
        mixed = self.attend(q, k, v, bias).transpose(1, 2).reshape(s.rows, s.length, s.width)
        x = x + self.drop(F.linear(mixed, ow, ob), DROPOUT)
        g = F.layer_norm(x, (s.width,), n2w, n2b, 1e-5)
        u = self.drop(F.relu(F.linear(g, f1w, f1b)), DROPOUT_RELU)
        return x + self.drop(F.linear(u, f2w, f2b), DROPOUT)

    def embed(self):
        """Computes every band for every token, then selects: two more small products, but no lists."""
        s, w, x = self.shape, self.weight, None
        for i in range(3):
            inside = (self.source >= s.bands[i]) & (self.source < s.bands[i + 1])
            rows = F.embedding((self.source - s.bands[i]).clamp(0, s.bands[i + 1] - s.bands[i] - 1), w["table%d" % i])
            part = F.linear(rows, w["projection%d" % i]) * inside[:, None].to(self.dtype)
            x = part if x is None else x + part
        x = (x * math.sqrt(s.width)).view(s.rows, s.length, s.width)
        x = x + self.sinusoids.to(self.dtype) if s.position == "sinusoidal" else x
        return self.drop(x, DROPOUT)

    def output(self, x):
        s, w = self.shape, self.weight
        loss = chunked_loss if self.way["loss"] == "chunked" else plain_loss
        x = self.drop(x.reshape(s.tokens, s.width), DROPOUT_SOFTMAX)
        total = loss(x, w["table0"], self.head, 2048)
        for i, (rows, classes) in enumerate(self.tails, 1):
            narrow = self.drop(x[rows] @ w["projection%d" % i], DROPOUT_SOFTMAX)
            total = total + loss(narrow, w["table%d" % i], classes, PAD_ROWS)
        return total

    def loss(self):
        """Nats of the batch."""
        s, w, bias = self.shape, self.weight, None
        if self.way["attention"] != "flex" and s.position in ("alibi", "t5"):
            bias = self.dense_bias() if s.position == "t5" else self.alibi
        elif s.position == "t5":
            bias = w["bias"][self.buckets].t().float().contiguous()
        x = self.embed()
        for i in range(s.layers):
            parts = [w["%d.%s.%s" % (i, p, kind)] for p in ("norm1", "qkv", "out", "norm2", "fc1", "fc2")
                     for kind in ("weight", "bias")]
            x = self.block_call(x, bias, *parts)
        return self.output(x)

    def update(self, grads, rates):
        """Clip at 0.1 and NAG on the masters as the authors' trainer does; returns the norm. rates: on
        the device, the learning rate and its ratio to the one before."""
        momentum, clip = 0.99, 0.1
        lr, ratio = rates
        grads = torch._foreach_mul([g.float() for g in grads], 1.0 / self.shape.tokens)
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
        factor = torch.clamp(clip / (norm + 1e-6), max=1.0)
        with torch.no_grad():
            steps = torch._foreach_mul(grads, factor * -lr)
            torch._foreach_add_(self.masters, torch._foreach_mul(self.momentum, momentum * momentum * ratio))
            torch._foreach_add_(self.masters, torch._foreach_mul(steps, 1 + momentum))
            torch._foreach_mul_(self.momentum, momentum * ratio)
            torch._foreach_add_(self.momentum, steps)
            if self.dtype != torch.float32:
                torch._foreach_copy_(self.used, self.masters)
        return norm

    def train_step(self):
        """Loss and gradient norm, on the device. The rates stay 0, which costs what any do."""
        for w in self.used:
            w.grad = None
        with self.backend():
            loss = self.loss_call()
            loss.backward()
        return loss.detach(), self.update_call([w.grad for w in self.used], self.rates)

    def eval_step(self):
        with torch.no_grad(), self.backend():
            return self.loss_call(), torch.zeros((), device=self.device)

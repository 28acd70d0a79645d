"""Reads GGUF files: their metadata, and their tensors of the formats F32, Q4_1 and Q8_0 as fp32."""
import struct

import numpy

SCALARS = "BbHhIif?  Qqd"  # by the number of the type; 8 is a text, 9 a list
BLOCKS = {  # elements and bytes of a block, by the number of the format
    0: (1, numpy.dtype("<f4")),
    3: (32, numpy.dtype([("scale", "<f2"), ("least", "<f2"), ("nibbles", "u1", 16)])),
    8: (32, numpy.dtype([("scale", "<f2"), ("bytes", "i1", 32)])),
}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 4
        version, tensors_n, keys_n = self.scalar("I"), self.scalar("Q"), self.scalar("Q")
        assert data[:4] == b"GGUF" and version in (2, 3), "not a GGUF file of version 2 or 3"
        self.keys = {}
        for _ in range(keys_n):
            key = self.text()
            self.keys[key] = self.value(self.scalar("I"))
        self.tensors = {}
        for _ in range(tensors_n):
            name = self.text()
            shape = [self.scalar("Q") for _ in range(self.scalar("I"))][::-1]
            self.tensors[name] = shape, self.scalar("I"), self.scalar("Q")
        align = self.keys.get("general.alignment", 32)
        self.start = -(-self.at // align) * align

    def scalar(self, code):
        value = struct.unpack_from("<" + code, self.data, self.at)[0]
        self.at += struct.calcsize("<" + code)
        return value

    def text(self):
        n = self.scalar("Q")
        self.at += n
        return self.data[self.at - n : self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            kind, n = self.scalar("I"), self.scalar("Q")
            return [self.value(kind) for _ in range(n)]
        return self.scalar(SCALARS[kind])

    def tensor(self, name):
        """Returns a tensor as fp32, in the shape that PyTorch would give it: (out, in)."""
        shape, kind, offset = self.tensors[name]
        elements, block = BLOCKS[kind]
        n = int(numpy.prod(shape)) // elements
        b = numpy.frombuffer(self.data, block, n, self.start + offset)
        if kind == 3:
            q = numpy.concatenate([b["nibbles"] & 15, b["nibbles"] >> 4], axis=1).astype("f4")
            b = q * b["scale"].astype("f4")[:, None] + b["least"].astype("f4")[:, None]
        elif kind == 8:
            b = b["bytes"].astype("f4") * b["scale"].astype("f4")[:, None]
        return numpy.ascontiguousarray(b.reshape(shape), "f4")

#!/usr/bin/env python3
"""make_text.py - makes a text of the size of WikiText-103 from WikiText-2, to measure `alibi data prepare`.

The training text is repeated 50 times (540 MB, 104 million tokens); in each repetition the words but for the 4,000 most
frequent get one of nine endings, which makes about 267,000 words in all, as many as WikiText-103 has.

usage: make_text.py WIKITEXT2_FOLDER OUT_FOLDER
       time build/alibi data prepare big --text OUT_FOLDER
"""
import collections
import os
import shutil
import sys

REPETITIONS, ENDINGS, KEPT = 50, 9, 4000

source, out = sys.argv[1:]
os.makedirs(out, exist_ok=True)
with open(os.path.join(source, "train.txt"), encoding="utf-8", newline="\n") as file:
    words = file.read().split(" ")
counts = collections.Counter(words)
rare = [w for w, _ in counts.most_common()[KEPT:] if "\n" not in w and w]
with open(os.path.join(out, "train.txt"), "w", encoding="utf-8", newline="\n") as file:
    for i in range(REPETITIONS):
        ending = {w: w + str(i % ENDINGS) for w in rare} if i % ENDINGS else {}
        file.write(" ".join(map(lambda w: ending.get(w, w), words)))
for split in ("valid.txt", "test.txt"):
    shutil.copyfile(os.path.join(source, split), os.path.join(out, split))

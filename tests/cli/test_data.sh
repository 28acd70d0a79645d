#!/bin/sh
# test_data.sh - corpora from archives, URLs, word pieces, byte pairs and files of ids.
# usage: tests/cli/test_data.sh BUILD
. tests/cli/expect.sh
fixtures=$PWD/tests/fixtures/checkpoints

cd "$dir" || exit 1
mkdir wikitext-2
for split in train valid test; do cp "$fixtures/text/$split.txt" wikitext-2/wiki.$split.tokens; done
tar cf good.tar wikitext-2
hash=$(sha256sum good.tar | cut -d' ' -f1)

# A published archive has a known hash; for another file the hash must be given.
expect 0 "can be fetched: wikitext103" "$alibi" data list
expect 64 "unknown corpus" "$alibi" data fetch mycorpus
expect 66 "data fetch wikitext103" "$alibi" data prepare wikitext103
expect 65 "expected 92675f1d63015c1c" "$alibi" data fetch wikitext2 --from good.tar
expect 66 "No such file" "$alibi" data fetch wikitext2 --from none.zip
expect 64 "64 lower-case hex digits" "$alibi" data fetch wikitext2 --from good.tar --sha256 abc
[ ! -e data/fetched/wikitext2/train.txt ] || fail "a refused archive was unpacked"
expect 0 "next: alibi data prepare wikitext2" "$alibi" data fetch wikitext2 --from good.tar --sha256 "$hash"
expect 0 "already" "$alibi" data fetch wikitext2 --from none.zip
cmp data/fetched/wikitext2/valid.txt "$fixtures/text/valid.txt" || fail "the text is not the archive's"

# It is not WikiText-2 and cannot have its name.
expect 65 "train has 7347 tokens, but the public corpus has 2088628" "$alibi" data prepare wikitext2
expect 0 "7347 train" "$alibi" data prepare mytext --text data/fetched/wikitext2
[ ! -e data/wikitext2 ] || fail "a refused corpus was kept"

# By URL: complete, truncated, absent; a part is resumed.
expect 0 "in " "$alibi" data fetch wikitext2 --url "file://$dir/good.tar" --sha256 "$hash" --force
mkdir -p again/data/fetched
head -c 5000 good.tar >again/data/fetched/wikitext2.zip.part
expect 0 "in " "$alibi" data fetch wikitext2 --url "file://$dir/good.tar" --sha256 "$hash" --project again
head -c 20000 good.tar >cut.tar
expect 65 "modified, truncated" "$alibi" data fetch wikitext2 --url "file://$dir/cut.tar" --sha256 "$hash" --force
expect 69 "none.tar" "$alibi" data fetch wikitext2 --url "file://$dir/none.tar" --force
mkdir -p x/wikitext-2
tar cf bad.tar -P --transform 's,^wikitext-2,../..,' wikitext-2
expect 65 "leads out" "$alibi" data fetch wikitext2 --from bad.tar --sha256 "$(sha256sum bad.tar | cut -d' ' -f1)" --force

# Word pieces: [UNK] is <unk>, and the dictionary has the units of the text.
mkdir text
printf 'Unwanted running.\nwanted wanted zebra\n' >text/train.txt
printf 'running wanted\n' >text/valid.txt
printf 'unwanted\n' >text/test.txt
printf '[UNK]\nun\nwant\n##want\n##ed\nrunn\n##ing\n.\n' >vocab.txt
expect 0 "16 words" "$alibi" data prepare pieces --text text --vocab-file vocab.txt
expect 0 "##ed 3" cat data/pieces/dict.txt
expect 0 "13 train" "$alibi" data list
expect 73 "units=wordpiece" "$alibi" data prepare pieces --text text
expect 66 "none.txt" "$alibi" data prepare pieces2 --text text --vocab-file none.txt

# Ids of 2 bytes, 9 ends a line; and a given dictionary.
mkdir ids
for split in train valid test; do printf '\001\000\002\000\001\000\011\000\002\000\011\000' >ids/$split.bin; done
expect 0 "8 words             6 train" "$alibi" data prepare numbers --ids ids --id-end 9
expect 66 "contains no train.bin" "$alibi" data prepare numbers2 --ids text
expect 0 "208 words" "$alibi" data prepare given --text text --dict "$fixtures/dict.txt"
cmp data/given/dict.txt "$fixtures/dict.txt" || fail "the dictionary given was changed"
expect 64 "cannot be combined with --vocab" "$alibi" data prepare given2 --text text --dict "$fixtures/dict.txt" --vocab 100
expect 64 "requires --vocab-file" "$alibi" data prepare given2 --text text --merges vocab.txt

finish

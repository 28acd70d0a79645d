#!/bin/sh
# test_data.sh - corpora from archives, URLs, word pieces, byte pairs and files of ids: golden/data.txt.
# usage: tests/cli/test_data.sh BUILD
. tests/cli/expect.sh
fixtures=$PWD/tests/fixtures/checkpoints

cd "$dir" || exit 1
mkdir wikitext-2 text ids tok
for split in train valid test; do
    cp "$fixtures/text/$split.txt" wikitext-2/wiki.$split.tokens
    printf '\001\000\002\000\001\000\011\000\002\000\011\000' >ids/$split.bin
done
archive() { tar cf "$@" --format=ustar --mode=644 --mtime=@0 --owner=0 --group=0 --sort=name wikitext-2 && sha256sum "$1" | cut -d' ' -f1; }
hash=$(archive good.tar)
mkdir -p again/data/fetched
head -c 5000 good.tar >again/data/fetched/wikitext2.zip.part
head -c 20000 good.tar >cut.tar
mkdir -p configs/data
cat >configs/data/few.yaml <<Y
data: { dataset: few, corpus: few, vocab: 64, train_tokens: 7347, valid_tokens: 640, test_tokens: 581 }
source: { title: The 60 most frequent words, text: wikitext2 }
Y
bad=$(archive bad.tar -P --transform 's,^wikitext-2,../..,')
printf 'Unwanted running.\nwanted wanted zebra\n' >text/train.txt
printf 'running wanted\n' >text/valid.txt
printf 'unwanted\n' >text/test.txt
printf '[UNK]\nun\nwant\n##want\n##ed\nrunn\n##ing\n.\n' >vocab.txt
cat >tok/tokenizer.json <<'J'
{"model": {"type": "BPE", "unk_token": "?", "vocab": {"<s>": 0, "a": 1, "b": 2, " ": 3, "?": 4, "ab": 5}, "merges": ["a b"]},
 "added_tokens": [{"id": 0, "content": "<s>", "special": true}]}
J
mkdir other
sed 's/"ab": 5/"ab": 5, "c": 6/' tok/tokenizer.json >other/tokenizer.json
printf '{"bos_token": "<s>"}' >tok/tokenizer_config.json
printf 'ab ba\n' >one.txt
printf ' b\351' >latin.txt
cp -r "$source/tests/fixtures/open/tokenizer_gaps_digits" gaps
printf 'a\004b \360\277\200\200\n' >gaps.txt # U+3F000, which no version of Unicode has yet
transcript data.txt

# A small tokenizer.json that expands to gigabytes: an added token that is normalized, a text, a template.
case $alibi in */asan/alibi) limit=unlimited ;; *) limit=1000000 ;; esac # a sanitizer's shadow memory takes more
hostile() { # NAME WORDS; parts of the file on stdin
    mkdir "$1" && cp tok/tokenizer_config.json "$1"
    { printf '{' && cat && tail -c +2 tok/tokenizer.json | sed 's/"content": "<s>"/&, "normalized": true/'; } >"$1/tokenizer.json"
    expect 65 "$2" sh -c "ulimit -v $limit; exec \"\$0\" data prepare $1 --tokenizer $1 --text one.txt" "$alibi"
}
repeat() { yes "$2" | head -n "$1" | tr '\n' ,; } # N TEXT
steps() { echo "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [$(repeat "$1" "$2")$2]},"; }
steps 6 '{"type": "Replace", "pattern": {"String": "s"}, "content": "ssssssssssssssssssssssssssssssss"}' |
    hostile h-added "added_tokens\[0\]: the tokenizer expands a text"
steps 30 '{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}' |
    hostile h-text "one.txt: the tokenizer expands a text to more than"
{
    printf '"post_processor": {"type": "TemplateProcessing", "special_tokens": {"b": {"ids": [%s1]}},' "$(repeat 20000 1)"
    printf '"single": [%s{"Sequence": {"id": "A"}}]},' "$(repeat 20000 '{"SpecialToken": {"id": "b"}}')"
} | hostile h-template "the templates add more than 64 ids to a text"
expect 69 "no URL of wikitext2 can be reached; .* pass --from FILE: .*none.tar" "$alibi" data fetch wikitext2 --url "file://$dir/none.tar" --force
finish

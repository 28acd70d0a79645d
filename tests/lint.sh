#!/bin/bash
# lint.sh - the rules a program can check: layers, headers that compile alone, calls, format, banned calls, lengths.
# Prints one line a finding and exits 1 if there is any. Run from the repository root.
set -u
findings=0
say() {
    echo "$*"
    findings=$((findings + 1))
}

# A folder may include its own headers and those of the folders in its row.
declare -A may=(
    [base]="" [position]="base" [spec]="base position" [record]="base spec" [shape]="base position spec"
    [group]="base" [backend]="base group" [check]="base group backend" [cpu]="base group backend" [cuda]="base group backend" [ops]="base backend"
    [data]="base" [synthetic]="base" [prepare]="base data synthetic tokenizer" [fetch]="base"
    [plan]="base position spec shape" [store]="base position spec record shape" [model]="base group position spec shape backend ops"
    [interchange]="base position spec record shape" [tokenizer]="base" [pretrained]="base position spec shape interchange"
    [source]="base spec record shape interchange pretrained"
    [worker]="base group position spec record shape backend ops data model interchange source"
    [scheduler]="base spec record shape store" [report]="base spec store"
    [workflow]="base position spec record shape data synthetic prepare fetch plan store model interchange tokenizer pretrained source worker scheduler report"
    [cli]="base spec record data prepare fetch plan store backend ops cpu check worker scheduler report workflow"
)
# Libraries that a folder may use, by the first part of an include in angle brackets. interchange reads the zip files of
# PyTorch with libarchive, which handles 64-bit sizes, checksums and damage.
declare -A libraries=(
    [base]="openssl jansson" [record]="jansson" [plan]="yaml" [store]="sqlite3 jansson" [report]="jansson" [fetch]="curl archive"
    [interchange]="jansson archive" [pretrained]="jansson" [tokenizer]="jansson pcre2 utf8proc" [prepare]="jansson" [workflow]="jansson" [cpu]="omp"
)
known="openssl jansson yaml sqlite3 omp curl archive pcre2 utf8proc"

for file in src/*/*.[ch] cuda/*.[ch] cuda/*.cu cuda/*.cuh; do
    folder=${file#src/}
    folder=${folder%%/*}
    [ -n "${may[$folder]+set}" ] || { say "$file: folder src/$folder has no row in tests/lint.sh"; continue; }
    while read -r target; do
        case " $folder ${may[$folder]} " in
        *" $target "*) ;;
        *) say "$file: includes $target/, which src/$folder may not" ;;
        esac
    done < <(sed -nE 's/^#include "([a-z_]+)\/.*/\1/p' "$file" | sort -u)
    for library in $known; do
        grep -qE "^#include <$library[./]" "$file" || continue
        case " ${libraries[$folder]:-} " in
        *" $library "*) ;;
        *) say "$file: includes <$library…>, which src/$folder may not" ;;
        esac
    done
done

# src/README.md has a row for every folder, and names files that exist.
for folder in src/*/; do
    row=$(grep -F "| \`$(basename "$folder")\` |" src/README.md) || say "src/README.md: no row for $folder"
    for name in $(echo "$row" | grep -oE '`[a-z_]+\.(c|h|sql)`' | tr -d '`'); do
        [ -e "$folder$name" ] || say "src/README.md: $folder$name does not exist"
    done
done

# No file has the markers of an unresolved merge.
git grep -nE '^(<{7}|>{7}|\|{7})( |$)' && say "conflict markers above"

# Documents and comments name files that exist. A word in capitals (NAME, RUN) is a placeholder; a program is named without .c.
while IFS=: read -r file line path; do
    [[ $path =~ /[A-Z]+([./-]|$) ]] || compgen -G "$path" >/dev/null || compgen -G "$path.c" >/dev/null || say "$file:$line: $path does not exist"
done < <(git ls-files '*.md' '*.txt' src cuda configs experiments Makefile .ci | grep -vE '^tests/(.*/golden|fixtures)/|\.mk$' |
    xargs grep -noHP '(?<![\w./~-])(src|cuda|configs|experiments|tests)/[\w.*-]*[\w*](/[\w.*-]*[\w*])*')
while IFS=: read -r file line path; do
    [ -e "$(dirname "$file")/$path" ] || say "$file:$line: the link $path does not exist"
done < <(git ls-files '*.md' | xargs grep -noHP '\]\(\K(?!https?:|#)[^)#]+')

# A link to a section names a heading of its document: in lower case, without punctuation, with dashes for spaces.
anchors() { # FILE
    sed -nE '/^```/,/^```/d; s/^#+ //p' "$1" | sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/[\`*]//g' | LC_ALL=C.UTF-8 tr '[:upper:]' '[:lower:]' |
        LC_ALL=C.UTF-8 sed -E 's/[^[:alnum:]_ -]//g; s/ /-/g'
}
while IFS=: read -r file line path; do
    target=${path%%#*}
    target=${target:+$(dirname "$file")/$target}
    target=${target:-$file}
    [ ! -f "$target" ] || anchors "$target" | grep -qxF -- "${path#*#}" || say "$file:$line: the link $path names no heading"
done < <(git ls-files '*.md' | xargs grep -noHP '\]\(\K(?!https?:)[^)#]*#[^)]+')

# Documents have lines of at most 160 characters, except rows of tables, which Markdown cannot wrap.
git ls-files '*.md' | LC_ALL=C.UTF-8 xargs grep -nHP '^[^|].{160}' | cut -d: -f1,2 >/tmp/lint.$$
while read -r line; do say "$line: a line of more than 160 characters"; done </tmp/lint.$$
rm -f /tmp/lint.$$

# experiments/README.md explains every key of table.txt.
for key in $(sed -nE 's/^    \{"([a-z]+)", read_.*/\1/p' src/report/layout.c); do
    grep -qE "^\|.*\`$key:\`.* \|" experiments/README.md || say "experiments/README.md: no row for the key $key: of table.txt"
done

# A variable that changes what the program does is in the table of src/README.md.
while read -r name; do
    grep -q "^| .$name.:" src/README.md || say "src/README.md: the table of variables lacks $name"
done < <(grep -rhoE '"ALIBI_[A-Z]+[A-Z_]*"' src cuda --include='*.[ch]' | tr -d '"' | sort -u)

# The program calls every public function: its name occurs in code, outside comments, also where it is not declared or defined.
# Names that macros build, such as cli_##id, count if their parts occur. Exceptions, which only tests and measurements call:
#   model_bytes        the memory that a model took, which the predictions of src/shape are compared with
#   model_keep_inner   the streams between layers, which are compared with the authors' code
#   cpu_use_library    gives every product to the library, so that it is tested
#   store_ingest       a record without a worker's folder, from which the fixtures make results
only_tests="model_bytes model_keep_inner cpu_use_library store_ingest"
while read -r place name; do
    case " $only_tests " in
    *" $name "*) ;;
    *) say "$place: nothing in src or cuda calls $name; delete it, or make it static" ;;
    esac
done < <(awk '
    FNR == 1 { inside = 0 }
    {
        line = $0
        text = ""
        while (line != "") { # without comments
            at = index(line, inside ? "*/" : "/*")
            if (!inside) text = text (at ? substr(line, 1, at - 1) : line)
            line = at ? substr(line, at + 2) : ""
            if (at) inside = !inside
        }
        sub(/\/\/.*/, "", text)
        gsub(/extern "C" /, "", text)
        own = ""
        if (text ~ /^[a-zA-Z_][a-zA-Z0-9_ ]*[ *]+[a-z_][a-zA-Z0-9_]*\(/ && text !~ /^(static|typedef|return|else|extern) / && text !~ /=/) {
            own = text
            sub(/\(.*/, "", own)
            sub(/.*[ *]/, "", own)
            if (FILENAME ~ /\.(c|cu)$/ && text !~ /;$/) place[own] = FILENAME ":" FNR
        }
        while (match(text, /[a-zA-Z_][a-zA-Z0-9_]*(##)?/)) {
            word = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            if (sub(/##$/, "", word)) pasted[word] = 1
            else if (word == own) own = ""
            else used[word] = 1
        }
    }
    END {
        for (name in place) {
            found = name in used
            for (prefix in pasted)
                if (index(name, prefix) == 1 && substr(name, length(prefix) + 1) in used) found = 1
            if (!found) print place[name], name
        }
    }' src/*/*.[ch] cuda/*.[ch] cuda/*.cu cuda/*.cuh)

# Headers compile alone as C17; those that CUDA or C++ includes also as C++17.
for header in src/*/*.h; do
    gcc -std=c17 -D_GNU_SOURCE -Isrc -Wall -Wextra -Werror -fsyntax-only -x c "$header" || say "$header: does not compile alone as C17"
done
for header in src/backend/backend.h src/base/err.h src/base/philox.h; do
    g++ -std=c++17 -D_GNU_SOURCE -Isrc -Wall -Wextra -Werror -fsyntax-only -x c++ "$header" || say "$header: does not compile alone as C++17"
done

# Banned calls, and words that do not belong in a finished tree.
banned='\b(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|atof|alloca|system|popen|rand|srand|strtok|tmpnam)\s*\('
grep -nE "$banned" src/*/*.[ch] | grep -vE '^[^:]*:[0-9]+: *(/?\*|//)' && say "banned calls above"
grep -nE '\bexit\s*\(' src/*/*.c | grep -vE '^src/cli/main\.c:|_exit\s*\(' && say "exit outside main.c above"
grep -nE '(^|[^_[:alnum:]])printf\(' src/cli/command_*.c | grep -vF 'printf("\033' && say "printf above: commands print with cli_print, which escapes control characters"
grep -nE '\bSPEC_(TRAINED|AUTHORS|PRETRAINED)\b' src/*/*.[ch] cuda/* | grep -vE '^src/(spec|source|pretrained)/' &&
    say "origins of weights above: ask spec_is_source, spec_is_pretrained or source_is_folder"
grep -nE 'ifdef.*CUDA' src/*/*.[ch] | grep -v '^src/base/philox.h:' && say "shared code that tests for CUDA above"
grep -rnE '(/\*|//|^ *\*) *(Of|What|Where) ' src cuda --include='*.[ch]' --include='*.cu' --include='*.cuh' && say "comments above that begin with Of, What or Where: begin with a verb or a noun"
grep -rnE '\b(TODO|FIXME|XXX)\b|[Nn]ot implemented|[Pp]laceholder' src cuda configs experiments && say "unfinished words above"

# In a debugger a name says what a function does, and to what: find_key, not find.
verbs='add|append|apply|ask|begin|bind|build|call|check|choose|close|collect|compare|copy|describe|draw|emit|end|exchange|fetch|fill|find|finish|get|hash|join|keep|load|lock|match|next|open|parse|prepare|put|query|read|real|record|report|reset|resolve|run|save|score|send|set|start|step|take|tick|wait|watch|write'
grep -nE "^static .*[ *]($verbs)\(" src/*/*.[ch] cuda/*.[ch] cuda/*.cu cuda/*.cuh tests/*/*.[ch] && say "static functions above named by a verb alone: add what they act on"

# Lengths: functions up to 60 lines (a C function ends at a closing brace in the first column), kernels up to 120. Files that
# are very short or very long are listed for review and are not findings.
for file in src/*/*.[ch] cuda/*.[ch] cuda/*.cu cuda/*.cuh; do
    lines=$(wc -l <"$file")
    [ "$lines" -ge 40 ] && [ "$lines" -le 1500 ] || echo "review: $file has $lines lines"
done
for file in cuda/*.cu cuda/*.cuh; do
    awk -v file="$file" '/^\{/ { start = NR } /^\}/ && start { if (NR - start - 1 > 120) printf "%s:%d: kernel of %d lines, more than 120\n", file, start, NR - start - 1; start = 0 }' "$file"
done | while read -r line; do echo "$line"; done >/tmp/lint.$$
while read -r line; do say "$line"; done </tmp/lint.$$
for file in src/*/*.c cuda/*.c; do
    awk -v file="$file" '/^\{/ { start = NR } /^\}/ && start { if (NR - start - 1 > 60) printf "%s:%d: function of %d lines, more than 60\n", file, start, NR - start - 1; start = 0 }' "$file"
done | while read -r line; do echo "$line"; done >/tmp/lint.$$
while read -r line; do say "$line"; done </tmp/lint.$$
rm -f /tmp/lint.$$

if command -v clang-format >/dev/null 2>&1; then
    printf '%s\n' src/*/*.[ch] tests/*/*.[ch] cuda/*.[ch] cuda/*.cu cuda/*.cuh | xargs -n 32 -P "$(nproc)" clang-format --dry-run -Werror 2>/tmp/lint.$$ || say "$(grep -c 'error:' /tmp/lint.$$) places are not formatted; run make format"
    grep 'error:' /tmp/lint.$$ | cut -d: -f1 | sort | uniq -c | sort -rn | head -5
    rm -f /tmp/lint.$$
else
    echo "skipped: clang-format is not installed"
fi

echo "lint: $findings findings"
[ $findings -eq 0 ]

#!/bin/sh
# pack.sh - packs alibi, with everything it needs on a machine without packages, as one archive.
# usage: tests/bundle/pack.sh BUILD PROGRAM…     writes BUILD/alibi-bundle.tar.xz
#
# A program BUILD/x/y becomes alibi-bundle/libexec/y. Two links to `launch` run it: build/x/y, where
# scripts expect it, and bin/y, beside which the program looks for its libraries. The libraries are
# all that these programs and the BLAS need, with glibc and its loader.
set -eu
build=$1
shift
here=$(dirname "$0")
name=alibi-bundle
out=$build/bundle/$name

rm -rf "$build/bundle"
mkdir -p "$out/lib" "$out/libexec" "$out/bin" "$out/build" "$out/tests/bench" "$out/tests/fixtures"
cp "$here/README" "$out/"
ln -s launch "$out/alibi"

for program in "$@"; do
    inside=${program#"$build"/}
    case $program in
    *.so)
        cp "$program" "$out/lib/"
        continue
        ;;
    esac
    [ ! -e "$out/libexec/${inside##*/}" ] || { echo "pack.sh: two programs of the name ${inside##*/}" >&2; exit 70; }
    strip --strip-debug -o "$out/libexec/${inside##*/}" "$program"
    ln -s ../launch "$out/bin/${inside##*/}"
    mkdir -p "$out/build/$(dirname "$inside")"
    ln -s "$(dirname "build/$inside" | sed 's,[^/]*,..,g')/launch" "$out/build/$inside"
done

# needed FILE… - the libraries that files need, as the loader finds them here, and the loader.
needed() { ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/.*ld-linux/ { print $1 }' | sort -u; }
for library in $(needed "$out"/libexec/*); do cp -L "$library" "$out/lib/"; done
# oneDNN, which the program opens by name, if it is installed here.
blas=$(ls /usr/lib/x86_64-linux-gnu/libdnnl.so.2 /usr/lib/x86_64-linux-gnu/libdnnl.so.3 /usr/lib/x86_64-linux-gnu/libdnnl.so.3.6 2>/dev/null | head -n 1)
[ -z "$blas" ] || for library in "$blas" $(needed "$blas"); do cp -L "$library" "$out/lib/"; done
cp "$here/launch" "$out/"
[ -e "$out/lib/libalibi_cuda.so" ] || echo "pack.sh: this build has no libalibi_cuda.so; the bundle is for CPUs only" >&2

cp -r configs experiments "$out/"
cp tests/check_gpu.sh tests/legs.sh "$out/tests/"
cp "$here/pack_results.sh" "$out/pack-results.sh"
cp tests/bench/bench_gpu.sh tests/bench/peer_torch_gpu.py tests/bench/peer_model.py "$out/tests/bench/"
cp -r tests/fixtures/oracle tests/fixtures/open "$out/tests/fixtures/"
for script in check_gpu bench/bench_gpu; do
    short=$(basename $script | tr _ -).sh
    # shellcheck disable=SC2016 # for the script that is written
    printf '#!/bin/sh\n# usage: %s [DEVICE]\ncd "$(dirname "$0")" && exec sh tests/%s.sh build "$@"\n' "$short" $script >"$out/$short"
done
chmod +x "$out"/*.sh "$out/launch"
# The kernel tests contain the same kernels; a dictionary of 128 MiB stores them once.
tar -C "$build/bundle" --sort=name -cf - $name | xz --lzma2=preset=3,dict=128MiB -T0 >"$build/$name.tar.xz"
echo "$build/$name.tar.xz: $(($(wc -c <"$build/$name.tar.xz") / 1048576)) MiB, $(ls "$out/lib" | wc -l) libraries, $(ls "$out/libexec" | wc -l) programs"

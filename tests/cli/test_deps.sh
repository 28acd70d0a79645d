#!/bin/sh
# test_deps.sh - which packages make deps installs. dpkg, apt and sudo are stubs.
# usage: tests/cli/test_deps.sh BUILD
. tests/cli/expect.sh

mkdir "$dir/bin"
cat >"$dir/stub" <<'SH'
#!/bin/sh
case $(basename "$0"):$* in
dpkg-query:*) case " $INSTALLED " in *" ${*##* } "*) printf installed ;; *) exit 1 ;; esac ;;
apt-cache:*) case " $KNOWN " in *" ${*##* } "*) ;; *) exit 100 ;; esac ;;
apt-get:*install*) printf '%s\n' "$*" >>"$CALLS" ;;
sudo:*) exec "$@" ;;
esac
SH
chmod +x "$dir/stub"
for program in dpkg-query apt-cache apt-get sudo; do cp "$dir/stub" "$dir/bin/$program"; done
export PATH="$dir/bin:$PATH" CALLS="$dir/calls" INSTALLED="gcc two" KNOWN="gcc make three"
deps() { rm -f "$CALLS"; expect "$1" "$2" sh tests/deps.sh $3; }

deps 0 "every package is installed" "gcc one|two"
[ ! -e "$CALLS" ] || fail "installs what is there: $(cat "$CALLS")"
deps 0 "deps: installing make three" "gcc make two|three four|three"
deps 0 "deps: apt does not know unheard-of: left out" "make unheard-of"
grep -q " make$" "$CALLS" || fail "a name that apt does not know ends the installation"
deps 69 "apt does not know five|six: left out" "five|six"
finish

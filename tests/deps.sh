#!/bin/sh
# deps.sh - installs missing Debian packages, as root or with sudo; otherwise prints the command to run.
# usage: tests/deps.sh PACKAGE...     A|B: either; the first that apt knows is installed
set -eu

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
is_known() { apt-cache show "$1" >/dev/null 2>&1; }
first() { # TEST A|B: the first name that passes
    for name in $(echo "$2" | tr '|' ' '); do if "$1" "$name"; then echo "$name" && return; fi; done
}

missing=
for package in "$@"; do [ -n "$(first is_installed "$package")" ] || missing="$missing $package"; done
[ -n "$missing" ] || { echo "deps: every package is installed"; exit 0; }

if ! command -v apt-get >/dev/null 2>&1; then
    echo "deps: this is not Debian or Ubuntu; install the equivalents of:$missing" >&2
    exit 69
fi
as_root=''
may_install=1
if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    command -v sudo >/dev/null 2>&1 || may_install=
fi
export DEBIAN_FRONTEND=noninteractive
[ -z "$may_install" ] || $as_root apt-get update -qq

# One name that apt does not know would fail the whole installation.
known=
for package in $missing; do
    name=$(first is_known "$package")
    [ -n "$name" ] || echo "deps: apt does not know $package: left out" >&2
    known="$known${name:+ $name}"
done
if [ -z "$may_install" ]; then
    echo "deps: not root and no sudo; have an administrator run: apt-get install -y$known" >&2
    exit 69
fi
[ -n "$known" ] || exit 69
echo "deps: installing$known"
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $known >/dev/null

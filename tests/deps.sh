#!/bin/sh
# deps.sh - installs missing Debian packages, as root or with sudo; otherwise prints the command to run.
# usage: tests/deps.sh PACKAGE...
set -eu

missing=
for package in "$@"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || { echo "deps: every package is installed"; exit 0; }

if ! command -v apt-get >/dev/null 2>&1; then
    echo "deps: this is not Debian or Ubuntu; install the equivalents of:$missing" >&2
    exit 69
fi
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "deps: not root and no sudo; have an administrator run: apt-get install -y$missing" >&2
    exit 69
fi
echo "deps: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null

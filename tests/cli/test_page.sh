#!/bin/sh
# test_page.sh - the page of all artefacts in a browser: well formed, small, without console messages, no wider than a phone, readable in
# the dark, printable. Checks that need headless Chromium are reported as skipped if it is not installed.
# usage: tests/cli/test_page.sh BUILD
. tests/cli/expect.sh
checks=$(cd "$1" && pwd)/tests/report

mkdir "$dir/paper" "$dir/browser"
expect 0 "" "$checks/fake_results" "$dir/paper"
page=$dir/paper/report.html
expect 0 "report.html" "$alibi" report all --scale paper --format html --out "$page" --project "$dir/paper"
expect 0 "ok" "$checks/check_page" "$page"
if command -v xmllint >/dev/null; then expect 0 "" xmllint --noout --nonet "$page"; fi
[ "$(wc -c <"$page")" -lt 3500000 ] || fail "the page has $(wc -c <"$page") bytes"
artefacts=$(ls experiments/*/grid.yaml | grep -vc open_models) # whose models are not here
[ "$(grep -c '<section class="artefact"' "$page")" -eq "$artefacts" ] || fail "$artefacts artefacts are not all there"
grep -q '<img id="f-figure1"' "$page" || fail "Figure 1 is not in the page"

# A user's folder with special characters in path, title and README: the page is valid, and the command can be pasted.
odd="$dir/my <b> & 'grids\"/odd"
mkdir -p "$odd"
sed -e 's/^artefact:.*/artefact: odd/' -e 's/^title:.*/title: "<\/title><script>alert(1)<\/script>"/' \
    experiments/table13/grid.yaml >"$odd/grid.yaml"
printf '# <script>\n\n**Claim <b>&.**\n' >"$odd/README.md"
expect 0 "odd.html" "$alibi" report "$odd" --format html --out "$dir/paper/odd.html" --project "$dir/paper"
expect 0 "ok" "$checks/check_page" "$dir/paper/odd.html"
grep -q "<h1>&lt;/title&gt;" "$dir/paper/odd.html" || fail "a page without the paper's numbers has another title than its grid's"
expect 0 "'/.*/my <b> & '.''grids\"/odd' --scale mini" "$alibi" report "$odd" --project "$dir/paper"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
    finish || exit 1
    echo "chromium is not installed: the page was not looked at in a browser"
    exit 77
fi
# browse arguments...: a headless start with a fresh profile; console messages are in $dir/console
browse() {
    sandbox=
    [ "$(id -u)" -eq 0 ] && sandbox=--no-sandbox # Chromium refuses to run as root otherwise
    timeout 120 "$browser" --headless --disable-gpu --user-data-dir="$dir/browser" --enable-logging=stderr \
        --virtual-time-budget=2000 $sandbox "$@" 2>"$dir/console"
}

# Unchanged, in the dark: nothing is blocked, nothing fails.
browse --window-size=1280,900 --blink-settings=preferredColorScheme=0 --screenshot="$dir/page.png" "file://$page" >"$dir/out"
[ -s "$dir/page.png" ] || { fail "no picture of the page"; cat "$dir/console"; }
if grep -q "CONSOLE" "$dir/console"; then fail "the console says:"; grep -m 3 "CONSOLE" "$dir/console"; fi

# A copy that measures itself in a frame as wide as a phone, in the dark: its own policy would forbid the script.
{
    sed -e 's/<meta http-equiv[^>]*>//' -e 's/<\/body>.*//' "$page"
    cat <<'J'
<script>
const root = document.documentElement;
const image = [...document.querySelectorAll('.figure img')].find(i => i.offsetWidth); // that for a phone
const text = 12 * image.offsetWidth / image.naturalWidth; // the least text of a figure has 9 points
parent.postMessage(` width ${innerWidth} over ${Math.max(0, root.scrollWidth - innerWidth)}` +
    ` text ${text >= 8 ? 'readable' : text} ground ${getComputedStyle(document.body).backgroundColor} `, '*');
</script></body></html>
J
} >"$dir/paper/measured.html"
cat >"$dir/paper/phone.html" <<'H'
<!DOCTYPE html><body><script>onmessage = m => { document.body.id = 'measured'; document.body.textContent = m.data; }</script>
<iframe src="measured.html" style="width:390px;height:844px;border:0"></iframe></body>
H
browse --blink-settings=preferredColorScheme=0 --dump-dom "file://$dir/paper/phone.html" >"$dir/out"
said=$(grep 'id="measured"' "$dir/out")
for word in "width 390" "over 0" "text readable" "ground rgb(20, 23, 27)"; do
    case $said in *" $word "*) ;; *) fail "measured at 390 points: no '$word' in: $said" ;; esac
done

# On paper nothing is cut and the list of runs is left out, so the PDF has pages.
expect 0 "" "$alibi" report table1 --scale paper --format html --out "$dir/paper/one.html" --project "$dir/paper"
browse --no-pdf-header-footer --print-to-pdf="$dir/page.pdf" "file://$dir/paper/one.html" >"$dir/out"
grep -aq "/Type */Page\b" "$dir/page.pdf" || fail "no page of paper"
finish

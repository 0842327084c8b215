#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
#
# Processes of many kinds that are forked by a zygote, threads, and an allocator of its own behind
# malloc.
. "$(dirname "$0")/real.sh"
browser=$(compgen -c chromium | grep -xE 'chromium(-headless-shell)?' | sort -r | head -1)
needs "${browser:-chromium}"

cat >"$real_input/page.html" <<'END'
<!doctype html><title>page</title><style>li:nth-child(3n) { color: red; font-size: 2em }</style><ul id=u></ul><p id=p>
<script>
for (let i = 0; i < 300; i++) { const l = document.createElement('li'); l.textContent = 'item ' + i * 7; u.append(l) }
p.textContent = JSON.stringify([...'unicode: αβγ'].map(c => c.codePointAt(0))) + document.querySelectorAll('li').length;
p.style.width = '300px'; p.dataset.height = p.getBoundingClientRect().width;
</script>
END
# Its standard error has times, process ids, and complaints about what a server lacks.
work() {
	$geiger "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/user" \
		--virtual-time-budget=2000 --dump-dom "file://$real_input/page.html" 2>errors
}
real_ignore=(user errors)
# Its malloc is its own, inside the program, so that there may be nothing to sample.
real_least=0
same chromium_renders_a_page work
finish

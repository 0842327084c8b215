# SPDX-License-Identifier: Apache-2.0
#
# A thin front for script/ and meson; see docs/HACKING.md.

#   make bench BENCH='stats unwind'    only these
#   make bench-peers PEERS='--rounds 3'

.PHONY: all bench bench-peers check san format install uninstall clean

all:
	@script/build release

check:
	@script/test

san:
	@script/test --build asan
	@script/test --build tsan

bench: all
	@meson test -C build/release --benchmark --verbose --num-processes 1 $(BENCH) | \
		grep -vE '^(ninja|[0-9]+/[0-9]+ |Ok:|Expected|Fail:|Unexpected|Skipped|Timeout|Full log|$$)'

# geiger beside other heap profilers; PEERS: options of bench/peers/measure.
bench-peers: all
	@script/bootstrap peers
	@ninja -C build/release --quiet peers
	@bench/peers/measure $(PEERS)
	@bench/peers/write

format:
	@script/format

install: all
	meson install -C build/release --no-rebuild

uninstall:
	ninja -C build/release uninstall

clean:
	rm -rf build

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # functions are called through check
#
# test_install.sh BUILD - what `meson install` of that build folder installs is all there, works
# from any folder, and goes away again.
. tests/test.sh

listing=$PWD/CHANGELOG.md # to be sorted
build=$(realpath "$1")
root=$scratch/root
prefix=$(meson introspect --buildoptions "$build" |
	python3 -c 'import json, sys; print({o["name"]: o["value"] for o in json.load(sys.stdin)}["prefix"])')
libdir=$(meson introspect --buildoptions "$build" |
	python3 -c 'import json, sys; print({o["name"]: o["value"] for o in json.load(sys.stdin)}["libdir"])')
export GEIGER_DIR=$scratch/regions
mkdir "$GEIGER_DIR"

# Meson keeps the list of what was installed last, for uninstalling: that is not to be ours.
log=$build/meson-logs/install-log.txt
[[ ! -f $log ]] || cp -p "$log" "$scratch/install-log.txt"
forget() {
	rm -f "$log"
	[[ ! -f $scratch/install-log.txt ]] || cp -p "$scratch/install-log.txt" "$log"
	rm -rf "$scratch"
}
trap forget EXIT

installs() {
	meson install -C "$build" --no-rebuild --quiet --destdir "$root"
}

# Once each: a file of every kind.
all_is_there() {
	local file missing=0
	for file in bin/geiger "$libdir"/{libgeiger-agent.so,libgeiger-compat.so,libgeiger-python.so,libgeiger.a,libgeiger.so,libgeiger.so.0} \
		"$libdir/pkgconfig/geiger.pc" include/geiger/{bump,geiger}.h \
		share/bash-completion/completions/geiger share/zsh/site-functions/_geiger share/doc/geiger/{README.md,docs/AGENT.md}; do
		[[ -e $root$prefix/$file ]] && continue
		echo "not installed: $file"
		missing=1
	done
	[[ ! -e $root$prefix/$libdir/libgeiger-agent-chaos.so ]] || missing=1
	if command -v scdoc >/dev/null; then
		while read -r file; do
			[[ -s $root$prefix/share/man/man1/$file.1 ]] || missing=1
		done < <("$build/src/geiger" help --list)
		[[ -s $root$prefix/share/man/man3/libgeiger.3 && -s $root$prefix/share/man/man7/geiger-agent.7 ]] ||
			missing=1
	fi
	return "$missing"
}

# From a folder of its own, with nothing of the build folder.
records_from_elsewhere() (
	mkdir -p "$scratch/elsewhere"
	cd "$scratch/elsewhere" || return
	PATH=$root$prefix/bin:$PATH
	[[ $(geiger env) == *"LD_PRELOAD=$root$prefix/$libdir/libgeiger-agent.so"* ]] &&
		geiger record -q -i 1k -o a.geiger sort "$listing" >sorted &&
		cmp sorted <(sort "$listing") &&
		geiger check a.geiger &&
		geiger report --metric allocated --head a.geiger | grep 'samples, 95 %'
)

# Also from a place that nobody told it of when it was built.
records_when_it_was_moved() (
	mv "$root" "$scratch/moved"
	cd "$scratch/elsewhere" || return
	"$scratch/moved$prefix/bin/geiger" record -q -i 1k -o b.geiger sort "$listing" >/dev/null &&
		"$scratch/moved$prefix/bin/geiger" check b.geiger
	status=$?
	mv "$scratch/moved" "$root"
	exit "$status"
)

# With flags as pkg-config gives them, linked to the shared library and to the static one.
embeds() (
	export PKG_CONFIG_LIBDIR=$root$prefix/$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
	export LD_LIBRARY_PATH=$root$prefix/$libdir
	read -ra cflags < <(pkg-config --cflags geiger)
	read -ra shared < <(pkg-config --libs geiger)
	read -ra static < <(pkg-config --libs --static geiger)
	printf '#include <geiger/geiger.h>\n#include <stdio.h>\nint main(void) { puts(geiger_version()); }\n' \
		>"$scratch/program.c"
	cc "${cflags[@]}" "$scratch/program.c" -o "$scratch/shared" "${shared[@]}" &&
		cc -static "${cflags[@]}" "$scratch/program.c" -o "$scratch/static" "${static[@]}" &&
		[[ "geiger $("$scratch/shared")" == $("$build/src/geiger" --version) ]] &&
		[[ "geiger $("$scratch/static")" == $("$build/src/geiger" --version) ]] &&
		ldd "$scratch/shared" | grep "libgeiger.so.0 => $root"
)

# Documents link to files that the installation has.
links_between_documents_hold() {
	local page link broken=0
	for page in "$root$prefix/share/doc/geiger"/{,docs/}*.md; do
		while read -r link; do
			[[ -e ${page%/*}/$link ]] && continue
			echo "$page: $link is not there"
			broken=1
		done < <(grep -oE '\]\([^)#:]+' "$page" | cut -c3-)
	done
	return "$broken"
}

uninstalls() {
	DESTDIR=$root ninja -C "$build" uninstall >"$scratch/uninstalled" || cat "$scratch/uninstalled"
	[[ -z $(find "$root" ! -type d) ]] || find "$root" ! -type d
	[[ -z $(find "$root" ! -type d) ]]
}

check installs installs
check all_is_there all_is_there
check records_from_elsewhere records_from_elsewhere
check records_when_it_was_moved records_when_it_was_moved
check embeds embeds
check links_between_documents_hold links_between_documents_hold
check versions_agree tools/check_versions . "$build/src/geiger" \
	"$root$prefix/$libdir/pkgconfig/geiger.pc"
check uninstalls uninstalls
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
#
# test_dist.sh BUILD - what `meson dist` packs is what is committed, and builds without git and
# without a network.  DIST_TARGETS are the targets; without them all of it is built and installed.
. tests/test.sh

build=$1
source=$PWD
version=$(sed -n "s/^    version: '\(.*\)',$/\1/p" meson.build)
archive=$build/meson-dist/geiger-$version.tar.xz
if ! git ls-files --error-unmatch meson.build >/dev/null 2>&1; then
	skip the_archive_builds_without_a_network 'this is no clone: there is nothing to pack'
	exit 77
fi
# Without a network: of root, or of a user who may make namespaces.
offline=(unshare --net)
((EUID == 0)) || offline=(unshare --map-root-user --net)
if ! "${offline[@]}" true 2>/dev/null; then
	skip the_archive_builds_without_a_network 'no namespaces are to be had'
	exit 77
fi

the_archive_is_what_is_committed() {
	meson dist -C "$build" --no-tests --formats xztar --allow-dirty || return
	mkdir "$scratch/unpacked"
	tar -xf "$archive" -C "$scratch/unpacked" --strip-components 1 || return
	(cd "$scratch/unpacked" && find . ! -type d | sed 's,^\./,,' | LC_ALL=C sort) >"$scratch/packed"
	git ls-tree -r --name-only HEAD | LC_ALL=C sort >"$scratch/committed"
	diff "$scratch/committed" "$scratch/packed"
}
check the_archive_is_what_is_committed the_archive_is_what_is_committed

# Out of the clone, so that git finds nothing.
folder=$scratch/unpacked
options=(--buildtype=debugoptimized -Dassertions=false -Dtests=false --prefix=/usr --libdir=lib)
it_builds() {
	cd "$folder" || return
	# The loopback device alone, and that is down.
	[[ $("${offline[@]}" grep -c : /proc/net/dev) == 1 ]] || return
	! "${offline[@]}" git rev-parse 2>/dev/null || return
	"${offline[@]}" meson setup build/release --wrap-mode=nodownload "${options[@]}" || return
	# shellcheck disable=SC2086 # targets are words
	"${offline[@]}" ninja -C build/release ${DIST_TARGETS-}
}
check the_archive_builds_without_a_network it_builds

the_agent_of_it_records() (
	cd "$folder" || return
	mkdir "$scratch/regions"
	GEIGER_DIR=$scratch/regions GEIGER_INTERVAL=4k LD_PRELOAD=$PWD/build/release/src/libgeiger-agent.so \
		sort "$source/CHANGELOG.md" >/dev/null || return
	"$GEIGER" report -m allocated "$scratch"/regions/*.region | tee "$scratch/report"
	grep -q sort "$scratch/report"
)
check the_agent_of_the_archive_records the_agent_of_it_records
[[ -z ${DIST_TARGETS-} ]] || finish

it_installs() (
	cd "$folder" || return
	DESTDIR=$scratch/installed "${offline[@]}" meson install -C build/release || return
	PATH=$scratch/installed/usr/bin:$PATH
	[[ $(geiger --version) == *"$version"* ]] || return
	geiger record -q -i 4k -o "$scratch/a.geiger" sort "$source/CHANGELOG.md" >/dev/null &&
		geiger check "$scratch/a.geiger" &&
		[[ -s $scratch/installed/usr/share/man/man1/geiger-record.1 ]]
)
check what_the_archive_gives_is_installed_and_records it_installs
cat <<END
summary
- $(basename "$archive"), $(($(stat -c %s "$archive") / 1024)) KiB: $(wc -l <"$scratch/packed") files, those of the commit
- configured, built and installed without git and without a network:
  $(find "$scratch/installed" ! -type d | wc -l) files
END
finish

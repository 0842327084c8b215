#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # functions are called through check
#
# test_package.sh - Debian packages are built, lintian has nothing to say, and what is in them
# passes the tests that they come with; another prefix also works.
. tests/test.sh

listing=$PWD/CHANGELOG.md # to be sorted
for tool in dpkg-buildpackage dh lintian; do
	if ! command -v "$tool" >/dev/null; then
		echo "skipped - packages: no $tool: script/bootstrap package installs it"
		exit 77
	fi
done

root=$scratch/root
packages_are_built() {
	script/package
}

unpacked() {
	local package
	for package in build/package/*.deb; do
		[[ $package == *-dbgsym_* ]] || dpkg-deb -x "$package" "$root" || return
	done
	[[ -x $root/usr/bin/geiger ]]
}

# One of debian/tests, as if the packages were installed.
passes() (
	triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	export PATH=$root/usr/bin:$PATH LD_LIBRARY_PATH=$root/usr/lib/$triplet
	export PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
	export PYTHONPATH=$root/usr/lib/python3/dist-packages
	export LUA_CPATH="$root/usr/lib/$triplet/lua/5.4/?.so"
	test="$PWD/debian/tests/$1"
	mkdir "$scratch/$1"
	TMPDIR=$scratch/$1 "$test"
)

# A distribution's own folders, and no adapters.
another_prefix_works() (
	meson setup "$scratch/build" --buildtype=release --prefix="$scratch/opt" --libdir=lib64 \
		-Dtests=false -Dlua=disabled -Dpython=disabled &&
		meson install -C "$scratch/build" &&
		[[ -f $scratch/opt/lib64/libgeiger-agent.so && ! -e $scratch/opt/lib/lua ]] &&
		[[ $("$scratch/opt/bin/geiger" env) == *"$scratch/opt/lib64/libgeiger-agent.so"* ]] &&
		"$scratch/opt/bin/geiger" record -q -i 1k -o "$scratch/a.geiger" sort "$listing" >/dev/null &&
		"$scratch/opt/bin/geiger" check "$scratch/a.geiger" &&
		ninja -C "$scratch/build" uninstall &&
		[[ -z $(find "$scratch/opt" ! -type d) ]]
)

check packages_are_built packages_are_built
check packages_are_unpacked unpacked
check the_packaged_command_records_and_reports passes smoke
check the_packaged_allocator_serves passes allocator
check the_packaged_library_is_linked_to passes embedding
check the_packaged_adapters_know_functions passes adapters
check another_prefix_works another_prefix_works
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2317 # functions are called through check
# shellcheck disable=SC2016 # variables are expanded inside
#
# test_package_root.sh [ARCHITECTURE]... - the Debian packages are installed, used, upgraded and
# removed in a root directory of Debian 12; the packages of arm64 run under an emulator, in the root
# directory of their cross build.
#
# Needs root, debootstrap and a network: some 20 minutes on two idle cores, and 3 GiB.  The root
# directories stay in build/roots.  With PACKAGES_ARE_BUILT=yes, it takes what script/package left.
. tests/test.sh

version=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
roots=$PWD/build/roots
figures=()
architectures=" ${*:-amd64 arm64} "
# of_arch NAME - those tests are wanted.
of_arch() {
	[[ $architectures == *" $1 "* ]]
}

# build OPTION... - by script/package, unless that was done before.
build() {
	[[ ${PACKAGES_ARE_BUILT-} == yes ]] || script/package "$@"
}

status=0
script/debian-root "$roots/plain" || status=$?
if ((status != 0)); then
	skip packages_live_in_a_root_directory 'no root, debootstrap or network'
	exit 77
fi

root=$roots/installed
inside() {
	script/debian-root "$root" "$@"
}
# All files, but those that apt and dpkg keep for themselves.
files_of() {
	(cd "$1" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./packages \
		-o -path ./root -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache \
		-o -path ./var/log \) -prune -o -print | LC_ALL=C sort)
}

# --- amd64 --------------------------------------------------------------------------------------

if of_arch amd64; then
	check packages_are_built build
	packages=$PWD/build/package
	names=$(cd "$packages" && printf '%s\n' *.deb | sed 's/_.*//' | grep -v dbgsym)

	# The same packages with an older version, and a file that the newer ones lack.
	older_packages_are_made() {
		local package folder
		mkdir -p "$scratch/older"
		for package in "$packages"/*.deb; do
			[[ $package != *-dbgsym_* ]] || continue
			folder=$scratch/unpacked
			rm -rf "$folder"
			dpkg-deb -R "$package" "$folder" || return
			sed -i "s/^Version: .*/Version: 0.0.1/; s/(\(>\?=\) $version)/(\1 0.0.1)/g" "$folder/DEBIAN/control"
			mkdir -p "$folder/usr/share/doc/$(dpkg-deb -f "$package" Package)"
			echo old >"$folder/usr/share/doc/$(dpkg-deb -f "$package" Package)/OLD"
			dpkg-deb -b --root-owner-group "$folder" "$scratch/older/" >/dev/null || return
		done
	}
	check older_packages_are_made older_packages_are_made

	a_root_directory_is_made() {
		rm -rf "$root"
		cp -a "$roots/plain" "$root" && mkdir "$root/packages" || return
		cp -r "$scratch/older" "$root/packages/older" && cp -r debian/tests "$root/packages/" || return
		mkdir "$root/packages/newer"
		find "$packages" -name '*.deb' ! -name '*-dbgsym_*' -exec cp {} "$root/packages/newer/" \;
		inside bash -c 'apt-get -qq update && apt-get -qqy install gcc libc6-dev musl-tools pkg-config python3-pytest \
			lua5.4 sqlite3' || return
		files_of "$root" >"$scratch/before"
	}
	check a_root_directory_is_made a_root_directory_is_made

	installed_version() {
		local name
		for name in $names; do
			[[ $(inside dpkg-query -W -f '${Status} ${Version}' "$name") == "install ok installed $1" ]] || return
		done
	}
	older_ones_are_installed() {
		inside bash -c 'apt-get -qqy install /packages/older/*.deb' && installed_version 0.0.1 || return
		inside bash -c 'cd /packages && geiger record -q -i 4k -o old.geiger sort /var/lib/dpkg/status' >/dev/null || return
		[[ -e $root/usr/share/doc/libgeiger0/OLD ]]
	}
	check the_packages_are_installed older_ones_are_installed

	newer_ones_replace_them() {
		local name
		inside bash -c 'apt-get -qqy install /packages/newer/*.deb' && installed_version "$version" || return
		for name in $names; do
			[[ ! -e $root/usr/share/doc/$name/OLD ]] || return
		done
		inside geiger check /packages/old.geiger && inside geiger report /packages/old.geiger
	}
	check they_are_upgraded_and_profiles_stay_readable newer_ones_replace_them

	for test in smoke allocator embedding adapters static; do
		check "the_installed_packages_pass_$test" inside "/packages/tests/$test"
	done
	every_file_is_as_packaged() {
		local name
		for name in $names; do
			inside dpkg --verify "$name" || return
		done
	}
	check files_are_as_they_were_packaged every_file_is_as_packaged
	added=$(files_of "$root" | comm -13 "$scratch/before" - | wc -l)
	figures+=("amd64: $(wc -w <<<"$names") packages, $added files and folders")

	they_are_removed() {
		# shellcheck disable=SC2086 # names are words
		inside apt-get -qqy purge $names && inside apt-get -qqy autoremove --purge || return
		files_of "$root" >"$scratch/after"
		! inside ldconfig -p | grep geiger || return
		diff "$scratch/before" "$scratch/after"
	}
	check they_are_removed_without_a_trace they_are_removed
	rm -rf "$root"
fi

# --- arm64 --------------------------------------------------------------------------------------

if of_arch arm64; then
	check packages_of_arm64_are_built build --host arm64
	packages=$PWD/build/package-arm64
	root=$roots/cross-arm64

	each_file_is_of_its_architecture() {
		local package file counted=0
		for package in "$packages"/*_arm64.deb; do
			rm -rf "$scratch/arm64"
			dpkg-deb -x "$package" "$scratch/arm64" || return
			[[ $(dpkg-deb -f "$package" Architecture) == arm64 ]] || return
			while read -r file; do
				case $(head -c 4 "$file" | tr -d '\0') in
				$'\177ELF')
					readelf -h "$file" | grep -q 'Machine: *AArch64' || {
						echo "$file"
						return 1
					}
					counted=$((counted + 1))
					;;
				'!<ar')
					readelf -h "$file" 2>/dev/null | grep 'Machine:' | grep -v AArch64 && return 1
					counted=$((counted + 1))
					;;
				esac
			done < <(find "$scratch/arm64" -type f)
		done
		echo "$counted" >"$scratch/counted"
		((counted > 20))
	}
	check each_file_of_arm64_is_for_aarch64 each_file_is_of_its_architecture
	count=$(cd "$packages" && printf '%s\n' *.deb | grep -vc dbgsym)
	figures+=("arm64: $count packages, $(<"$scratch/counted") programs, libraries and archives for aarch64")

	cat >"$scratch/program.c" <<'END'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void *make_rows(size_t bytes)
{
	return memset(malloc(bytes), 1, bytes);
}
int main(void)
{
	for (int i = 0; i < 20000; i++)
		make_rows(100);
	return 0;
}
END
	arm64_is_installed() {
		rm -rf "$root/packages" && mkdir "$root/packages" || return
		find "$packages" -name '*.deb' ! -name '*-dbgsym_*' ! -name 'python3-*' ! -name 'lua-*' \
			-exec cp {} "$root/packages/" \;
		cp "$scratch/program.c" "$root/packages/" || return
		inside bash -c 'apt-get -qqy install qemu-user /packages/*.deb' || return
		[[ $(inside qemu-aarch64 /usr/bin/geiger --version) == *"${version%-*}"* ]]
	}
	check the_packages_of_arm64_are_installed_and_run arm64_is_installed

	# The agent alone: the kernel cannot execute what an emulated geiger would start.  A block
	# of 100 bytes is a sample with p = 0.0930 at 1 KiB; the standard deviation of 20000 is
	# 2.2 %, and the bounds are six.
	arm64_records() {
		inside bash -c 'cd /packages && aarch64-linux-gnu-gcc -g -O1 -fno-builtin -o program program.c &&
			mkdir -p regions && qemu-aarch64 -E LD_PRELOAD=libgeiger-'"$1"'.so -E GEIGER_DIR=/packages/regions \
				-E GEIGER_INTERVAL=1k ./program &&
			qemu-aarch64 /usr/bin/geiger salvage -o a.geiger regions && rm -r regions &&
			qemu-aarch64 /usr/bin/geiger check a.geiger &&
			qemu-aarch64 /usr/bin/geiger report -m allocated -u count --no-head a.geiger' | tee "$scratch/rows"
		awk '/make_rows/ && $2 == "k" && $1 > 17.36 && $1 < 22.64 { found = 1 } END { exit !found }' \
			"$scratch/rows"
	}
	check the_agent_of_arm64_records_and_its_command_reports arm64_records agent
	check the_allocator_of_arm64_does_so_too arm64_records malloc

	arm64_musl() {
		inside bash -c 'cd /packages && aarch64-linux-musl-gcc -g -O1 -fno-builtin -Wl,--eh-frame-hdr -o musl program.c \
			-Wl,-rpath,/lib/aarch64-linux-musl &&
			mkdir -p regions && qemu-aarch64 -E LD_PRELOAD=/usr/lib/aarch64-linux-gnu/libgeiger-agent-musl.so \
				-E GEIGER_DIR=/packages/regions -E GEIGER_INTERVAL=1k ./musl &&
			qemu-aarch64 /usr/bin/geiger report -m allocated regions/*.region' | tee "$scratch/rows"
		grep -q make_rows "$scratch/rows"
	}
	check the_agent_for_musl_of_arm64_records arm64_musl

	arm64_static() {
		inside bash -c 'cd /packages && export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig &&
			aarch64-linux-gnu-gcc -g -O1 -fno-builtin -static -o static program.c $(pkg-config --libs geiger-agent) &&
			aarch64-linux-musl-gcc -g -O1 -fno-builtin -static -o static-musl program.c \
				$(pkg-config --libs geiger-agent-musl) &&
			for program in static static-musl; do
				rm -rf regions && mkdir regions &&
				qemu-aarch64 -E GEIGER_ACTIVE=1 -E GEIGER_DIR=/packages/regions -E GEIGER_INTERVAL=1k ./$program &&
				qemu-aarch64 /usr/bin/geiger report -m allocated regions/*.region | grep make_rows || exit
			done'
	}
	check static_programs_of_arm64_record arm64_static

	arm64_is_removed() {
		inside bash -c 'apt-get -qqy purge $(dpkg-query -W -f "\${Package}:\${Architecture} " "*geiger*:arm64")' || return
		[[ -z $(find "$root/usr" -name '*geiger*') ]]
	}
	check the_packages_of_arm64_are_removed arm64_is_removed
	rm -rf "$root/packages"
fi

echo summary
printf -- '- %s\n' "${figures[@]}"
of_arch amd64 && echo '- amd64: built, checked by lintian, installed, used, upgraded and removed without a trace'
of_arch arm64 && echo '- arm64: the same by a cross build and under qemu-user, but for the upgrade'
finish

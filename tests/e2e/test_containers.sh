#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh disable=SC2016,SC2317 # scripts of others; `check` calls functions
#
# test_containers.sh GEIGER AGENT [AGENT_MUSL] - records in containers that unshare and control
# groups make.
#
# tests/attach/test_attach_containers.py attaches to containers from outside.
. tests/test.sh

geiger=$1 agent=$2 agent_musl=${3-}
unset GEIGER_DIR GEIGER_LOG GEIGER_AGENT
manifest=$PWD/packaging/kubernetes/pod.yaml
cd "$scratch" || exit 1
chmod 755 .

cat >server.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept;
__attribute__((noinline)) static void serve(void)
{
	for (int i = 0; i < 300; i++)
		memset(kept = malloc(100000), 1, 100000);
}
int main(int argc, char *argv[])
{
	serve();
	if (argc > 1)
		return write(1, "ready\n", 6) == 6 && read(0, argv[1], 1) == 0 ? 0 : 1;
	return 0;
}
END
check a_program_is_built cc -O1 -g -o server server.c

if ! unshare -Urmpf --mount-proc true 2>/dev/null; then
	echo 'skipped - a_container_records_itself: no user namespaces here'
	finish
fi

# shown PROFILE - all 300 blocks of the function.  Each is a sample with probability 0.78, so the
# standard deviation is 3 %, and the bounds are six of them.
shown() {
	"$geiger" report "$1" -m allocated --total --bytes --no-head -u bytes >report.txt
	cat report.txt
	awk '$0 ~ / serve / && $1 > 24600000 && $1 < 35400000 { found = 1 } END { exit !found }' report.txt
}

# Namespaces of its own, with a small /dev/shm.
records_itself() {
	rm -rf shared
	mkdir -m 1777 shared
	timeout 60 unshare -Urmpf --mount-proc sh -c '
		mount -t tmpfs -o size=32m tmpfs /dev/shm &&
		"$0" record -q -i 64k -o shared/x.geiger -- ./server' "$geiger" && shown shared/x.geiger
}
check a_container_records_itself records_itself

records_on_a_read_only_root() {
	mkdir -p root
	timeout 60 unshare -Urmpf --mount-proc sh -c '
		mount --rbind / root && mount -o remount,bind,ro root || exit
		mount -t tmpfs -o size=64m tmpfs root/dev/shm && mount -t tmpfs -o size=64m tmpfs root/tmp &&
			cp server root/tmp/ || exit
		exec chroot root sh -c "
			! touch /new 2>/dev/null && cd / && \"\$0\" record -q -i 64k -o /dev/shm/x.geiger -- /tmp/server &&
			\"\$0\" report /dev/shm/x.geiger -m allocated --total --bytes --no-head" "$0"' "$geiger" >report.txt
	local status=$?
	cat report.txt
	((status == 0)) && grep -q ' serve ' report.txt
}
check a_container_with_a_read_only_root_records_itself records_on_a_read_only_root

# Another maker of containers: new namespaces, a read-only root, and no capabilities.
records_in_bubblewrap() {
	mkdir -p wrapped
	timeout 60 bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind "$PWD/wrapped" /mnt \
		--ro-bind "$PWD/server" /tmp/server --unshare-all --cap-drop ALL --die-with-parent \
		"$geiger" record -q -i 64k -o /mnt/x.geiger -- /tmp/server && shown wrapped/x.geiger
}
if command -v bwrap >/dev/null; then
	check bubblewrap_records_within records_in_bubblewrap
else
	echo 'skipped - bubblewrap_records_within: no bwrap'
fi

# sidecar AGENT PROGRAM - a container whose program has the agent alone, and another one with other
# pids and mounts that sees nothing of it but the folder of regions.
sidecar() {
	local library=$1 program=$2 status
	rm -rf regions
	mkdir -m 1777 regions
	mkfifo -m 600 stop said 2>/dev/null
	LD_PRELOAD=$library GEIGER_DIR=$PWD/regions GEIGER_INTERVAL=64k timeout 120 \
		unshare -Urmpf --mount-proc "$program" wait <stop >said &
	exec 5>stop
	head -1 said
	timeout 60 unshare -Urmpf --mount-proc sh -c '"$0" ls regions && "$0" salvage -q -o beside.geiger regions' "$geiger"
	status=$?
	exec 5>&-
	wait
	((status == 0)) && shown beside.geiger
}
check a_sidecar_reads_the_regions_of_a_container sidecar "$agent" ./server

# The same by a /dev/shm that both have, where regions are made without a word about it.
shares_memory() {
	local status
	rm -rf memory
	mkdir -m 1777 memory
	mkfifo -m 600 stop said 2>/dev/null
	timeout 120 unshare -Urmpf --mount-proc sh -c '
		mount --bind memory /dev/shm && LD_PRELOAD=$0 GEIGER_INTERVAL=64k exec ./server wait' "$agent" <stop >said &
	exec 5>stop
	head -1 said
	timeout 60 unshare -Urmpf --mount-proc sh -c '
		mount --bind memory /dev/shm && "$0" ls && "$0" salvage -q -o shared.geiger /dev/shm' "$geiger"
	status=$?
	exec 5>&-
	wait
	((status == 0)) && shown shared.geiger
}
check a_sidecar_shares_dev_shm_with_a_container shares_memory

# An image that has nothing but musl, the program and the agent, as one of Alpine may be.
image_of_musl() {
	rm -f musl.geiger image/tmp/*
	musl-gcc -O1 -g -Wl,--eh-frame-hdr -o image/server server.c || return
	timeout 60 unshare -Urmpf sh -c 'mount -t proc proc image/proc &&
		LD_PRELOAD=/lib/agent.so GEIGER_DIR=/tmp GEIGER_INTERVAL=64k exec chroot image /server' 2>errors || return
	cat errors # chroot is of glibc, whose loader has no such file yet
	ls image/tmp
	"$geiger" salvage -q -o musl.geiger image/tmp && "$geiger" symbolize --sysroot image musl.geiger &&
		shown musl.geiger
}
if [[ -n $agent_musl ]] && command -v musl-gcc >/dev/null; then
	mkdir -p image/{lib,proc,tmp}
	cp "$agent_musl" image/lib/agent.so
	cp -L /lib/ld-musl-*.so.1 image/lib/
	check an_image_of_musl_is_profiled_by_the_agent_alone image_of_musl
fi

# Runs the command of the manifest's first container, in a folder that stands for the volume.
pod_brings_the_agent() {
	local script
	rm -rf volume pod.geiger
	mkdir volume
	script=$(sed -n 's/^ *- \(cp .*libgeiger-agent.so.*\)$/\1/p' "$manifest")
	echo "$script"
	script=${script//\/usr\/lib\/\*/$(dirname "$agent")}
	script=${script//\/geiger\//volume/}
	sh -c "$script" || return
	LD_PRELOAD=$PWD/volume/libgeiger-agent.so GEIGER_DIR=$PWD/volume/regions GEIGER_KEEP=8 GEIGER_INTERVAL=64k \
		unshare -Urmpf --mount-proc ./server || return
	"$geiger" salvage -q -o pod.geiger volume/regions && shown pod.geiger
}
check the_pod_brings_the_agent_into_the_program pod_brings_the_agent

# in_group LIMIT COMMAND... - below a limit of memory, by version 1 or 2 of control groups.
group=
for folder in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	if [[ -z $group ]] && mkdir "$folder/geiger-test-$$" 2>/dev/null; then
		group=$folder/geiger-test-$$
		if [[ ! -e $group/memory.limit_in_bytes && ! -e $group/memory.max ]]; then
			rmdir "$group"
			group=
		fi
	fi
done
in_group() {
	local limit=$1 file=memory.limit_in_bytes
	shift
	[[ -e $group/$file ]] || file=memory.max
	echo "$limit" >"$group/$file" && sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}
if [[ -n $group ]]; then
	# The program takes 29 MiB; the region and the recorder are in the same group.
	limited() {
		in_group 96M "$geiger" record -q -i 64k -o limited.geiger -- ./server && shown limited.geiger
	}
	check a_limit_of_memory_that_the_program_keeps_is_kept_under_geiger limited
	# The kernel kills the program at the limit: what it held until then is there.
	killed() {
		rm -f killed.geiger
		in_group 20M sh -c 'LD_PRELOAD=$1 GEIGER_DIR=$2 GEIGER_INTERVAL=64k exec ./server' sh "$agent" "$PWD/regions"
		[[ $? == 137 ]] || return
		"$geiger" salvage -q -o killed.geiger regions
		"$geiger" report killed.geiger --total --bytes --no-head | tee report.txt
		awk '$0 ~ / serve / && $1 > 8000000 { found = 1 } END { exit !found }' report.txt
	}
	rm -f regions/*
	check a_program_that_its_limit_kills_leaves_its_profile killed
	rmdir "$group"
else
	echo 'skipped - a_limit_of_memory_that_the_program_keeps_is_kept_under_geiger: no group can be made'
fi

# Files of groups that no kernel has made: what the recorder and the agent read of each version,
# also where the machine has no memory controller of it.
in_faked_group() {
	local below=$1 line=$2 used=$3 limit=$4
	shift 4
	echo "$line" >membership
	timeout 60 unshare -Urm sh -c '
		mount -t tmpfs tmpfs /sys/fs/cgroup && mkdir -p "/sys/fs/cgroup/$0" && cd "/sys/fs/cgroup/$0" &&
			echo 123456789 >"$1" && echo 130000000 >"$2" && cd "$3" &&
			mount --bind membership "/proc/$$/cgroup" || exit
		shift 3
		exec "$@"' "$below" "$used" "$limit" "$PWD" "$@"
}
faked() {
	rm -rf dumps faked.geiger
	mkdir -m 1777 dumps
	in_faked_group "$@" "$geiger" record -q -i 64k -o faked.geiger -- ./server || return
	[[ $("$geiger" sql faked.geiger 'select max(cgroup_bytes) from memory') == *123456789* ]] || return
	# 95 % of the limit are in use.
	in_faked_group "$@" env LD_PRELOAD="$agent" GEIGER_DIR="$PWD/dumps" GEIGER_INTERVAL=64k \
		GEIGER_DUMP="$PWD/dumps/dump" GEIGER_DUMP_CGROUP=94 ./server || return
	compgen -G 'dumps/dump.*.u*.heap' || return
	rm -rf dumps
	mkdir -m 1777 dumps
	in_faked_group "$@" env LD_PRELOAD="$agent" GEIGER_DIR="$PWD/dumps" GEIGER_INTERVAL=64k \
		GEIGER_DUMP="$PWD/dumps/dump" GEIGER_DUMP_CGROUP=95 ./server || return
	! compgen -G 'dumps/*.heap'
}
if unshare -Urm sh -c 'mount -t tmpfs tmpfs /sys/fs/cgroup && mount --bind /dev/null "/proc/$$/cgroup"' 2>/dev/null; then
	check files_of_groups_of_version_2_are_read faked pod '0::/pod' memory.current memory.max
	check files_of_groups_of_version_1_are_read faked memory/pod '4:memory:/pod' memory.usage_in_bytes \
		memory.limit_in_bytes
else
	echo 'skipped - files_of_groups_of_version_2_are_read: no mounts can be made'
fi

# Version 2 of control groups, also where another hierarchy has the controllers: a group that is
# frozen can be read, and one that is killed leaves its profile.
group=
for folder in /sys/fs/cgroup /sys/fs/cgroup/unified; do
	if [[ -z $group && -e $folder/cgroup.controllers ]] && mkdir "$folder/geiger-test-$$" 2>/dev/null; then
		group=$folder/geiger-test-$$
	fi
done
frozen() {
	local status
	rm -rf regions
	mkdir -m 1777 regions
	mkfifo -m 600 stop said 2>/dev/null
	GEIGER_DIR=$PWD/regions GEIGER_INTERVAL=64k timeout 120 sh -c '
		echo $$ >"$0/cgroup.procs" && LD_PRELOAD=$1 exec ./server wait' "$group" "$agent" <stop >said &
	exec 5>stop
	head -1 said
	echo 1 >"$group/cgroup.freeze"
	timeout 60 "$geiger" salvage -q -o frozen.geiger regions
	status=$?
	echo 0 >"$group/cgroup.freeze"
	echo 1 >"$group/cgroup.kill"
	exec 5>&-
	wait
	((status == 0)) && shown frozen.geiger || return
	rm -f frozen.geiger
	"$geiger" salvage -q -o frozen.geiger regions && shown frozen.geiger
}
if [[ -n $group && -e $group/cgroup.freeze && -e $group/cgroup.kill ]]; then
	check a_group_of_version_2_is_read_while_frozen_and_after_it_is_killed frozen
else
	echo 'skipped - a_group_of_version_2_is_read_while_frozen_and_after_it_is_killed: no group can be made'
fi
[[ -z $group ]] || for ((i = 0; i < 50; i++)); do
	rmdir "$group" 2>/dev/null && break
	sleep 0.1
done
finish

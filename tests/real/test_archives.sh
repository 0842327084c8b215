#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
. "$(dirname "$0")/real.sh"
needs tar gzip zstd xz bzip2

mkdir "$real_input/tree"
for i in {1..400}; do
	mkdir -p "$real_input/tree/$((i % 9))"
	seq "$i" $((i * 4)) >"$real_input/tree/$((i % 9))/file$i"
done
cat >"$real_input/work" <<'END'
cd "$1" && set -e
tar --sort=name --mtime=@0 --owner=0 --group=0 -cf "$OLDPWD/tree.tar" tree && cd "$OLDPWD"
zstd -q -19 --long -T2 tree.tar -o tree.zst; zstd -q -T4 -3 tree.tar -o fast.zst
xz -T2 -6 --block-size=2MiB -k tree.tar; gzip -nk9 tree.tar; bzip2 -k tree.tar
for packed in tree.zst fast.zst; do zstd -qdc $packed | sha256sum; done
for pack in xz gzip bzip2; do $pack -dc tree.tar.${pack:0:2}* | sha256sum; done
mkdir out && tar --zstd -xf tree.zst -C out && diff -r out/tree "$1/tree" && echo the same
zstd -q --train out/tree/*/* -o dictionary --maxdict=20000
tar -tvf nothing.tar
END
real_ignore=(out)
same tar_zstd_xz_gzip_bzip2 bash "$real_input/work" "$real_input"
finish

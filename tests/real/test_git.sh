#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
. "$(dirname "$0")/real.sh"
needs git

# Commits are the same each time only if all that is in them is.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_NAME=Author GIT_AUTHOR_EMAIL=author@example.org GIT_AUTHOR_DATE='1700000000 +0000'
export GIT_COMMITTER_NAME=Author GIT_COMMITTER_EMAIL=author@example.org
export GIT_COMMITTER_DATE='1700000000 +0000'

# A history for `git fast-import`: 300 commits, each changing 20 of 200 files.
history() {
	local commit file
	for ((commit = 1; commit <= 300; commit++)); do
		printf 'commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n' $((1700000000 + commit))
		printf 'data <<E\ncommit %d\nE\n' $commit
		for ((file = commit % 10; file < 200; file += 10)); do
			printf 'M 100644 inline d%d/f%d\ndata <<E\n%s\nE\n' $((file % 7)) $file "$(
				printf 'line %d of %d\n' {1..40} $((commit * file)) $file
			)"
		done
	done
}

cat >"$real_input/work" <<'END'
set -e
git clone -q --no-local "$1" clone
cd clone
git log --stat -p --graph | sha256sum
git blame d3/f10 | head -20
git grep -c 'line 7' | head -5
git diff --stat HEAD~50 HEAD
git checkout -q -b other HEAD~20
git commit -q --allow-empty -m other
git merge -q --no-edit main
git gc -q --aggressive --prune=now
git fsck --full
git rev-parse HEAD
git nothing
END

git init -q --bare -b main "$real_input/repository"
history | git -C "$real_input/repository" fast-import --quiet
# The index has times of files; packs depend on how threads divide the work.
real_ignore=(index 'pack-*' packs)
same git_clone_log_merge_gc bash "$real_input/work" "$real_input/repository"
finish

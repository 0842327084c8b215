#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# git prints the difference between two of 300 commits.
#
# packages: git
# modules: git
# interval: 2k
# reason: Debian's git has no symbols.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs git

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
for ((commit = 1; commit <= 300; commit++)); do
	printf 'commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n' $((1700000000 + commit))
	printf 'data <<E\ncommit %d\nE\n' $commit
	for ((file = commit % 10; file < 200; file += 10)); do
		printf 'M 100644 inline d%d/f%d\ndata <<E\n' $((file % 7)) $file
		printf "line %d of $((commit * file))\n" {1..40}
		printf 'E\n'
	done
done >history
git init -q --bare -b main repository
git -C repository fast-import --quiet <history
git clone -q repository work
record git -C work -c core.preloadindex=false diff HEAD~200 >/dev/null

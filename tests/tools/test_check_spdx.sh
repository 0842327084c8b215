#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

mkdir -p "$scratch/src"
printf '/* SPDX-License-Identifier: %s */\n' Apache-2.0 >"$scratch/src/a.c"
check a_file_with_its_licence_is_fine tools/check_spdx "$scratch"
touch "$scratch/src/b.c"
check a_file_without_is_refused refuses './src/b.c: no SPDX' tools/check_spdx "$scratch"
finish

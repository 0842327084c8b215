#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

root=$scratch/root
mkdir -p "$root/include/geiger" "$root/debian"
echo "    version: '1.2.0'," >"$root/meson.build"
echo '#define GEIGER_VERSION "1.2.0"' >"$root/include/geiger/geiger.h"
echo 'Version 1.2.0, and more.' >"$root/README.md"
printf 'geiger (1.2.0) unstable; urgency=medium\ngeiger (1.1.0) unstable\n' >"$root/debian/changelog"
printf '# Changelog\n\n## Unreleased\n\n## 1.1.0\n' >"$root/CHANGELOG.md"
printf '#!/bin/sh\necho geiger 1.2.0\n' >"$root/geiger"
chmod +x "$root/geiger"
printf 'Name: x\nVersion: 1.2.0\n' >"$root/geiger.pc"

check versions_that_are_the_same_pass tools/check_versions "$root" "$root/geiger" "$root/geiger.pc"
# Each of them is found when it is another.
for file in include/geiger/geiger.h README.md debian/changelog geiger geiger.pc; do
	sed -i.kept 's/1\.2\.0/1.3.0/' "$root/$file"
	check "another_version_of_${file##*/}_is_caught" \
		refuses "$file: is of version '1.3.0', and meson.build of '1.2.0'" \
		tools/check_versions "$root" "$root/geiger" "$root/geiger.pc"
	mv "$root/$file.kept" "$root/$file"
	chmod +x "$root/geiger"
done
sed -i /Unreleased/d "$root/CHANGELOG.md"
check a_changelog_without_the_release_is_caught \
	refuses "CHANGELOG.md: is of version '1.1.0'" tools/check_versions "$root"
check the_tree_has_one_version tools/check_versions
finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# A program with one command, and its page.
mkdir -p "$scratch/prose"
cat >"$scratch/geiger" <<'END'
#!/bin/sh
case "$*" in
"help --list") printf 'geiger\ngeiger-lab\n' ;;
"help") printf 'Options:\n  -h, --help                help\n' ;;
"help lab") printf 'Options:\n  -i, --interval SIZE       interval\n      --json                JSON\n' ;;
esac
END
chmod +x "$scratch/geiger"
# page NAME OPTION...: its source as scdoc writes it.
page() {
	name=$1
	shift
	printf '.SH NAME\n%s\n.SH OPTIONS\n' "$name" >"$scratch/$name.1"
	for option; do
		printf '\\fB%s\\fR\n.RS 4\nhelp\n.RE\n' "$option" >>"$scratch/$name.1"
	done
}
# shellcheck disable=SC2317 # by check and refuses
man_is_checked() {
	tools/check_man "$scratch/geiger" "$scratch/prose" "$scratch"/*.1
}

page geiger '-h\fR, \fB--help'
page geiger-lab '-i\fR, \fB--interval\fR \fISIZE' --json
check complete_pages_pass man_is_checked

page geiger-lab --json
check a_missing_option_is_found refuses 'geiger-lab: the page lacks -i, --interval SIZE' man_is_checked

page geiger-lab '-i\fR, \fB--interval\fR \fISIZE' --json --colour
check an_option_too_many_is_found \
	refuses 'geiger-lab: the page has --colour, which is no option' man_is_checked

page geiger-lab '-i\fR, \fB--interval\fR \fISIZE' --json
printf '.SH EXAMPLES\nuse --jsno\n' >>"$scratch/geiger-lab.1"
check prose_about_an_option_that_is_none_is_found \
	refuses 'geiger-lab: speaks of --jsno' man_is_checked

rm "$scratch/geiger-lab.1"
check a_missing_page_is_found refuses 'geiger-lab: no manual page' man_is_checked

page geiger-lab '-i\fR, \fB--interval\fR \fISIZE' --json
page geiger-bal
check a_page_too_many_is_found refuses 'geiger-bal: a manual page without a command' man_is_checked
rm "$scratch/geiger-bal.1"

echo >"$scratch/prose/geiger-bal.scd"
check prose_without_a_command_is_found refuses 'geiger-bal.scd: prose without' man_is_checked

finish

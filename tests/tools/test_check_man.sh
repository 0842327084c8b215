#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/test.sh
. tests/test.sh

# A program with one command, and its page.
mkdir -p "$scratch/docs/man" "$scratch/src/runtime" "$scratch/include/geiger"
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
	printf '.TH %s 1\n.SH NAME\n%s\n.SH OPTIONS\n' "$name" "$name" >"$scratch/$name.1"
	for option; do
		printf '\\fB%s\\fR\n.RS 4\nhelp\n.RE\n' "$option" >>"$scratch/$name.1"
	done
	printf '.SH EXIT STATUS\n0\n.SH ENVIRONMENT\nNO_COLOR\n' >>"$scratch/$name.1"
}
# shellcheck disable=SC2317 # by check and refuses
man_is_checked() {
	tools/check_man "$scratch/geiger" "$scratch/docs/man" "$scratch"/*.[137]
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

page geiger-lab '-i\fR, \fB--interval\fR \fISIZE' --json
sed -i '/EXIT STATUS/d' "$scratch/geiger-lab.1"
check a_page_without_exit_statuses_is_found \
	refuses 'geiger-lab: has 0 sections EXIT STATUS, not one' man_is_checked

page geiger-lab '-i\fR, \fB--interval\fR \fISIZE' --json
printf '.SH ENVIRONMENT\n' >>"$scratch/geiger-lab.1"
check two_sections_of_one_title_are_found \
	refuses 'geiger-lab: has 2 sections ENVIRONMENT, not one' man_is_checked

page geiger-lab '-i\fR, \fB--interval\fR \fISIZE' --json
mkdir -p "$scratch/src/cli"
echo 'color = getenv("NO_COLOR"), size = getenv("LINES");' >"$scratch/src/cli/style.c"
check a_variable_that_no_page_has_is_found \
	refuses 'LINES, which style.c reads, is in no page' man_is_checked
rm "$scratch/src/cli/style.c"

rm "$scratch/geiger-lab.1"
check a_missing_page_is_found refuses 'geiger-lab: no manual page' man_is_checked

page geiger-lab '-i\fR, \fB--interval\fR \fISIZE' --json
page geiger-bal
check a_page_too_many_is_found refuses 'geiger-bal: a manual page without a command' man_is_checked
rm "$scratch/geiger-bal.1"

echo >"$scratch/docs/man/geiger-bal.scd"
check prose_without_a_command_is_found refuses 'geiger-bal.scd: prose without' man_is_checked
rm "$scratch/docs/man/geiger-bal.scd"

# Pages about what is no command.
echo 'value_of(o, "GEIGER_ONE"); value_of(o, "GEIGER_TWO");' >"$scratch/src/runtime/environment.c"
echo 'int geiger_start(void);' >"$scratch/include/geiger/geiger.h"
printf '.TH geiger-agent 7\n.SH ENVIRONMENT\nGEIGER_ONE and GEIGER_TWO\n' >"$scratch/geiger-agent.7"
printf '.TH libgeiger 3\n.SH FUNCTIONS\nint geiger_start(void);\n' >"$scratch/libgeiger.3"
check pages_of_other_sections_pass man_is_checked

sed -i 's/GEIGER_TWO/GEIGER_TWOS/' "$scratch/geiger-agent.7"
check a_missing_variable_is_found \
	refuses 'geiger-agent.7: does not speak of GEIGER_TWO' man_is_checked
sed -i 's/GEIGER_TWOS/GEIGER_TWO/' "$scratch/geiger-agent.7"

echo 'void geiger_stop(void);' >>"$scratch/include/geiger/geiger.h"
check a_missing_function_is_found refuses 'libgeiger.3: does not speak of geiger_stop' man_is_checked
echo 'void geiger_stop(void);' >>"$scratch/libgeiger.3"

echo "'Twas a line that roff takes for a request" >>"$scratch/libgeiger.3"
if command -v groff >/dev/null; then
	check what_groff_says_is_found refuses 'Twas' man_is_checked
else
	echo 'skipped - what_groff_says_is_found: no groff'
fi

finish

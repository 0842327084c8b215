#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # functions are called through check
#
# test_completion.sh GEIGER bash|zsh - the shell completes exactly the commands and options that
# the help has.
. tests/test.sh

geiger=$1 shell=$2 tests=$PWD/tests/e2e
if ! command -v "$shell" >/dev/null; then
	echo "skipped - completion: no $shell here"
	exit 77
fi
completion=$scratch/_geiger
"$geiger" help --completion "$shell" >"$completion"
# shellcheck source=/dev/null
[[ $shell != bash ]] || . "$completion"

# completed WORD... - what the last word may become, one a line, in order.
completed() {
	if [[ $shell == zsh ]]; then
		zsh -f "$tests/complete.zsh" "$completion" "$@" | sort
		return
	fi
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_geiger
	((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}" | sort
}

# becomes "WORD..." "WANTED..."
becomes() {
	local words found
	IFS=' ' read -ra words <<<"$1."
	words[-1]=${words[-1]%.}
	found=$(completed "${words[@]}" | paste -sd ' ')
	echo "'$1' becomes '$found', not '$2'"
	[[ $found == "$2" ]]
}

# The names that a help lists, and the forms of its options.
commands_of() {
	"$geiger" help "$@" | sed -n '/^Commands:/,/^$/s/^  \([a-z ]*[a-z]\)   *.*/\1/p' | sed 's/.* //' | sort
}
options_of() {
	"$geiger" help "$@" | sed -n '/^Options:/,$s/^  \(-\S, \)\? *\(--[a-z0-9-]*\).*/\1\2/p' |
		sed 's/, /\n/' | sort
}

every_command_is_completed() {
	[[ $(completed geiger '') == "$(commands_of)" && $(commands_of | wc -l) -gt 2 ]] &&
		[[ $(completed geiger lab '') == "$(commands_of lab)" && -n $(commands_of lab) ]] &&
		[[ $(completed geiger debug '') == "$(commands_of debug)" ]]
}

every_option_is_completed() {
	local page words wanted found
	while read -r page; do
		IFS=- read -ra words <<<"$page"
		wanted=$(options_of "${words[@]:1}")
		found=$(completed "${words[@]}" -)
		[[ -n $wanted && $found == "$wanted" ]] && continue
		diff <(echo "$wanted") <(echo "$found")
		return 1
	done < <("$geiger" help --list)
}

what_follows_help_is_a_command() {
	[[ $(completed geiger help '') == "$(commands_of)" ]] &&
		[[ $(completed geiger help lab '') == "$(commands_of lab)" ]] &&
		becomes 'geiger help lab error ' ''
}

choices_are_completed() {
	becomes 'geiger --color ' 'always auto never' &&
		becomes 'geiger --color=a' 'always auto' &&
		becomes 'geiger env --format=' 'docker shell systemd' &&
		becomes 'geiger env --format=d' 'docker' &&
		becomes 'geiger env --format d' 'docker' &&
		becomes 'geiger help --completion ' 'bash zsh' &&
		becomes 'geiger lab error --interval ' ''
}

# bash takes --option=value apart before it asks.
what_bash_took_apart_is_put_together() {
	becomes 'geiger --color = a' 'always auto' && becomes 'geiger env --format =' 'docker shell systemd'
}

# With the functions that zsh comes with, and its line editor.
zsh_itself_completes() {
	timeout 60 zsh -f "$tests/complete.zsh" --types "$completion" 'geiger salv' 'geiger salvage' &&
		timeout 60 zsh -f "$tests/complete.zsh" --types "$completion" 'geiger report --metric=te' '=temporary'
}

zsh_tells_what_commands_and_options_do() {
	timeout 60 zsh -f "$tests/complete.zsh" --types "$completion" 'geiger l' '-- list the regions' &&
		timeout 60 zsh -f "$tests/complete.zsh" --types "$completion" 'geiger report --a' '-- use only ASCII characters'
}

files_and_directories_are_completed() (
	mkdir "$scratch/files" "$scratch/files/a-directory"
	cd "$scratch/files" || return
	touch a.geiger
	if [[ -n $("$geiger" help report 2>/dev/null) ]]; then
		becomes 'geiger report a' 'a-directory a.geiger' &&
			becomes 'geiger report --json a' 'a-directory a.geiger' &&
			becomes 'geiger leaks --suppressions a' 'a-directory a.geiger' &&
			becomes 'geiger ls a' 'a-directory' &&
			becomes 'geiger report -- -' ''
	fi
)

# The words of a command that is recorded are its own.
a_command_line_of_another_program_is_its_own() {
	if [[ -n $("$geiger" help record 2>/dev/null) ]]; then
		completed geiger record -o out.geiger bas | grep -qx bash &&
			! completed geiger record bash --c | grep -- --color
	fi
}

what_is_controlled_is_completed() {
	[[ -z $("$geiger" help control 2>/dev/null) ]] ||
		becomes 'geiger control 1 ' 'error interval off on overhead snapshot status'
}

check every_command_is_completed every_command_is_completed
check every_option_is_completed every_option_is_completed
check what_follows_help_is_a_command what_follows_help_is_a_command
check choices_are_completed choices_are_completed
if [[ $shell == bash ]]; then
	check what_bash_took_apart_is_put_together what_bash_took_apart_is_put_together
else
	for sentence in zsh_itself_completes zsh_tells_what_commands_and_options_do; do
		# It types into a terminal.
		if zsh -fc 'zmodload zsh/zpty && zpty shell true' 2>/dev/null; then
			check $sentence $sentence
		else
			skip $sentence 'no terminal: /dev/pts is not mounted'
		fi
	done
fi
check files_and_directories_are_completed files_and_directories_are_completed
check a_command_line_of_another_program_is_its_own a_command_line_of_another_program_is_its_own
check what_is_controlled_is_completed what_is_controlled_is_completed
finish

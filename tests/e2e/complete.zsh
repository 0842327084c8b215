# SPDX-License-Identifier: Apache-2.0
#
# complete.zsh SCRIPT WORD... - what the last word may become by zsh's completion, one a line, with functions in
# place of those that only zsh's line editor can run.
# complete.zsh --types SCRIPT LINE TEXT - types the line and a tabulator into an interactive zsh whose $fpath
# has the script; succeeds when TEXT is on the screen.

if [[ $1 == --types ]]; then
	zmodload zsh/zpty
	zpty shell "PS1= TERM=vt100 zsh -f -i"
	zpty -w shell "fpath=(${(q)2:h} \$fpath); autoload -Uz compinit; compinit -D -u"
	zpty -w -n shell "$3"$'\t'
	zpty -r shell screen "*$4*" # waits for it: the caller has a time limit
	zpty -d shell
	exit
fi

compdef() { }
compadd() {
	local match
	for match in "${@[2,-1]}"; do
		[[ $match != "$PREFIX"* ]] || print -r -- "$match"
	done
}
_describe() {
	compadd -- "${(@)${(@P)@[-1]}%%:*}"
}
_files() {
	local files=("$PREFIX"*(N))
	[[ $1 != -/ ]] || files=("$PREFIX"*(N/))
	compadd -- "${files[@]}"
}
_command_names() {
	compadd -- "${(k)commands[@]}"
}
_normal() { }
compset() {
	PREFIX=${PREFIX#*=}
}

source "$1"
words=("${@[2,-1]}")
CURRENT=$#words
PREFIX=$words[-1]
_geiger
true

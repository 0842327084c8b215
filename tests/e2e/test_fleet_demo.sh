#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2317 # functions are called through check
#
# test_fleet_demo.sh GEIGER - script/demo-fleet finds what it planted among 50 hosts: the function
# that grew and the host that is unlike the others, in the reports and in the alerts.
. tests/test.sh

if ! command -v clickhouse-server >/dev/null; then
	skip "the demonstration finds what it planted" "there is no clickhouse-server"
	finish
fi

export GEIGER=$1 TMPDIR=$scratch NO_COLOR=1
transcript=$scratch/output

has() {
	local status=0
	grep -q -- "$1" "$transcript" || status=$?
	((status == 0)) || cat "$transcript"
	return "$status"
}
lacks() {
	if grep -- "$1" "$transcript"; then
		return 1
	fi
}

demonstrate() {
	local status=0
	script/demo-fleet --no-build >"$transcript" 2>&1 || status=$?
	((status == 0)) || cat "$transcript"
	return "$status"
}

check "the demonstration runs" demonstrate
check "it names the address of the page" has '^http://127.0.0.1:[0-9]*/?token=[0-9a-f]*$'
check "25 hosts run each version" has '^checkout  1.2 *25 *25 '
# The hosts draw with fixed seeds, so nothing beside the planted ones is found by chance.
check "the function that grew is the only one" has '^1 of 3 rows differs, 1 grew'
check "the planted function grew" has '^[*] .* parse_request'
check "the planted host deviates" has '^web-7 .* deviates$'
check "its row is the only one" has '^1 of 50 hosts deviate'
check "growth is an alert" has 'geiger_rule_alert{rule="growth",.*value="parse_request.*} 1$'
check "the host is an alert" has 'geiger_rule_alert{rule="odd",.*value="web-7"} 1$'
check "each zone is above its limit" has 'geiger_rule_alerts{rule="zone",service="checkout"} 2$'
check "what is not significant is no alert" lacks 'geiger_rule_alert{rule="large"'
check "a rule without alerts says so" has 'geiger_rule_alerts{rule="large",service="checkout"} 0$'

# Rules that are wrong are refused with their line.
refused() {
	local status=0
	printf '%s\n' '# a comment' "$1" >"$scratch/rules"
	"$GEIGER" fleet rules "$scratch/rules" >"$transcript" 2>&1 || status=$?
	cat "$transcript"
	[[ $status == 2 ]] && grep -q "rules:2: $2" "$transcript"
}
check "a rule has a limit" refused 'a b' 'needs one of'
check "a rule has one limit" refused 'a b --above 1 --deviates' 'needs one of'
check "a rule has a service" refused 'a --above 1' 'the line has 1 words'
check "quotes are closed" refused "a b --focus 'x --above 1" 'a quote is open'
check "both versions are named" refused 'a b --before 1' '--before and --after'
twice() {
	local status=0
	printf '%s\n' 'a b --above 1' 'c b --above 1' 'a b --below 1' >"$scratch/rules"
	"$GEIGER" fleet rules "$scratch/rules" >"$transcript" 2>&1 || status=$?
	cat "$transcript"
	[[ $status == 2 ]] && grep -q "rules:3: service 'b' has the rule 'a' already" "$transcript"
}
check "rules of a service have names of their own" twice
check "a rate is a chance" refused 'a b --above 1 --rate 2' '--rate 2 is not'

# A service that disappeared makes a rule without times fail; one about a window goes on.
stale() {
	local status=0 now
	now=$(date +%s)
	(
		cd "$scratch"
		export GEIGER_FLEET_STORE=$scratch/stale
		trap '"$GEIGER" fleet down stale >stopped' EXIT
		"$GEIGER" fleet up stale >started
		"$GEIGER" record --quiet -i 16k -o stale.geiger sh -c 'ls / >/dev/null'
		for age in 7200 0; do
			"$GEIGER" fleet load stale.geiger --service "age$age" --version 1 --host h \
				--at "@$(((now - age) / 600 * 600))" >loaded
		done
		printf '%s\n' 'x age7200 --below 1TiB' 'x age0 --below 1TiB' \
			'y age7200 --below 1TiB --since 1d' >rules
		"$GEIGER" fleet rules rules
	) >"$transcript" 2>&1 || status=$?
	cat "$transcript"
	[[ $status == 1 ]] && has 'evaluated{rule="x",service="age7200"} 0$' &&
		has 'evaluated{rule="x",service="age0"} 1$' &&
		has 'evaluated{rule="y",service="age7200"} 1$' &&
		has 'snapshot_time_seconds{rule="x",service="age7200"}' &&
		lacks 'geiger_rule_alert{rule="x",service="age7200"' &&
		has 'geiger_rule_alert{rule="x",service="age0"'
}
check "a rule about a service that disappeared fails" stale
finish

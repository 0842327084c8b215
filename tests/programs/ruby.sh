#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# ruby fills hashes of arrays, makes JSON and sorts strings.
#
# packages: libruby3.1
# modules: libruby ruby
# interval: 16k
# reason: Debian's libruby has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs ruby

cat >work.rb <<'RUBY'
require 'json'
Node = Struct.new(:name, :children)
def grow(depth) = Node.new("node #{depth}", depth.zero? ? [] : Array.new(3) { grow(depth - 1) })
table = Hash.new { |t, k| t[k] = [] }
60000.times { |i| table["k#{i % 977}"] << "a rather long string, number #{i}" * 2 }
again = JSON.parse(JSON.generate(table))
$kept = [table, again, grow(8), (1..20000).map { |i| :"symbol#{i}" }]
puts $kept.size
exit! 0
RUBY
record ruby work.rb >/dev/null

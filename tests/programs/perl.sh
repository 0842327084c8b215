#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# perl counts words in a hash of hashes and makes a tree.
#
# packages: perl-base
# modules: perl
# interval: 16k
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs perl

cat >work.pl <<'PERL'
use strict; use warnings;
my (%words, @kept);
for my $i (1 .. 60000) {
	my $word = join '', map { chr(97 + ($i * $_) % 26) } 1 .. 4 + $i % 5;
	push @{ $words{$word}{lines} }, $i;
	$words{$word}{text} .= "$i,";
}
sub grow { my $d = shift; return $d ? [ map { grow($d - 1) } 1 .. 3 ] : "leaf" }
my $tree = grow(9);
push @kept, { id => $_, name => "name $_", tags => [ $_, $_ + 1 ] } for 1 .. 20000;
print scalar keys %words, " ", scalar @kept, "\n";
PERL
PERL_HASH_SEED=0 record perl work.pl >/dev/null

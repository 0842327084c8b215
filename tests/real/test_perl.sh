#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
. "$(dirname "$0")/real.sh"
needs perl

cat >"$real_input/work.pl" <<'END'
use strict; use warnings;
use Data::Dumper; use List::Util qw(sum shuffle); use Digest::SHA qw(sha256_hex); use Encode;
$Data::Dumper::Sortkeys = 1; srand 7;
my %words;
for my $i (1 .. 60000) {
	my $word = join '', map { chr(97 + ($i * $_) % 26) } 1 .. 4 + $i % 5;
	push @{ $words{$word}{lines} }, $i;
	$words{$word}{text} .= "$i,";
}
my @top = (sort { length $words{$b}{text} <=> length $words{$a}{text} or $a cmp $b } keys %words)[0 .. 20];
print Dumper([ map { [ $_, scalar @{ $words{$_}{lines} } ] } @top ]);
my $text = join "\n", map { "$_: $words{$_}{text}" } sort keys %words;
(my $changed = $text) =~ s/(\d+),(\d+)/$2+$1/g;
print sha256_hex($changed), " ", length $changed, "\n";
my @tree; sub grow { my $d = shift; return $d ? [ map { grow($d - 1) } 1 .. 3 ] : "leaf" } @tree = grow(9);
sub leaves { my $t = shift; ref $t ? sum(map { leaves($_) } @$t) : 1 } print leaves($tree[0]), "\n";
my @s = map { eval "sub { \$_[0] * $_ }" } 1 .. 500; print sum(map { $_->(2) } @s), "\n";
for my $i (1 .. 20) { eval { die { code => $i } }; print "died $@->{code}\n" if $i % 7 == 0 }
my $pid = fork; if (!$pid) { my @big = map { "x" x $_ } 1 .. 2000; print STDERR "child ", scalar @big, "\n"; exit 3 }
waitpid $pid, 0; print "child ended with ", $? >> 8, "\n";
print "sorted ", join(",", (sort { $a <=> $b } shuffle 1 .. 20000)[0 .. 5]), "\n";
print encode("UTF-8", join "", map { chr } 0x3b1 .. 0x3c9), "\n";
open my $pipe, "-|", "sort -r | head -3 <<E\n1\n2\n3\nE" or die; print <$pipe>; close $pipe;
warn "about to die\n"; die "the end\n";
END
same perl_a_program perl "$real_input/work.pl"
# shellcheck disable=SC2016
same perl_documentation perl -MPod::Text -e 'Pod::Text->new->parse_file($_) for @ARGV' \
	/usr/share/perl/5.*/{CPAN,Pod/Simple,Test/More,File/Find,Getopt/Long,perl5db}.p?

# Debian's package has no test suite; it has the verification of an installation, and programs.
cat >"$real_input/scripts" <<'END'
set -u
perlivp -p
printf 'print "1..3\nok 1\nok 2\nok 3\n"' >a.t
prove -v a.t
shasum -a 512 "$1/work.pl"
json_pp -json_opt canonical,pretty <<<'{"b":[1,2,{"x":null}],"a":"text","c":{"d":[[],{}]}}'
corelist -v 5.36.0 | sort | sha256sum
pod2man --release=1 --date=2 "$2/CPAN.pm" | sha256sum
podchecker "$2/Test/More.pm"
pod2html --title=x --infile="$2/Test/More.pm" | sha256sum
printf 'MODULE = A PACKAGE = A\nint\nf(a, b)\n\tint a\n\tchar *b\n' >a.xs
xsubpp -prototypes -typemap "$2/ExtUtils/typemap" a.xs
ptar -c -f a.tar a.xs a.t && ptar -t -f a.tar && ptargrep 'MODULE' a.tar --list-only
piconv -f UTF-8 -t UTF-16LE "$1/work.pl" | sha256sum
perl -we 'my @x = (1) x 3; print $x[5]' 2>&1 | splain
END
without_seconds() {
	sed -E 's/, *[0-9.]+ wallclock secs.*//'
}
real_filter=without_seconds
real_ignore=(a.tar 'pod2htm*')
modules=$(perl -MConfig -e 'print $Config{privlib}')
same perl_s_own_programs bash "$real_input/scripts" "$real_input" "$modules"
finish

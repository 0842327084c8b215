#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# gs draws pages of text and curves and writes them as PDF.
#
# packages: ghostscript libgs10
# modules: libgs gs
# interval: 8k
# reason: Debian's libgs has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs gs

cat >work.ps <<'PS'
%!PS
/Times-Roman findfont 12 scalefont setfont
1 1 20 {
	/page exch def
	0 1 59 { /line exch def 72 750 line 12 mul sub moveto (page ) show page 10 string cvs show
		( line ) show line 10 string cvs show } for
	0 1 99 { /k exch def newpath k 3 mul 100 moveto 200 k 5 mul 300 400 500 k 7 mul curveto stroke } for
	showpage
} for
/table 5000 dict def
1 1 5000 { dup 20 string cvs cvn exch 10 array table 3 1 roll put } for
PS
record gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -sOutputFile=work.pdf work.ps

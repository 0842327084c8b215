#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
. "$(dirname "$0")/real.sh"
PATH=/usr/bin:$PATH # not what stands in for it elsewhere
needs convert

cat >"$real_input/work" <<'END'
convert -size 640x480 plasma:red-blue -seed 7 -blur 0x2 +noise Gaussian -strip a.png
convert -size 640x480 gradient:navy-gold -seed 7 -swirl 90 -wave 5x60 -strip b.jpg
convert b.jpg -resize 200% -sharpen 0x1 -rotate 11 -colors 64 -strip c.gif
convert b.jpg \( +clone -flip \) -append -sepia-tone 80% -strip d.bmp
convert -seed 7 -size 200x200 xc:white -draw 'circle 100,100 50,50' -distort SRT 30 -strip e.tiff
convert b.jpg -define png:compression-level=9 -strip f.png
identify -format '%f %m %wx%h %#\n' b.jpg c.gif d.bmp e.tiff f.png
compare -metric RMSE b.jpg f.png null:
convert nothing.png x.png
END
# plasma is random in spite of the seed; PNG and TIFF keep dates
real_ignore=(a.png)
same imagemagick_draws_and_converts bash "$real_input/work"
finish

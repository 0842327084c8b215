#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# convert draws, blurs, turns and packs pictures.
#
# packages: libmagickcore-6.q16-6 imagemagick-6.q16
# modules: libMagick convert
# interval: 64k
# reason: Debian's libMagickCore has names of its exported functions alone.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs /usr/bin/convert

MAGICK_THREAD_LIMIT=1 record /usr/bin/convert -size 400x300 gradient:navy-gold -seed 7 -swirl 90 -blur 0x2 \
	\( +clone -flip \) -append -rotate 11 -sharpen 0x1 -colors 64 -strip picture.gif

# SPDX-License-Identifier: Apache-2.0
"""The allocators of Debian's packages that are installed here: the path of each one's library."""

import os
import pathlib

LIBRARIES = pathlib.Path("/usr/lib") / f"{os.uname().machine}-linux-gnu"
FILES = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2.0",
}
INSTALLED = {name: str(LIBRARIES / file) for name, file in FILES.items() if (LIBRARIES / file).exists()}

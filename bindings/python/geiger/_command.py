# SPDX-License-Identifier: Apache-2.0
"""The command `geiger` of a wheel: becomes the program in the package."""

import os
import sys


def main():
    """Does not return."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native", "geiger")
    try:
        os.execv(path, ["geiger", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"geiger: {path}: {error.strerror}")

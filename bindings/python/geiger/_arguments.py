# SPDX-License-Identifier: Apache-2.0
"""Types of arguments for argparse, which tests and notebooks have in common."""

import argparse
import re


def whole_number(text):
    if not re.fullmatch(r"[0-9]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def file_name(text):
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text

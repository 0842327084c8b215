# SPDX-License-Identifier: Apache-2.0
"""own_regions - regions that a test's attaches leave go into a directory that ends with the test.

Import it before anything reads the environment.
"""

import atexit
import os
import shutil
import tempfile

DIRECTORY = tempfile.mkdtemp(prefix="geiger-attach-test-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
os.chmod(DIRECTORY, 0o1777)
os.environ["GEIGER_DIR"] = DIRECTORY
atexit.register(shutil.rmtree, DIRECTORY, ignore_errors=True)

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# node compresses rows, keeps buffers, and starts a worker.
#
# packages: nodejs
# modules: node libnode
# interval: 64k
# nameless: libnode
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs node

cat >work.js <<'NODE'
const zlib = require('zlib'), crypto = require('crypto'), { Worker, isMainThread } = require('worker_threads');
const rows = Array.from({ length: 40000 }, (_, i) => ({ id: i, name: 'row ' + i, tags: [i, i + 1] }));
if (isMainThread) {
	const text = JSON.stringify(rows);
	const kept = [];
	for (let i = 0; i < 40; i++)
		kept.push(Buffer.from(text.slice(i * 1000, i * 1000 + 200000)));
	const packed = zlib.gzipSync(text);
	kept.push(zlib.gunzipSync(packed), Buffer.concat(kept));
	crypto.createHash('sha256').update(text).digest('hex');
	new Worker(__filename).on('exit', () => { console.log(kept.length); process.exit(0); });
} else {
	JSON.parse(JSON.stringify(rows));
}
NODE
record node work.js >/dev/null

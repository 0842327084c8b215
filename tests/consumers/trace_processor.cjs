// SPDX-License-Identifier: Apache-2.0
//
// trace_processor.cjs FILE SQL... - asks Perfetto's own trace_processor about a trace; prints a JSON
// list of lists of rows.  TRACE_PROCESSOR is the folder with its WebAssembly build, which was made for a
// browser's worker: what it expects of one is put in its place first.
'use strict';

const fs = require('fs');
const path = require('path');

const folder = path.resolve(process.env.TRACE_PROCESSOR);
const program = fs.readFileSync(path.join(folder, 'trace_processor.wasm'));
const [file, ...queries] = process.argv.slice(2);

globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = { href: `file://${folder}/` };
globalThis.XMLHttpRequest = class {
  open() {}
  send() {
    this.status = 200;
    this.response = program.buffer.slice(
      program.byteOffset, program.byteOffset + program.byteLength);
  }
};
globalThis.fetch = async () =>
  new Response(program, { headers: { 'content-type': 'application/wasm' } });

// The program is of 32 bits; the bundle tries by a module of 23 bytes whether 64 work, and must not.
const Module = WebAssembly.Module;
WebAssembly.Module = class extends Module {
  constructor(bytes) {
    if (bytes.byteLength === 23) throw new Error('no 64-bit memory');
    super(bytes);
  }
};
console.warn = () => {};

async function main() {
  require(path.join(folder, 'engine_bundle.node.js'));
  const { EngineBase } = await import(path.join(folder, 'engine.mjs'));
  class Engine extends EngineBase {
    constructor(port) {
      super();
      this.port = port;
      port.onmessage = (message) => this.onRpcResponseBytes(message.data);
    }
    get mode() { return 'WASM'; }
    get id() { return 'test'; }
    rpcSendRequestBytes(bytes) { this.port.postMessage(bytes); }
    [Symbol.dispose]() {}
  }
  const channel = new MessageChannel();
  self.onmessage({ data: channel.port1 });
  const engine = new Engine(channel.port2);
  const trace = fs.readFileSync(file);
  for (let at = 0; at < trace.length; at += 1 << 20)
    await engine.parse(new Uint8Array(trace.subarray(at, at + (1 << 20))));
  await engine.notifyEof();
  const answers = [];
  for (const query of queries) {
    const result = await engine.query(query);
    const columns = result.columns();
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next())
      rows.push(columns.map((column) => {
        const value = row.get(column);
        return typeof value === 'bigint' ? Number(value) : value;
      }));
    answers.push(rows);
  }
  console.log(JSON.stringify(answers));
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

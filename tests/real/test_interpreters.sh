#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/real/real.sh disable=SC2317,SC2086,SC2034 # what `same` runs; numbers
#
# Programs that bring their own heaps, collectors, compilers and threads.
. "$(dirname "$0")/real.sh"

# with PROGRAM NAME COMMAND... - the test, if the program is there.
with() {
	local program=$1
	shift
	if command -v "$program" >/dev/null; then
		same "$@"
	else
		echo "skipped - $1: $program is not installed"
	fi
}

cat >"$real_input/a.js" <<'END'
const { Worker, isMainThread, parentPort } = require('worker_threads'), zlib = require('zlib'),
	crypto = require('crypto'), { execFileSync } = require('child_process');
if (!isMainThread) {
	let s = 0; for (let i = 0; i < 2e5; i++) s += JSON.stringify({ i, t: [i, i + 1] }).length;
	parentPort.postMessage(s);
} else {
	const text = Array.from({ length: 50000 }, (_, i) => 'row ' + i).join('\n');
	console.log(zlib.gunzipSync(zlib.gzipSync(text)).equals(Buffer.from(text)));
	console.log(crypto.createHash('sha256').update(text).digest('hex'));
	console.log(text.match(/\d+9\n/g).length, new Set(text.split('')).size);
	console.log(execFileSync('echo', ['child']).toString());
	let left = 3; const sums = [];
	for (let i = 0; i < 3; i++)
		new Worker(__filename).on('message', s => { sums.push(s); if (--left === 0) { console.log(sums); process.exitCode = 5; } });
}
END
cat >"$real_input/a.py" <<'END'
import hashlib, json, os, re, subprocess, sys, threading, zlib
rows = [{"i": i, "t": [str(i * k) * 3 for k in range(20)]} for i in range(20000)]
text = json.dumps(rows); print(len(json.loads(text)), hashlib.sha256(text.encode()).hexdigest())
print(len(zlib.decompress(zlib.compress(text.encode()))), len(re.findall(r"\d+9", text)))
sums = []; work = lambda n: sums.append(sum(len(str(i * n)) for i in range(100000)))
threads = [threading.Thread(target=work, args=[n]) for n in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]; print(sorted(sums))
child = os.fork()
if child == 0: os._exit(len("".join(map(str, range(20000)))) % 100)
print(os.waitpid(child, 0)[1] >> 8, subprocess.run(["echo", "child"], capture_output=True).stdout)
print("err", file=sys.stderr); sys.exit(7)
END
cat >"$real_input/a.rb" <<'END'
require 'json'; require 'digest'; require 'zlib'
h = Hash.new { |t, k| t[k] = [] }; 60000.times { |i| h["k#{i % 977}"] << i.to_s * 3 }
puts Digest::SHA256.hexdigest(JSON.generate(h)); puts Zlib::Inflate.inflate(Zlib::Deflate.deflate('x' * 1000000)).size
puts 8.times.map { |t| Thread.new { (1..2000).map { |i| "#{t}#{i}" }.sort.last } }.map(&:value).inspect
puts Fiber.new { Fiber.yield 1; 2 }.then { |f| [f.resume, f.resume] }.inspect; GC.start; GC.compact rescue puts 'none'
pid = fork { s = (1..20000).map(&:to_s).join; exit!(s.size % 100) }; Process.wait pid; puts $?.exitstatus
begin; raise ArgumentError, 'x'; rescue => e; puts e.full_message(highlight: false).lines.size; end; abort 'the end'
END
cat >"$real_input/a.php" <<'END'
<?php $a = []; for ($i = 0; $i < 60000; $i++) { $a["k" . $i % 991][] = str_repeat("v$i", 3); }
$sum = 0; for ($i = 0; $i < 60; $i++) { $sum += strlen(gzcompress(serialize($a))); } echo $sum, "\n";
echo hash('sha256', json_encode($a)), "\n", strlen(gzuncompress(gzcompress(str_repeat('abc', 300000)))), "\n";
echo preg_replace_callback('/\d+/', fn($m) => $m[0] * 2, '1 22 333'), "\n"; echo count(unserialize(serialize($a))), "\n";
function g($n) { for ($i = 0; $i < $n; $i++) yield $i => str_repeat('g', $i); } echo array_sum(array_map('strlen', iterator_to_array(g(2000)))), "\n";
try { intdiv(1, 0); } catch (DivisionByZeroError $e) { echo get_class($e), "\n"; } fwrite(STDERR, "err\n"); exit(4);
END
cat >"$real_input/A.java" <<'END'
import java.util.*; import java.util.stream.*; import java.util.concurrent.*; import java.util.zip.*;
public class A { public static void main(String[] a) throws Exception {
	Map<String, List<String>> m = new TreeMap<>(); for (int i = 0; i < 60000; i++) m.computeIfAbsent("k" + i % 977, k -> new ArrayList<>()).add("" + i * 3);
	System.out.println(m.hashCode()); CRC32 c = new CRC32(); c.update(m.toString().getBytes()); System.out.println(c.getValue());
	ExecutorService e = Executors.newFixedThreadPool(4); List<Future<Integer>> f = new ArrayList<>();
	for (int t = 0; t < 8; t++) { int n = t; f.add(e.submit(() -> IntStream.range(0, 20000).map(i -> Integer.toString(i * n).length()).sum())); }
	for (Future<Integer> x : f) System.out.println(x.get()); e.shutdown(); System.err.println("err"); System.exit(6); } }
END
cat >"$real_input/a.R" <<'END'
words <- lapply(seq_len(3000), function(i) paste(rep("x", 100), collapse = as.character(i)))
pairs <- lapply(seq_len(50000), function(i) list(i))
text <- sort(vapply(words, nchar, 0))
cat(length(pairs), sum(text), sum(vapply(pairs, function(p) p[[1]], 0)), "\n")
model <- lm(dist ~ speed, data = cars)
print(round(coef(model), 4))
invisible(gc())
print(tryCatch(stop("an error"), error = conditionMessage))
quit(status = 3)
END
with node node_with_workers node "$real_input/a.js"
# The one of PATH, which may be another one than that of test_python.sh.
with python3 python_with_threads_and_fork python3 "$real_input/a.py"
with ruby ruby_with_threads_and_fork ruby "$real_input/a.rb"
with php php_a_script php "$real_input/a.php"
with Rscript r_a_script Rscript "$real_input/a.R"
real_least=1
with java java_says_its_version java -version
if java -m jdk.compiler/com.sun.tools.javac.Main -version >/dev/null 2>&1; then
	with java java_a_program java "$real_input/A.java"
else
	echo "skipped - java_a_program: this Java has no compiler"
fi
finish

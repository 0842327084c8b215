#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# java runs a class that keeps a map of lists and uses streams on threads.
#
# packages: openjdk-17-jre-headless
# modules: libjvm libjli libjava libzip libjimage libnio
# interval: 16k
# reason: the heap of Java objects is the JVM's own, so rows are functions of the JVM.
# names: SymbolTable::allocate_symbol
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs java javac

cat >Work.java <<'JAVA'
import java.util.*;
import java.util.stream.*;
import java.util.zip.*;
public class Work {
	public static void main(String[] arguments) throws Exception {
		Map<String, List<String>> map = new TreeMap<>();
		for (int i = 0; i < 60000; i++)
			map.computeIfAbsent("k" + i % 977, k -> new ArrayList<>()).add("" + i * 3);
		CRC32 crc = new CRC32();
		crc.update(map.toString().getBytes());
		System.out.println(crc.getValue());
		System.out.println(IntStream.range(0, 200000).mapToObj(Integer::toString).collect(Collectors.joining()).length());
	}
}
JAVA
javac Work.java
record java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:off -cp . Work >/dev/null

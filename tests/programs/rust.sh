#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program in Rust keeps trees, a map of vectors of strings, and sorted copies.
#
# packages: rustc
# modules: work
# interval: 16k
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs /usr/bin/rustc

cat >work.rs <<'RUST'
use std::collections::{BTreeMap, HashMap};
struct Node { name: String, children: Vec<Box<Node>> }
#[inline(never)]
fn grow(depth: u32) -> Box<Node> {
    let children = if depth == 0 { Vec::new() } else { (0..3).map(|_| grow(depth - 1)).collect() };
    Box::new(Node { name: format!("node {}", depth), children })
}
#[inline(never)]
fn index_words(count: usize) -> HashMap<String, Vec<String>> {
    let mut map: HashMap<String, Vec<String>> = HashMap::new();
    for i in 0..count {
        map.entry(format!("key {}", i % 997)).or_default().push(i.to_string());
    }
    map
}
#[inline(never)]
fn sorted_copy(map: &HashMap<String, Vec<String>>) -> BTreeMap<String, usize> {
    map.iter().flat_map(|(k, v)| v.iter().map(move |w| (format!("{}/{}", k, w), w.len()))).collect()
}
#[inline(never)]
fn load_table(rows: usize) -> Vec<[u64; 8]> {
    (0..rows as u64).map(|i| [i; 8]).collect()
}
fn count(node: &Node) -> usize {
    node.name.len() + node.children.iter().map(|c| count(c)).sum::<usize>()
}
fn main() {
    let tree = grow(8);
    let words = index_words(60_000);
    let sorted = sorted_copy(&words);
    let table = load_table(30_000);
    println!("{} {} {}", count(&tree), sorted.len(), table.len());
    std::process::exit(0);
}
RUST
/usr/bin/rustc -O -g work.rs
record ./work >/dev/null

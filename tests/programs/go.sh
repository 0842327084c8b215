#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program in Go keeps a map of slices. geiger cannot see it.
#
# packages: golang-1.19-go
# interval: 16k
# modules: none
# says: it is a Go program
# reason: Go's runtime has an allocator of its own and calls no malloc.
# shellcheck source=tests/programs/workload.sh
. "$(dirname "$0")/workload.sh"
needs go

cat >work.go <<'GO'
package main

import "fmt"

var table = map[string][]string{}

func main() {
	for i := 0; i < 60000; i++ {
		key := fmt.Sprint("key ", i%997)
		table[key] = append(table[key], fmt.Sprint(i))
	}
	fmt.Println(len(table))
}
GO
GOCACHE=$PWD/cache GO111MODULE=off CGO_ENABLED=0 go build -o work work.go
record ./work >/dev/null

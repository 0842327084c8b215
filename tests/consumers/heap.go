// SPDX-License-Identifier: Apache-2.0

// Writes its own heap profile, as protocol buffers and as text.  Then it prints an address, and
// serves the same profile there until its standard input ends.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"runtime/pprof"
)

var keep [][]byte

//go:noinline
func small() {
	for i := 0; i < 100000; i++ {
		block := make([]byte, 64)
		if i%2 == 0 {
			keep = append(keep, block)
		}
	}
}

//go:noinline
func large() {
	for i := 0; i < 200; i++ {
		block := make([]byte, 100000+i*100)
		if i%4 == 0 {
			keep = append(keep, block)
		}
	}
}

func write(path string, debug int) {
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	if err := pprof.Lookup("heap").WriteTo(file, debug); err != nil {
		panic(err)
	}
	file.Close()
}

func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, nil)
	fmt.Println(listener.Addr())
	io.Copy(io.Discard, os.Stdin)
}

func main() {
	runtime.MemProfileRate = 16384
	small()
	large()
	runtime.GC()
	write(os.Args[1], 0)
	write(os.Args[2], 1)
	serve()
	runtime.KeepAlive(keep)
}

// SPDX-License-Identifier: Apache-2.0

// fleet_heap holds blocks of several sizes, allocates and drops others, and serves its heap as
// net/http/pprof does, without the rest of net/http, which takes long to build.
package main

import (
	"bufio"
	"fmt"
	"net"
	"runtime"
	"runtime/pprof"
	"time"
)

var held [][]byte

//go:noinline
func hold(size, count int) {
	for i := 0; i < count; i++ {
		held = append(held, make([]byte, size))
	}
}

//go:noinline
func churn() []byte {
	return make([]byte, 9000)
}

func answer(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	for {
		line, err := reader.ReadString('\n')
		if err != nil || len(line) <= 2 {
			break
		}
	}
	runtime.GC()
	fmt.Fprint(connection, "HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n")
	pprof.Lookup("heap").WriteTo(connection, 0)
}

func main() {
	runtime.MemProfileRate = 16384
	hold(48, 100000)
	hold(5000, 4000)
	hold(1<<20, 20)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			for i := 0; i < 1000; i++ {
				held[0] = churn()
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	fmt.Println(listener.Addr())
	for {
		connection, err := listener.Accept()
		if err == nil {
			answer(connection)
		}
	}
}

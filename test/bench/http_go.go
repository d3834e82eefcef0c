// SPDX-License-Identifier: MIT
//
// http_go.go - Go's net/http beside http_mpr: `http_go PORT DOCUMENTS`. /1k from memory; /cache the same, while a map of
// 500,000 entries lives and one of them is replaced; others are files.
package main

import (
	"net/http"
	"os"
	"strconv"
	"sync"
)

type entry struct{ bytes []byte }

func main() {
	kilobyte := make([]byte, 1024)
	for i := range kilobyte {
		kilobyte[i] = 'k'
	}
	const entries = 500000
	var lock sync.Mutex
	var cache map[string]*entry
	seed := uint32(1)
	answer := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(kilobyte)
	}
	http.HandleFunc("/1k", func(w http.ResponseWriter, r *http.Request) { answer(w) })
	http.HandleFunc("/cache", func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		if cache == nil {
			cache = make(map[string]*entry, entries)
			for i := 0; i < entries; i++ {
				cache[strconv.Itoa(i)] = &entry{make([]byte, 64)}
			}
		}
		seed = seed*1664525 + 1013904223
		cache[strconv.Itoa(int(seed>>8)%entries)] = &entry{make([]byte, 64)}
		lock.Unlock()
		answer(w)
	})
	http.Handle("/", http.FileServer(http.Dir(os.Args[2])))
	if http.ListenAndServe("127.0.0.1:"+os.Args[1], nil) != nil {
		os.Exit(1)
	}
}

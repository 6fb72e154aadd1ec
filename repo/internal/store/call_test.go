package store

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// What panics or ends its goroutine among calls at the same time does so to their caller, once all have ended.
func TestEndsAtOnce(t *testing.T) {
	const n = 3
	for which := range n {
		var ran atomic.Int32
		run := func(end func()) (panicked any, returned bool) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { panicked = recover() }()
				var k Call
				k.AtOnce(n, func(i int, _ *Call) {
					if i == which {
						end()
					}
					ran.Add(1)
				})
				returned = true
			}()
			<-done
			return panicked, returned
		}
		if got, returned := run(func() { panic("own") }); got != "own" || returned || ran.Load() != n-1 {
			t.Errorf("call %d panics: the caller has %v, %v, after %d others", which, got, returned, ran.Load())
		}
		if got, returned := run(runtime.Goexit); got != nil || returned {
			t.Errorf("call %d ends its goroutine: the caller has %v, %v", which, got, returned)
		}
	}
}

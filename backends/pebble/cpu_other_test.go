//go:build !unix

package pebble_test

// cpu is 0: the processor time of a process is measured on Unix only.
func cpu() int64 { return 0 }

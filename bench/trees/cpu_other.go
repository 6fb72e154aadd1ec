//go:build !unix

package main

import "time"

// cpu is not known.
func cpu() time.Duration { return 0 }

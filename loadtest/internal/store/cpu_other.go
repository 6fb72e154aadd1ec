//go:build !unix

package store

import "time"

// CPUTime is not known here.
func CPUTime() time.Duration { return 0 }

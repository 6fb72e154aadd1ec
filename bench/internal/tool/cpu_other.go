//go:build !unix

package tool

import "time"

// cpu is not known.
func CPU() time.Duration { return 0 }

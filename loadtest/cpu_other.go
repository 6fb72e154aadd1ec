//go:build !unix

package loadtest

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }

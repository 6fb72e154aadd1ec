//go:build race

package simulate_test

// How much the short form does under the race detector, which makes runs slow.
const (
	repeats = 200 // stories told twice
	seeds   = 600
	runs    = 60
)

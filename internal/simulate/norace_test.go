//go:build !race

package simulate_test

// How much the short form does: seeds drawn, and runs of a scenario.
const (
	repeats = 1000 // stories told twice
	seeds   = 4000
	runs    = 500
)

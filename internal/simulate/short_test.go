package simulate_test

// How much the short form does: seeds drawn, and runs of a scenario.
const (
	repeats = 400 // stories told twice
	seeds   = 1500
	runs    = 100
)

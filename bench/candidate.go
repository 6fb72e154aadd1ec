package main

// A candidate is one way to do the work. Each runs in a process of its own.
type candidate struct {
	name string
	open func(dir string, sync, covering bool) (posts, error)

	covering bool
}

// The names of the candidates.
const (
	floorName        = "floor"
	floorAgainName   = "floor again"
	floorCovers      = "floor covering"
	tunedName        = "tuned floor"
	tunedCovers      = "tuned floor covering"
	oursName         = "keys-only"
	oursCoveringName = "covering"
)

// candidates are those that a run compares. The floor is there twice, so that it
// shows how far apart two runs of the same code come out; tuned, it shows what is
// the least that we know how to spend.
var candidates = []candidate{
	{floorName, openPlain, false},
	{floorAgainName, openPlain, false},
	{floorCovers, openPlain, true},
	{tunedName, openTuned, false},
	{tunedCovers, openTuned, true},
	{oursName, openOurs, false},
	{oursCoveringName, openOurs, true},
}

// A setting is how commits are acknowledged, and by how many goroutines.
type setting struct {
	Name    string `json:"name"`
	Sync    bool   `json:"sync"`
	Workers int    `json:"workers"`
}

var settings = []setting{
	{"no fsync, 1 goroutine", false, 1},
	{"fsync, 16 goroutines", true, 16},
}

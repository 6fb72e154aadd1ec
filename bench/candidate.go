package main

// A candidate is one way to do the work. Each runs in a process of its own.
type candidate struct {
	name string
	open func(at place, covering bool) (posts, error)

	covering bool
}

// A place is where a candidate keeps its posts.
type place struct {
	dir  string // in Redis it only keeps the names of candidates apart
	sync bool
	url  string // of Redis, or ""
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

// onPebble are the candidates on Pebble. The floor is there twice, so that it
// shows how far apart two runs of the same code come out; tuned, it shows what is
// the least that we know how to spend.
var onPebble = []candidate{
	{floorName, openPlain, false},
	{floorAgainName, openPlain, false},
	{floorCovers, openPlain, true},
	{tunedName, openTuned, false},
	{tunedCovers, openTuned, true},
	{oursName, openOurs, false},
	{oursCoveringName, openOurs, true},
}

// onRedis are the candidates on Redis.
var onRedis = []candidate{
	{floorName, openRedisFloor, false},
	{floorAgainName, openRedisFloor, false},
	{oursName, openRedisOurs, false},
}

// A setting is the store, how its commits are acknowledged, and by how many
// goroutines it is used.
type setting struct {
	Name    string `json:"name"`
	Sync    bool   `json:"sync"`
	Workers int    `json:"workers"`
	Redis   bool   `json:"redis,omitempty"`
}

func (s *setting) candidates() []candidate {
	if s.Redis {
		return onRedis
	}
	return onPebble
}

var settings = []setting{
	{Name: "no fsync, 1 goroutine", Workers: 1},
	{Name: "fsync, 16 goroutines", Sync: true, Workers: 16},
	{Name: "Redis, 1 goroutine", Workers: 1, Redis: true},
	{Name: "Redis, 16 goroutines", Workers: 16, Redis: true},
	{Name: "Redis, 64 goroutines", Workers: 64, Redis: true},
}

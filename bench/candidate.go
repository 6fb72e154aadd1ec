package main

import (
	"slices"
	"sync/atomic"
)

// A candidate is one way to do the work. Each runs in a process of its own.
type candidate struct {
	name string
	open func(at place, covering bool) (posts, error) // nil where the work is trees
	tree func(at place) (trees, error)                // nil where it is posts

	covering bool
	local    bool // the posts of an author lie together, with their indexes
	reads    bool // a tree is loaded and read, and not written otherwise
}

// A place is where a candidate keeps its posts.
type place struct {
	dir      string // of a server it only keeps the names of candidates apart
	sync     bool
	url      string        // of the server, or ""
	requests *atomic.Int64 // counts requests to the server, where candidates can; nil if none counts
}

// counts reports whether requests are counted, and counts one if they are.
func (p *place) count() {
	if p.requests != nil {
		p.requests.Add(1)
	}
}

// The names of the candidates.
const (
	floorName        = "floor"
	floorAgainName   = "floor again"
	floorCovers      = "floor covering"
	tunedName        = "tuned floor"
	tunedCovers      = "tuned floor covering"
	usualName        = "usual floor"
	oursName         = "keys-only"
	oursCoveringName = "covering"
	nativeName       = "native floor"
	oursNativeName   = "native"
)

// onPebble are the candidates on Pebble. The floor is there twice, so that it
// shows how far apart two runs of the same code come out; tuned, it shows what is
// the least that we know how to spend.
var onPebble = []candidate{
	{name: floorName, open: openPlain},
	{name: floorAgainName, open: openPlain},
	{name: floorCovers, open: openPlain, covering: true},
	{name: tunedName, open: openTuned},
	{name: tunedCovers, open: openTuned, covering: true},
	{name: oursName, open: openOurs},
	{name: oursCoveringName, open: openOurs, covering: true},
}

// onRedis are the candidates on Redis. The floor keeps what the library keeps; the usual
// floor is what people write.
var onRedis = []candidate{
	{name: floorName, open: openRedisFloor},
	{name: floorAgainName, open: openRedisFloor},
	{name: usualName, open: openUsualFloor},
	{name: oursName, open: openRedisOurs},
	{name: oursCoveringName, open: openRedisOurs, covering: true},
}

// onMongo are the candidates on MongoDB. The floor keeps its indexes in collections of
// their own, like the library with index tables; the native floor has the server keep
// them, like the library with native indexes, and the usual floor reads as clients do
// when nothing is said.
var onMongo = []candidate{
	{name: floorName, open: openMongoFloor},
	{name: floorAgainName, open: openMongoFloor},
	{name: nativeName, open: openMongoNative},
	{name: usualName, open: openMongoUsual},
	{name: oursName, open: mongoOursOf("table")},
	{name: oursNativeName, open: mongoOursOf("native")},
}

// onCassandra are the candidates on Cassandra.
var onCassandra = []candidate{
	{name: floorName, open: openCassandraFloor, local: true},
	{name: floorAgainName, open: openCassandraFloor, local: true},
	{name: oursName, open: openCassandraOurs, local: true},
}

// A setting is the store, how its commits are acknowledged, by how many
// goroutines it is used, and for what.
type setting struct {
	Name    string `json:"name"`
	Sync    bool   `json:"sync"`
	Workers int    `json:"workers"`
	Store   string `json:"store,omitempty"` // the name of a server; "" is Pebble
	Work    string `json:"work"`
}

// The names of works and stores, as -only has them.
const (
	postsName = "posts"
	treesName = "trees"
)

var (
	workNames  = []string{postsName, treesName}
	storeNames = []string{"nosync", "fsync", redisName, mongoName, cassandraName}
)

// storeName is the name of the store, and of how it acknowledges.
func (s *setting) storeName() string {
	switch {
	case s.Store != "":
		return s.Store
	case s.Sync:
		return "fsync"
	}
	return "nosync"
}

func (s *setting) candidates() []candidate {
	if s.Work == treesName {
		return serverOf(s.Store).trees
	}
	return serverOf(s.Store).candidates
}

func (s *setting) work() *work {
	if s.Work == treesName {
		return treeWork(s.Store)
	}
	return &onPosts
}

// chosen returns those of some operations that are of the setting's work; of none it is all.
func (s *setting) chosen(ops []string) []string {
	all := s.work().operations
	if len(ops) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(op string) bool { return !slices.Contains(ops, op) })
}

var settings = []setting{
	{Name: "no fsync, 1 goroutine", Workers: 1, Work: postsName},
	{Name: "fsync, 16 goroutines", Sync: true, Workers: 16, Work: postsName},
	{Name: "Redis, 1 goroutine", Workers: 1, Store: redisName, Work: postsName},
	{Name: "Redis, 16 goroutines", Workers: 16, Store: redisName, Work: postsName},
	{Name: "Redis, 64 goroutines", Workers: 64, Store: redisName, Work: postsName},
	{Name: "MongoDB, 16 goroutines", Workers: 16, Store: mongoName, Work: postsName},
	{Name: "Cassandra, 16 goroutines", Workers: 16, Store: cassandraName, Work: postsName},
	{Name: "trees, no fsync, 1 goroutine", Workers: 1, Work: treesName},
	{Name: "trees, Redis, 1 goroutine", Workers: 1, Store: redisName, Work: treesName},
	{Name: "trees, MongoDB, 1 goroutine", Workers: 1, Store: mongoName, Work: treesName},
}

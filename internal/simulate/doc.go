// Package simulate runs package repo itself, not a model of it, over a store in which
// every call of every client waits until a scheduler says which goes next and what
// becomes of it: done and answered, done but the answer lost, never done, done later,
// done twice, answered late, refused; or the client stops for ever at it. What the
// store holds is looked at after every step and compared with what the clients were
// told, so that each promise of the commit protocol is checked where it is made:
//
//	P1  Versions never come back, an acknowledged write is there, a refused one never.
//	P2  A lookup returns every record that matched from before the call until after it.
//	P3  Every record that a lookup returns matched at a moment inside the call.
//	P4  A unique value has one holder at every instant; a lookup by it is linearizable.
//	P5  When all have stopped and Maintain ran, there is no garbage, and nothing lacks.
//	P6  Resolve never answers what did not happen, and never takes an answer back. It knows as
//	    long as fewer than four others wrote the record since, but for what was sent without reading.
//
// A run is a list of choices: made one after the other by depth-first search, or drawn
// at random from a seed. Time is simulated (testing/synctest), so a run takes well below
// a millisecond, and the same choices make the same run. A run that breaks a promise is
// shrunk, by leaving out faults and changes of turn, and told as a story.
//
//	go test ./internal/simulate                                           # short form
//	go test ./internal/simulate -run TestScenarios -v -timeout 0 -args -most 1000000000
//	go test ./internal/simulate -run TestScenarios -v -timeout 0 -args -most 100000 -faults 2 -switches 3
//	go test ./internal/simulate -run TestLong -v -timeout 0 -args -time 10m -seed 7
//	go test ./internal/simulate -run TestLong -args -replay 12345         # one seed
//	go test ./internal/simulate -run TestLong -args -scenario NAME -choices 0,2,1
//
// # What is bounded
//
// Faults, late messages and leaps of time are so many a run; a search may bound how
// often another client gets its turn while one could go on, and says so. A request
// that changes a record is on its way for ten minutes at most: that is what a store's
// transport owes the tombstones. Clocks of clients agree. A refusal is final: a store that
// answered one does not do the commit later. Groups are of two
// records with one key, of collections that lie together; rebuilds and changes of a schema are not simulated.
package simulate

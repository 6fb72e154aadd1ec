// Package limit has the bounds of the load tool, in one place. Nothing comes in; constants go out.
package limit

import "time"

// Of a run's rounds.
const (
	MaxRate     = 100_000 // operations a second
	MaxRounds   = 100
	MinRound    = 100 * time.Millisecond
	MaxRound    = 10 * time.Minute
	MaxRoundOps = 200_000 // they are made before the round begins
)

// LeastRounds is how many rounds tell a difference from chance.
const LeastRounds = 4

// LeastBacklog is how many operations that wait tell something. Of a short round one is
// a hundredth, and may just have become due.
const LeastBacklog = 5

// MaxResult is how many bytes a result file has at most.
const MaxResult = 64 << 20

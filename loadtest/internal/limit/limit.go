// Package limit has the bounds of the load tool, in one place. Nothing comes in; constants go out.
package limit

import "time"

// Of a workload file.
const (
	MaxYAML    = 256 << 10 // bytes
	MaxDepth   = 32        // of nested lists and mappings, of JSON too; the time of the YAML parser grows with its square
	MaxRate    = 100_000   // operations a second
	MaxSlots   = 4096
	MaxRecords = 50_000_000 // of a collection, and numbers that zipf draws from
	MaxFound   = 100_000    // records of a query
	MaxSet     = 100        // values of a condition
	MaxPages   = 1000
	MaxBuckets = 256
	MaxParts   = 10_000    // words of a text, elements of a list
	MaxLevels  = 10_000    // of a subtree
	MaxPayload = 512 << 10 // bytes of a generated value; a record has at most MaxLine

	BucketPoints = 1000 // of a series, where the model does not say how many
	MaxSpan      = 10 * 365 * 24 * time.Hour

	MinTTL = time.Hour // so that nothing expires during a run, in one candidate and not yet in another
	MaxTTL = 10 * 365 * 24 * time.Hour
)

// Of a run's rounds.
const (
	MaxRounds   = 100
	MinRound    = 100 * time.Millisecond
	MaxRound    = 10 * time.Minute
	MinSpeed    = 0.01 // of a trace
	MaxSpeed    = 1000.0
	MaxRoundOps = 200_000                 // they are made before the round begins
	MinGrace    = 2 * time.Second         // for operations that go on behind the last instant
	LongestTime = int64(10 * time.Minute) // that a histogram keeps, in nanoseconds
)

// Of the data.
const (
	MaxLine     = 1 << 20   // bytes of a line of a data file; a record has no more either
	MaxUnpacked = 256 << 20 // bytes that a compressed file may need at once
	MaxFaults   = 20        // of a data file before its reading stops
)

// Of loading.
const (
	FirstPiece    = 512  // records of a collection, whose loading tells how long that of all takes
	FirstGathered = 4096 // as that, where the library gathers so many to commit them by their partitions
	LoadedAtOnce  = 2    // candidates of a store, where the library commits one after the other

	EmbeddedAtOnce = 50_000 // records that are gathered to be embedded in others
	HostsAtOnce    = 512    // records in which they are embedded, with all that is in them
)

// Of the sampled calls.
const (
	SampledReads  = 300 // calls of each query that reads
	SampledWrites = 30  // calls of each query that writes
	SampledAgain  = 30  // reads after the writes
	SampleTime    = 400 * time.Millisecond
	LeastSamples  = 5    // also of calls that take long
	PlannedFrom   = 1000 // records of each collection from which calls are drawn before anything is loaded
)

// Of the answers that are checked during the rounds.
const (
	CheckedShare   = 16                     // one call of so many
	CheckedKeys    = 2000                   // reads by key of a round, or all; an answer is one record
	CheckedSoon    = 100 * time.Millisecond // that a read by key is due after a write of the record: it is checked, too
	CheckedRecords = 20_000                 // that are kept at once, until the round has ended
	CheckedLooks   = 500_000                // at records that may be missing, after a round, and as many at those that were written
	CheckedWritten = 20_000                 // records of a collection that were written, after the round; nothing more is known of others
	LookTime       = 200 * time.Nanosecond  // that a look takes, about
)

// Of what is measured.
const (
	LongestStep  = 20 * time.Second       // a round of the search for the highest rate, of which only few calls make it longer than others
	LeastRounds  = 4                      // that tell a difference from chance
	LeastBacklog = 5                      // operations that wait and tell something; of a short round one is a hundredth, and may just have become due
	StallTime    = 250 * time.Millisecond // shorter stalls are not told
	StallTimes   = 20                     // a stall takes so many times what operations take beside it

	MaxIntervals  = 20                     // of a round in the series of a result
	LeastInterval = 100 * time.Millisecond // of these
)

// Of the phase with faults.
const (
	MaxPhase        = 4 * time.Hour          // that it lasts
	RestartTime     = 2 * time.Minute        // until a server answers that was started again
	RecoveryTime    = 10 * time.Second       // after the last fault, unless a run says how long the phase is
	RecoveryWindow  = 100 * time.Millisecond // of calls whose response times are looked at together
	RecoveryWindows = 5                      // one after the other, all under the objectives: it has recovered
)

// Of stores.
const (
	AnswerTime   = 10 * time.Second // until a store is taken for lost
	CleanTime    = time.Minute      // to remove a run from a store
	RestoreTime  = 10 * time.Minute // to undo the writes of a run in what it keeps
	LeftoverTime = 3 * time.Minute  // to remove killed runs: on MongoDB a killed program's transaction keeps what it wrote to from being dropped for a minute
	LongestRun   = 24 * time.Hour   // on another machine; after that a run is taken for ended
)

// Of a load that several processes send.
const (
	MaxShares  = 256
	ShareLead  = 50 * time.Millisecond  // from the moment at which a share must be ready to its round
	ShareSlack = time.Second            // for what is done between two rounds
	ShareLook  = 200 * time.Millisecond // between two looks at what other shares do
	ShareTime  = time.Minute            // that the first share waits for the end of others
	MaxAhead   = 24 * time.Hour         // from now to the start
)

// Grace is how long calls may go on behind the last instant of a round.
func Grace(round time.Duration) time.Duration { return max(round, MinGrace) }

// MaxResult is how many bytes a result file has at most.
const MaxResult = 64 << 20

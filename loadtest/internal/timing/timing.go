// Package timing tells how long parts of a run take. What a first piece of the work took comes in; the time of all of it
// goes out.
package timing

import (
	"slices"
	"time"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// Shared returns how long pieces of work take that are done by so many workers, the longest first.
func Shared(pieces []time.Duration, workers int) time.Duration {
	free := make([]time.Duration, max(workers, 1))
	for _, d := range slices.Backward(slices.Sorted(slices.Values(pieces))) {
		slices.Sort(free)
		free[0] += d
	}
	return slices.Max(free)
}

// Rounds returns how long the rounds of a candidate take, with the half one before them, and with what each of them needs
// beside. Load is how much it asks of the
// processors, of all that there is: with more than that the rounds are saturated. Then they go on until calls are cut off,
// and after a few of them the others are left out.
func Rounds(rounds int, round, beside time.Duration, load float64) time.Duration {
	warm := round / 2
	if load <= 1 {
		return warm + beside + time.Duration(rounds)*(round+beside)
	}
	late := func(d time.Duration) time.Duration { return min(time.Duration(float64(d)*load), d+limit.Grace(round)) }
	return late(warm) + beside + time.Duration(min(rounds, limit.LeastRounds))*(late(round)+beside)
}

// Calls returns how long n calls take one after the other, of which only the least number is done when they take longer
// than most.
func Calls(each time.Duration, n, least int, most time.Duration) time.Duration {
	all := time.Duration(n) * each
	return min(all, max(most, time.Duration(min(n, least))*each))
}

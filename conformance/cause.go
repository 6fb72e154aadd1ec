package conformance

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// fewestAlike is how many failures must have one answer in common to have one cause.
const fewestAlike = 10

// varies matches what differs between answers that have one cause: numbers, names of the
// run, and what stands between quotes.
var varies = regexp.MustCompile(`"[^"]*"|'[^']*'|\bcf[0-9a-f]{8}\S*|\b[0-9a-f]{8,}\b|\d+`)

// alike returns what answers with one cause have in common: the end of a chain of errors,
// which names the cause, and not its beginning, which names the call.
func alike(got string) string {
	first, _, _ := strings.Cut(got, "\n")
	parts := strings.Split(first, ": ")
	return varies.ReplaceAllString(strings.Join(parts[max(0, len(parts)-2):], ": "), "*")
}

// findCause names the one cause that most failures of a report have in common, if they do,
// and marks all of them but the first.
func (r *Report) findCause() {
	count := map[string]int{}
	all, most := 0, ""
	r.eachFailure(func(f *Failure) {
		key := alike(f.Got)
		all++
		if count[key]++; most == "" || count[key] > count[most] {
			most = key
		}
	})
	n := count[most]
	if n < fewestAlike || 2*n < all {
		return
	}
	r.eachFailure(func(f *Failure) {
		switch {
		case alike(f.Got) != most:
		case r.Cause == "":
			r.Cause = cause(n, all, f)
		default:
			f.Same = true
		}
	})
}

// cause says what n of all failures have in common, of which f is one.
func cause(n, all int, f *Failure) string {
	text := fmt.Sprintf("%d of %d failures have one answer in common, and so one cause, most likely: mend %s first", n, all, f.Rule)
	if strings.Contains(f.Got, driver.ErrUnavailable.Error()) {
		text = fmt.Sprintf("%d of %d failures are for a store that could not be reached", n, all)
	}
	return text + "\n  got    " + indent(f.Got)
}

func (r *Report) eachFailure(do func(f *Failure)) {
	for g := range r.Groups {
		for f := range r.Groups[g].Failed {
			do(&r.Groups[g].Failed[f])
		}
	}
}

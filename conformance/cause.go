package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/polystore/polystore/repo/driver"
)

// fewestAlike is how many failures must have one answer in common to have one cause.
const fewestAlike = 10

// varies matches what differs between answers that have one cause: numbers, names of the
// run, texts of keys, and what stands between quotes.
var varies = regexp.MustCompile(`"[^"]*"|'[^']*'|\S*#\S*|\bcf[0-9a-f]{8}\S*|\b[0-9a-f]{8,}\b|\d+`)

// alike returns what answers with one cause have in common: the end of a chain of errors,
// which names the cause, and not its beginning, which names the call.
func alike(got string) string {
	first, _, _ := strings.Cut(got, "\n")
	parts := strings.Split(first, ": ")
	return varies.ReplaceAllString(strings.Join(parts[max(0, len(parts)-2):], ": "), "*")
}

// findCause puts the failures in the order of the rules. Where there are many it says which one
// to mend first, and names the one cause that most have in common, if they do; all of these but
// the first are marked.
func (r *Report) findCause() {
	r.sortFailures()
	all := r.failures()
	if len(all) < fewestAlike {
		return
	}
	count := map[string]int{}
	most := ""
	for _, f := range all {
		key := alike(f.Got)
		if count[key]++; count[key] > count[most] && strings.ContainsFunc(key, unicode.IsLetter) { // a number is no answer
			most = key
		}
	}
	base := all[max(0, slices.IndexFunc(all, isOfStore))]
	first := fmt.Sprintf("mend %s first, on which others build", base.Rule)
	n := count[most]
	if n < fewestAlike || 2*n < len(all) {
		r.Cause = fmt.Sprintf("%d rules fail: %s\n  got    %s", len(all), first, indent(base.Got))
		return
	}
	for _, f := range all {
		switch {
		case alike(f.Got) != most:
		case r.Cause == "":
			r.Cause = fmt.Sprintf("%d of %d failures %s\n  got    %s", n, len(all), inCommon(f.Got, first), indent(f.Got))
		default:
			f.Same = true
		}
	}
}

// isOfStore reports whether an answer is one of the store itself: that of package repo follows
// from what it was told by the store.
func isOfStore(f *Failure) bool { return !strings.HasPrefix(f.Got, "repo ") }

// inCommon says what failures have in common of which got is the answer, and what to do.
func inCommon(got, first string) string {
	if strings.Contains(got, driver.ErrUnavailable.Error()) {
		return "are for a store that could not be reached"
	}
	return "have one answer in common, and so one cause, most likely: " + first
}

// sortFailures puts the failures of each group, which come as rules end, in the order of the
// rules, of which the later ones build on the earlier ones.
func (r *Report) sortFailures() {
	place := map[string]int{}
	for i, rule := range rules() {
		place[rule.ID()] = i
	}
	for _, g := range r.Groups {
		slices.SortStableFunc(g.Failed, func(a, b Failure) int { return place[a.Rule] - place[b.Rule] })
	}
}

func (r *Report) failures() (all []*Failure) {
	for g := range r.Groups {
		for f := range r.Groups[g].Failed {
			all = append(all, &r.Groups[g].Failed[f])
		}
	}
	return all
}

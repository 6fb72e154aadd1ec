package conformance

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
)

// Options are how much Check does. The zero Options are good.
type Options struct {
	Seed      uint64 // of random operations and histories; 0 draws one
	Ops       int    // random operations; 0 is 20,000, below 0 none
	Histories int    // concurrent histories; 0 is 64, below 0 none. Of a tree of each kind a rule makes a 16th, and at least four

	// Only limits the run to the rules and groups whose "group/rule" begins
	// with it, or with one of its parts, if it has commas.
	Only string

	// Again is the command that runs the same again, without the flags --seed and
	// --only; it is for the report.
	Again string

	// Child returns a command that opens the same store in a process of its own and calls
	// [Child]. It is started and killed, to see what acknowledged commits survive. Without it
	// that is not checked, and the report says so.
	Child func() *exec.Cmd

	// Progress is told what has been done so far, by one goroutine at a time.
	Progress func(what string, done, total int)
}

const (
	defaultOps       = 20_000
	defaultHistories = 64
)

func (o Options) withDefaults() Options {
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())%1_000_000 + 1
	}
	if o.Ops == 0 {
		o.Ops = defaultOps
	}
	if o.Histories == 0 {
		o.Histories = defaultHistories
	}
	if o.Again == "" {
		o.Again = "polystore conform URL"
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	return o
}

// idle returns a part of Only with which nothing begins that there is to run.
func (o Options) idle() (part string, found bool) {
	for part := range strings.SplitSeq(o.Only, ",") {
		one := Options{Only: part}
		if !slices.ContainsFunc(rules(), func(r rule.Rule) bool { return one.wants(r.ID()) }) &&
			!(o.Ops > 0 && one.wants(randomGroup)) && !(o.Histories > 0 && one.wants(historyGroup)) && !one.wants(killGroup) {
			return part, true
		}
	}
	return "", false
}

func (o Options) wants(id string) bool {
	for part := range strings.SplitSeq(o.Only, ",") {
		if strings.HasPrefix(id, part) {
			return true
		}
	}
	return false
}

// opensAgain reports whether rules are wanted that open the store when it has been closed.
func (o Options) opensAgain() bool {
	return o.wants(killGroup) || slices.ContainsFunc(rules(), func(r rule.Rule) bool { return r.Group == rule.Close && o.wants(r.ID()) })
}

// again returns the command that runs a rule, or what is no rule, as in this run.
func (o Options) again(id string) string {
	text := fmt.Sprintf("%s --seed %d --only %q", o.Again, o.Seed, id)
	switch {
	case id == randomGroup && o.Ops != defaultOps:
		text += fmt.Sprintf(" --ops %d", o.Ops)
	case (id == historyGroup || strings.HasSuffix(id, ": histories")) && o.Histories != defaultHistories:
		text += fmt.Sprintf(" --histories %d", o.Histories)
	}
	return text
}

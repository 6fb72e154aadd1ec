package gate_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A step does something to a record: at the Rev of the step before, if the condition
// says so.
type step struct {
	do   driver.Verb
	cond driver.Cond
	dead bool // of what a Put writes
	bare bool // without fields
}

// lives are ways in which records come, die, come back, and go.
func lives() [][]step {
	born := step{do: driver.Put, cond: driver.Absent}
	stillborn := step{do: driver.Put, cond: driver.Absent, dead: true}
	dies := step{do: driver.Put, cond: driver.AtRev, dead: true}
	goes := step{do: driver.Put, cond: driver.AtRev, dead: true, bare: true}
	comesBack := step{do: driver.Put, cond: driver.AtRev}
	fencedOff := step{do: driver.Fence, cond: driver.Absent}
	fenced := step{do: driver.Fence, cond: driver.AtRev}
	patched := step{do: driver.Patch, cond: driver.AtRev}
	return [][]step{
		{born},
		{born, dies},
		{born, dies, comesBack},
		{born, {do: driver.Put, dead: true}, {do: driver.Put}},
		{born, fenced},
		{born, patched, dies, patched},
		{born, dies, {do: driver.Delete}},
		{born, {do: driver.Delete, cond: driver.Present}},
		{born, goes},
		{born, goes, comesBack},
		{born, goes, fenced, patched, comesBack},
		{born, goes, patched, goes},
		{stillborn},
		{stillborn, comesBack},
		{stillborn, fenced, patched},
		{stillborn, {do: driver.Delete, cond: driver.AtRev}},
		{fencedOff},
		{fencedOff, fenced},
		{fencedOff, patched},
		{fencedOff, comesBack},
		{{do: driver.Put, dead: true}, {do: driver.Put, cond: driver.AtRev, dead: true}},
	}
}

// deadRows lets records live, alone and with another one in a commit, and reads runs
// of what is left: dead records are no part of them, nor of a limit or a count.
func deadRows(ctx context.Context, p *play) error {
	witness := p.post(p.author, "witness")
	rev, err := p.do(ctx, postOp(p, driver.Put, witness, driver.Absent, driver.Token{}))
	if err != nil {
		return err
	}
	check := postOp(p, driver.Check, witness, driver.AtRev, rev)
	sorts := []string{witness.Sort}
	for i, life := range lives() {
		for name, others := range map[string][]driver.Op{"alone": nil, "together": {check}} {
			k := p.post(p.author, fmt.Sprint(i, name))
			if err := p.live(ctx, k, life, others); err != nil {
				return fmt.Errorf("life %d, %s: %w", i, name, err)
			}
			sorts = append(sorts, k.Sort)
		}
	}
	slices.Sort(sorts)
	return p.runs(ctx, driver.Span{Table: p.posts, Key: driver.Key{Partition: witness.Partition}}, sorts)
}

// live takes the steps of a life, each in a commit with other ops.
func (p *play) live(ctx context.Context, k driver.Key, life []step, others []driver.Op) error {
	var rev driver.Token
	for _, s := range life {
		op := postOp(p, s.do, k, s.cond, rev)
		if op.Row.Dead = s.dead; s.bare {
			op.Row.Fields = nil
		}
		var err error
		if rev, err = p.do(ctx, append([]driver.Op{op}, others...)...); err != nil {
			return err
		}
	}
	return nil
}

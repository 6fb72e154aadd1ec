package conformance

import (
	"context"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/repo/driver"
)

func conditionFaults() map[string]fault {
	return grouped("conditions", condFaults(), editFaults(), writeFaults())
}

func condFaults() map[string]fault {
	return map[string]fault{
		"any":                  forgets(driver.Any, driver.Present, driver.Delete),
		"absent":               deadIsNothing,
		"present":              deadIsThere,
		"at rev":               forgets(driver.AtRev, driver.Any),
		"first refused":        lastRefused,
		"refused row":          answered(func(r *driver.Refusal) { r.Row.Extra = nil }),
		"refusals for good":    reusedRefusals,
		"none after a refusal": oneByOne(),
		"stale hints":          trustsHints,
		"check": opFault(func(_ *broken, op *driver.Op) bool {
			if op.Do == driver.Check {
				op.Do = driver.Fence
			}
			return true
		}),
		"checks alone": believesChecks,
		"delete": opFault(func(_ *broken, op *driver.Op) bool {
			if op.Do == driver.Delete {
				op.Do, op.Row.Dead = driver.Put, true
			}
			return true
		}),
		"fence": opFault(func(_ *broken, op *driver.Op) bool {
			if op.Do == driver.Fence {
				op.Do = driver.Put
			}
			return true
		}),
		"fence of nothing": opFault(func(_ *broken, op *driver.Op) bool {
			if op.Do == driver.Fence {
				op.Row.Expires = 0
			}
			return true
		}),
	}
}

func editFaults() map[string]fault {
	return map[string]fault{
		"edits": lostEdits,
		"edits of undeclared fields": opFault(func(_ *broken, op *driver.Op) bool {
			for i := range op.Edits {
				if op.Edits[i].Field < 0 && op.Edits[i].Do == driver.Unset {
					op.Edits[i].Name = "another"
				}
			}
			return true
		}),
		"patch meta": opFault(func(_ *broken, op *driver.Op) bool { op.PatchMeta = true; return true }),
		"add": opFault(func(_ *broken, op *driver.Op) bool {
			for i := range op.Edits {
				op.Edits[i].Do = min(op.Edits[i].Do, driver.Unset)
				if op.Edits[i].Do == driver.Unset && !op.Edits[i].Value.IsNone() {
					op.Edits[i].Do = driver.Set
				}
			}
			return true
		}),
		"overflow":                answered(func(r *driver.Refusal) { r.Overflow = false }),
		"overflow among others":   oneByOne(),
		"one insert wins":         racy(),
		"no lost update":          racy(),
		"adds at once":            readsFirst(),
		"isolation":               racy(),
		"many ops":                few(100),
		"what cannot be done":     doesWhatItCan,
		"rows with records":       keepsRows(),
		"key-only rows":           opFault(func(_ *broken, op *driver.Op) bool { return op.Do != driver.Delete || !op.Table.KeyOnly }),
		"several partitions":      oneByOne(),
		"beyond the commit scope": oneByOne(),
		"ended context":           deafCommits(),
	}
}

func writeFaults() map[string]fault {
	return map[string]fault{
		"insert":                   forgets(driver.Absent, driver.Any),
		"insert at once":           racy(),
		"replace":                  together(ghosts(), forgets(driver.AtRev, driver.Any)),
		"replace stale":            together(firstRev(), forgets(driver.AtRev, driver.Any)),
		"put":                      together(firstRev(), forgets(driver.AtRev, driver.Any)),
		"delete record":            keepsAll(),
		"delete with version":      forgets(driver.AtRev, driver.Any, driver.Delete),
		"delete if exists":         keepsAll(),
		"delete if exists at once": forgets(driver.Present, driver.Any, driver.Delete),
		"patch if":                 forgets(driver.AtRev, driver.Present, driver.Patch),
		"no version":               ghosts(),
		"update":                   valueFault(singles),
		"worked edits":             losesWrites(3),
		"update again":             forgets(driver.AtRev, driver.Any),
		"update at once":           racy(),
		"update with version":      otherRev(),
		"retryable":                together(firstRev(), forgets(driver.AtRev, driver.Any)),
	}
}

// deadIsNothing lets Absent hold where there is a dead row.
func deadIsNothing(b *broken) {
	b.op = func(op *driver.Op) bool {
		if op.If == driver.Absent && b.stored(op).Dead {
			op.If = driver.Any
		}
		return true
	}
}

// deadIsThere lets Present hold where there is a dead row.
func deadIsThere(b *broken) {
	b.op = func(op *driver.Op) bool {
		if old := b.stored(op); op.If == driver.Present && old.Dead {
			op.If, op.Rev = driver.AtRev, old.Rev
		}
		return true
	}
}

// trustsHints takes what comes with a hint as read a moment ago.
func trustsHints(b *broken) {
	b.got = func(_ *driver.Table, _ []driver.Key, _ []int, rows []driver.Row) {
		for i := range rows {
			rows[i].Hint = 1
		}
	}
	b.op = func(op *driver.Op) bool {
		if op.Row.Hint != 0 {
			op.If = driver.Any
			if op.Do == driver.Patch {
				op.If = driver.Present
			}
		}
		return true
	}
}

func answered(change func(r *driver.Refusal)) fault {
	return func(b *broken) {
		b.answer = func(_ driver.Token, _ []driver.Op, refusal *driver.Refusal, err error) (*driver.Refusal, error) {
			if refusal != nil {
				change(refusal)
			}
			return refusal, err
		}
	}
}

func lastRefused(b *broken) {
	b.answer = func(_ driver.Token, ops []driver.Op, refusal *driver.Refusal, err error) (*driver.Refusal, error) {
		if refusal != nil {
			refusal.Op = len(ops) - 1
		}
		return refusal, err
	}
}

// reusedRefusals writes later refusals over the texts of earlier ones.
func reusedRefusals(b *broken) {
	var s scratch
	b.answer = func(_ driver.Token, _ []driver.Op, refusal *driver.Refusal, err error) (*driver.Refusal, error) {
		if refusal != nil {
			s.at = 0
			s.row(&refusal.Row)
		}
		return refusal, err
	}
}

func indexFaults() map[string]fault {
	all := map[string]fault{
		"inserted":           noRows(),
		"moved":              keepsRows(),
		"deleted":            keepsRows(),
		"covered fields":     staleRows(),
		"covered whole":      staleRows(),
		"sparse":             keepsRows(),
		"elements":           firstElement(),
		"elements move":      keepsRows(),
		"any of":             firstElement(),
		"all of":             firstElement(),
		"none of":            otherFields(),
		"filter":             otherFields(),
		"ranked":             firstElement(),
		"passed over":        noRows(),
		"queries at once":    noRows(),
		"groups":             noBucket(),
		"groups of elements": firstElement(),
		"buckets":            noBucket(),
		"any text":           classKeyFault(driver.Rows, replaces("%00", "")),
		"order of an index":  sorted(byLength),
		"refused write":      oneByOne(),
		"writes at once":     rowsLater(4*time.Millisecond, false),
		"many elements":      few(100),
		"long index keys":    opFault(func(_ *broken, op *driver.Op) bool { return len(op.Row.Key.Partition+op.Row.Key.Sort) < 500 }),
		"verify":             walksPast(),
		"moved behind":       upTo(1),
		"local index":        keepsRows(),
		"parts of fields":    keepsRows(),
		"many indexes":       few(50),
		"every kind":         sorted(byLength),
	}
	unique := map[string]fault{
		"taken":              freeForAll(),
		"nothing of it":      oneByOne(),
		"every verb":         freeForAll(),
		"lookup":             noRows(),
		"freed by change":    keepsRows(),
		"freed by delete":    keepsRows(),
		"absent values":      absentIsOne,
		"empty values":       absentIsOne,
		"own value":          freeForAll(),
		"exact values":       classKeyFault(driver.Claims, strings.ToLower),
		"two fields":         classKeyFault(driver.Claims, func(s string) string { return strings.TrimSuffix(s, "#") }),
		"elements of a list": firstElement(),
		"at once":            racy(),
		"moves at once":      racy(),
		"passed on":          neverOwn(),
	}
	list := grouped("index tables", all)
	for id, f := range grouped("unique", unique) {
		list[id] = f
	}
	return list
}

// absentIsOne takes records without any unique value for ones that have the same.
func absentIsOne(b *broken) {
	var first *driver.Op
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		for _, op := range ops {
			if op.Table.Class == driver.Claims {
				return b.Store.Commit(ctx, token, ops)
			}
		}
		if first != nil && ops[0].Do == driver.Put {
			return &driver.Refusal{Row: b.stored(first)}, nil
		}
		first = &double.CopyOps(ops)[0]
		return b.Store.Commit(ctx, token, ops)
	}
}

// doesWhatItCan leaves the ops of a commit out that no store can do.
func doesWhatItCan(b *broken) {
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		var kept []driver.Op
		for _, op := range ops {
			if op.Validate() == nil {
				kept = append(kept, op)
			}
		}
		return b.Store.Commit(ctx, token, kept)
	}
}

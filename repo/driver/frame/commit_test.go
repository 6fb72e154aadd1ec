package frame

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

func TestTwice(t *testing.T) {
	a, again, b := &driver.Table{Name: "a"}, &driver.Table{Name: "a"}, &driver.Table{Name: "b"}
	op := func(table *driver.Table, p, s string) driver.Op {
		return driver.Op{Table: table, Row: driver.Row{Key: driver.Key{Partition: p, Sort: s}}}
	}
	if err := who.twice([]driver.Op{op(a, "x#", "y#"), op(a, "x#y#", ""), op(b, "x#", "y#"), op(a, "y#", "x#")}); err != nil {
		t.Errorf("different keys: %v", err)
	}
	if err := who.twice([]driver.Op{op(a, "x#", ""), op(b, "x#", ""), op(again, "x#", "")}); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "ops 0 and 2") {
		t.Errorf("the same key: %v, want ErrInvalid that names the ops", err)
	}
	var many []driver.Op
	for i := range 1000 {
		many = append(many, op(a, fmt.Sprint(i, "#"), ""))
	}
	if err := who.twice(many); err != nil {
		t.Errorf("a thousand different keys: %v", err)
	}
	many[7] = op(again, "900#", "")
	if err := who.twice(many); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "ops 7 and 900") {
		t.Errorf("the same key among a thousand: %v, want ErrInvalid that names the ops", err)
	}
}

func TestFitting(t *testing.T) {
	table := &driver.Table{Name: "t", Fields: []driver.Column{{Name: "a", Kind: driver.Int}, {Name: "b", Kind: driver.String}}}
	one, text := driver.IntValue(1), driver.StringValue("x")
	put := func(vals ...driver.Value) driver.Op {
		return driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Fields: vals}}
	}
	patch := func(edits ...driver.Edit) driver.Op {
		return driver.Op{Do: driver.Patch, Table: table, Edits: edits}
	}
	for i, op := range []driver.Op{put(one, text), put(one), put(driver.Value{}, text), patch(driver.Edit{Field: 1, Value: text}), patch(driver.Edit{Field: 0}),
		patch(driver.Edit{Field: -1, Name: "c", Value: text}), patch(driver.Edit{Do: driver.Add, Field: 0, Value: one})} {
		if err := who.fitting(&op); err != nil {
			t.Errorf("op %d: %v", i, err)
		}
	}
	for what, op := range map[string]driver.Op{"a is a string, not a int": put(text), "b is a int, not a string": patch(driver.Edit{Field: 0, Value: one}, driver.Edit{Field: 1, Value: one})} {
		if err := who.fitting(&op); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want ErrInvalid and %s", err, what)
		}
	}
}

// An attempt that was beaten is made again, with pauses, until it is not, the context
// ends, or it has been too long.
func TestContend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		beaten := func() (*driver.Refusal, error) { return nil, fmt.Errorf("read: %w", ErrBeaten) }
		tries := 0
		want := &driver.Refusal{Op: 3}
		refusal, err := who.Contend(t.Context(), "host", func() (*driver.Refusal, error) {
			if tries++; tries < 5 {
				return beaten()
			}
			return want, nil
		})
		if refusal != want || err != nil || tries != 5 {
			t.Errorf("%v, %v after %d tries, want what the fifth returns", refusal, err, tries)
		}
		begun := time.Now()
		if _, err := who.Contend(t.Context(), "host", beaten); !errors.Is(err, driver.ErrThrottled) || !strings.Contains(err.Error(), "read") || time.Since(begun) < Patience {
			t.Errorf("%v after %s, want ErrThrottled after %s", err, time.Since(begun), Patience)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := who.Contend(ctx, "host", beaten); !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a context that ends: %v, want ErrTimeout and its error", err)
		}
	})
}

func TestHolds(t *testing.T) {
	rev, other := driver.NewToken(), driver.NewToken()
	for _, tt := range []struct {
		row  driver.Row
		want map[driver.Cond]bool
	}{
		{driver.Row{}, map[driver.Cond]bool{driver.Any: true, driver.Absent: true, driver.Present: false, driver.AtRev: false}},
		{driver.Row{Rev: rev}, map[driver.Cond]bool{driver.Any: true, driver.Absent: false, driver.Present: true, driver.AtRev: true}},
		{driver.Row{Rev: other}, map[driver.Cond]bool{driver.Any: true, driver.Absent: false, driver.Present: true, driver.AtRev: false}},
		{driver.Row{Rev: rev, Dead: true}, map[driver.Cond]bool{driver.Any: true, driver.Absent: false, driver.Present: false, driver.AtRev: true}},
	} {
		for cond, want := range tt.want {
			if got := Holds(&driver.Op{If: cond, Rev: rev}, &tt.row); got != want {
				t.Errorf("%v of a row at %v, dead %v: %v, want %v", cond, tt.row.Rev, tt.row.Dead, got, want)
			}
		}
	}
	if Holds(&driver.Op{If: driver.AtRev}, &driver.Row{}) {
		t.Error("a row that there is not is at no rev")
	}
}

func TestOverflows(t *testing.T) {
	row := &driver.Row{Fields: []driver.Value{driver.IntValue(math.MaxInt64 - 1), driver.StringValue("x"), {}}, Extra: []driver.Pair{{Name: "n", Value: driver.IntValue(math.MinInt64)}}}
	add := func(field int, name string, n int64) driver.Edit {
		return driver.Edit{Do: driver.Add, Field: field, Name: name, Value: driver.IntValue(n)}
	}
	for _, tt := range []struct {
		edits []driver.Edit
		want  int
	}{
		{[]driver.Edit{add(0, "", 1), add(2, "", math.MaxInt64), add(7, "", 1), add(-1, "n", 1), add(-1, "m", math.MinInt64)}, -1},
		{[]driver.Edit{add(0, "", 1), add(0, "", 2)}, 1},
		{[]driver.Edit{add(-1, "n", -1)}, 0},
		{[]driver.Edit{{Do: driver.Set, Field: 1}, add(1, "", 1)}, 1},
	} {
		if got := Overflows(&driver.Op{Do: driver.Patch, Edits: tt.edits}, row); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.edits, got, tt.want)
		}
	}
	if got := Overflows(&driver.Op{Do: driver.Put, Edits: []driver.Edit{add(1, "", 1)}}, row); got != -1 {
		t.Errorf("a put overflows at %d", got)
	}
	if v, ok := Sum(driver.IntValue(-3), 2); !ok || v.Int() != -1 {
		t.Errorf("-3 and 2 are %v, %v", v, ok)
	}
}

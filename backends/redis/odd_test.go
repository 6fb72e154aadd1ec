package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// What is no int of 64 bits, as others may write it, is refused before anything is
// written.
func TestAddToWhatIsNoInt(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	client := raw(t, server.Addr)
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	for value, refused := range map[string]bool{
		"007": true, "-0": true, "": true, "1.5": true, "+1": true, " 1": true,
		"9223372036854775807": true, "9223372036854775808": true, "-9223372036854775809": true, "99999999999999999999999": true,
		"0": false, "-1": false, "9223372036854775806": false, "-9223372036854775808": false,
	} {
		do(t, client, "HSET", "posts:{ann#}1#", "views", value)
		before := do(t, client, "HGETALL", "posts:{ann#}1#").([]any)
		for _, ops := range [][]driver.Op{ts.Add(t, "ann", "1"),
			append(ts.Add(t, "ann", "1"), driver.Op{Do: driver.Check, Table: ts.Posts, Row: driver.Row{Key: backendtest.KeyOf(t, ts.Posts, "ann", "2")}})} {
			refusal, err := s.Commit(t.Context(), driver.NewToken(), ops)
			if refused && value != "9223372036854775807" && errors.Is(err, driver.ErrCorrupt) {
				err, refusal = nil, &driver.Refusal{Overflow: true} // the row that is there cannot be read as one
			}
			if err != nil || (refusal != nil && refusal.Overflow) != refused {
				t.Errorf("%d ops add to %q: %+v, %v; refused should be %v", len(ops), value, refusal, err, refused)
			}
			if after := do(t, client, "HGETALL", "posts:{ann#}1#").([]any); refused != (fmt.Sprint(before) == fmt.Sprint(after)) {
				t.Errorf("%d ops add to %q: the record became %q", len(ops), value, after)
			}
			if !refused {
				break
			}
		}
	}
}

// No commit touches a hash that is another program's.
func TestHashOfAnother(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	client := raw(t, server.Addr)
	do(t, client, "HSET", "posts:{ann#}1#", "theirs", "x")
	key := backendtest.KeyOf(t, ts.Posts, "ann", "1")
	other := driver.Op{Do: driver.Check, Table: ts.Posts, Row: driver.Row{Key: backendtest.KeyOf(t, ts.Posts, "bob", "1")}}
	for _, op := range []driver.Op{
		{Do: driver.Delete, Table: ts.Posts, Row: driver.Row{Key: key}},
		{Do: driver.Put, Table: ts.Posts, Row: driver.Row{Key: key}},
		{Do: driver.Put, Table: ts.Posts, Row: driver.Row{Key: key}, If: driver.Absent},
		{Do: driver.Fence, Table: ts.Posts, Row: driver.Row{Key: key, Expires: 1}, If: driver.Absent},
	} {
		for _, ops := range [][]driver.Op{{op}, {op, other}} {
			if refusal, err := s.Commit(t.Context(), driver.NewToken(), ops); !errors.Is(err, driver.ErrCorrupt) {
				t.Errorf("%s if %s, %d ops: %v, %v, want ErrCorrupt", op.Do, op.If, len(ops), refusal, err)
			}
		}
	}
	if got := do(t, client, "HGETALL", "posts:{ann#}1#").([]any); !slices.Equal(got, []any{"theirs", "x"}) {
		t.Errorf("the hash is %v now", got)
	}
}

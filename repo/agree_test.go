package repo_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A row in another partition that its record has, and whose base cannot be read, is named
// by Verify as it is by Maintain. A record that has nothing in an index is none of its faults,
// whatever else is wrong with it.
func TestVerifyNamesWhatItCannotRead(t *testing.T) {
	s := newNarrow()
	r := openMembers(t, s, nil)
	insertMember(t, r, member{ID: "a", Team: "red", Mail: mail("x")})
	insertMember(t, r, member{ID: "b", Team: "red"})
	spoilRow(t, s, teamRows, func(row *driver.Row) {
		if strings.Contains(row.Key.Sort, "#a#") {
			row.Fields[len(row.Fields)-1] = driver.StringValue("no version")
		}
	})
	spoilRow(t, s, "members", func(row *driver.Row) {
		if row.Key.Partition[0] == 'b' {
			row.Meta += ";by_mail=!"
		}
	})
	for name, call := range map[string]func() error{
		"verify":   func() error { _, err := r.Verify(t.Context()); return err },
		"maintain": func() error { _, err := r.Maintain(t.Context()); return err },
	} {
		err := call()
		if !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "names no version of its record") {
			t.Errorf("%s: %v, want the row that names no version", name, err)
		}
	}
	if err := r.Rebuild(t.Context(), "by_mail"); err != nil {
		t.Errorf("rebuild of an index in which b has nothing: %v", err)
	}
}

// spoilRow writes the rows of a table again as another program would have them.
func spoilRow(t *testing.T, s *narrow, table string, spoil func(*driver.Row)) {
	t.Helper()
	for chunk, err := range s.Walk(t.Context(), s.tables[table], "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range chunk.Rows {
			spoil(&row)
			op := driver.Op{Do: driver.Put, Table: s.tables[table], Row: row}
			if _, err := s.Store.Commit(t.Context(), driver.NewToken(), []driver.Op{op}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A counted store counts rows that are read, and those of indexes that are read whole.
type countedRows struct {
	driver.Store
	gets, rows, whole atomic.Int64
}

func (s *countedRows) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	s.gets.Add(1)
	s.rows.Add(int64(len(keys)))
	if t.Class != driver.Records && mask == nil {
		s.whole.Add(int64(len(keys)))
	}
	return s.Store.Get(ctx, t, keys, mask, rows)
}

// Verify asks for many rows at once, and of those of an index for no more than it needs.
func TestVerifyAsksForManyAtOnce(t *testing.T) {
	s := &countedRows{Store: newNarrow()}
	r, err := repo.Open[member](t.Context(), repo.NewStore(s, nil), memberSchema)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		insertMember(t, r, member{ID: string(rune('a'+i%26)) + string(rune('a'+i/26)), Team: "red", Score: int64(i)})
	}
	s.gets.Store(0)
	s.rows.Store(0)
	reports, err := r.Verify(t.Context())
	if err != nil || len(reports) != 2 || reports[0].Records != 300 || reports[0].Rows != 300 {
		t.Fatalf("%+v, %v", reports, err)
	}
	if gets, rows := s.gets.Load(), s.rows.Load(); gets > 10 || rows < 600 || s.whole.Load() > 0 {
		t.Errorf("%d rows are read by %d calls, %d of them of an index and whole", rows, gets, s.whole.Load())
	}
}

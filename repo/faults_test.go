package repo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A spoilt store has rows that another program wrote: those whose keys have the word Bad.
type spoilt struct {
	*narrow
	fails error // of a walk, after the first chunk
}

func unreadable(key driver.Key) error {
	if text := key.Partition + key.Sort; strings.Contains(text, "Bad") {
		return fmt.Errorf("the row %q is another program's: %w", text, driver.ErrCorrupt)
	}
	return nil
}

func (s *spoilt) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	for _, key := range keys {
		if err := unreadable(key); err != nil {
			return err
		}
	}
	return s.narrow.Get(ctx, t, keys, mask, rows)
}

func (s *spoilt) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		for chunk, err := range s.narrow.Walk(ctx, t, mark) {
			good := driver.Chunk{Mark: chunk.Mark}
			var unread driver.Unread
			for _, row := range chunk.Rows {
				if bad := unreadable(row.Key); bad != nil {
					unread = append(unread, bad)
				} else {
					good.Rows = append(good.Rows, row)
				}
			}
			if err == nil {
				err = unread.Err()
			}
			if !yield(good, err) {
				return
			}
			if s.fails != nil {
				yield(driver.Chunk{}, s.fails)
				return
			}
		}
	}
}

// A guest stays until a time; the first letter of an id is the house.
type guest struct {
	ID    string    `repo:"id"`
	House string    `repo:"house"`
	Until time.Time `repo:",expires"`
}

var guestSchema = repo.Schema{Collection: "guests", Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"house"}}}}

// openGuests returns guests, some of whom have expired, and bad ones among them.
func openGuests(t *testing.T, bad int) (*spoilt, *repo.Repo[guest]) {
	t.Helper()
	s := &spoilt{narrow: newNarrow()}
	filled, err := repo.Open[guest](t.Context(), repo.NewStore(s.narrow, nil), guestSchema)
	if err != nil {
		t.Fatal(err)
	}
	insert := func(id string, until time.Time) {
		if err := filled.Insert(t.Context(), &guest{id, "house " + id[:1], until}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		insert(fmt.Sprintf("a%03d", i), time.Time{})
		if i%3 == 0 {
			insert(fmt.Sprintf("x%03d", i), time.Now().Add(-time.Hour))
		}
	}
	for i := range bad {
		insert(fmt.Sprintf("Bad%02d", i), time.Now().Add(-time.Hour))
	}
	r, err := repo.Open[guest](t.Context(), repo.NewStore(s, nil), guestSchema)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

func TestMaintainBesideWhatCannotBeRead(t *testing.T) {
	for bad, want := range map[int]string{1: "Bad00", 50: "more than 10 rows"} {
		_, r := openGuests(t, bad)
		done, err := r.Maintain(t.Context())
		if done.Expired != 100 || !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), want) || len(err.Error()) > 2000 {
			t.Errorf("beside %d rows that cannot be read: %+v, %v; want 100 removed and %s", bad, done, err, want)
		}
	}
	_, r := openGuests(t, 0)
	if done, err := r.Maintain(t.Context()); done.Expired != 100 || err != nil {
		t.Errorf("where all can be read: %+v, %v", done, err)
	}
}

func TestVerifyBesideWhatCannotBeRead(t *testing.T) {
	s, r := openGuests(t, 2)
	reports, err := r.Verify(t.Context())
	if !errors.Is(err, repo.ErrCorrupt) || len(reports) != 1 || reports[0].Records != 300 || !strings.Contains(err.Error(), "Bad01") {
		t.Fatalf("%+v, %v; want a report of 300 records and an error that names the others", reports, err)
	}
	rows := &driver.Table{}
	for name, table := range s.tables {
		if table.Class == driver.Rows && strings.HasPrefix(name, "guests.") {
			rows = table
		}
	}
	for chunk := range s.narrow.Walk(t.Context(), rows, "") {
		for _, row := range chunk.Rows {
			if strings.HasPrefix(row.Key.Sort, "a299#") {
				if _, err := s.narrow.Commit(t.Context(), driver.NewToken(), []driver.Op{{Do: driver.Delete, Table: rows, Row: driver.Row{Key: row.Key}}}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if reports, _ = r.Verify(t.Context()); reports[0].Missing != 1 {
		t.Errorf("%+v: the row that is missing behind what cannot be read is not found", reports[0])
	}
}

func TestWalkBesideWhatCannotBeRead(t *testing.T) {
	s, r := openGuests(t, 2)
	items, told, mark := 0, 0, ""
	for chunk, err := range r.Walk(t.Context(), "") {
		items += len(chunk.Items)
		if err != nil {
			told++
			if mark = chunk.Mark; !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "Bad00") {
				t.Errorf("the chunk with what cannot be read: %v", err)
			}
		}
	}
	if items != 300 || told != 1 || mark == "" {
		t.Errorf("%d records and %d errors, mark %q; want 300, one, and a mark", items, told, mark)
	}
	if _, err := repo.Collect(r.Walk(t.Context(), mark)); err != nil {
		t.Errorf("behind the mark: %v", err)
	}
	if _, err := repo.Collect(r.Scan(t.Context(), repo.Where("house", "house a"))); !errors.Is(err, repo.ErrCorrupt) {
		t.Errorf("a scan, which cannot answer: %v, want ErrCorrupt", err)
	}
	s.fails = driver.ErrUnavailable
	var last error
	n := 0
	for chunk, err := range r.Walk(t.Context(), "") {
		n++
		if last = err; errors.Is(err, repo.ErrUnavailable) && len(chunk.Items) > 0 {
			t.Error("the last error has records")
		}
	}
	if n != 2 || !errors.Is(last, repo.ErrUnavailable) {
		t.Errorf("a store that fails: %d chunks, %v", n, last)
	}
	if _, err := r.Maintain(t.Context()); !errors.Is(err, repo.ErrUnavailable) || !errors.Is(err, repo.ErrCorrupt) {
		t.Errorf("maintain of a store that fails beside what cannot be read: %v, want both errors", err)
	}
}

package cassandra_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// A walking is a walk after its first chunk: its mark, and posts that are not in the chunk.
type walking struct {
	mark string
	left map[driver.Key]bool
}

// beginWalk makes posts, in a large partition and in some small ones, and reads the first
// chunk of a walk.
func beginWalk(t *testing.T, s driver.Store, ts *tables) *walking {
	t.Helper()
	w := &walking{left: map[driver.Key]bool{}}
	author := unique()
	for p, n := range []int{300, 1, 2, 1} {
		var ops []driver.Op
		for i := range n {
			key := ts.key(t, fmt.Sprint(author, p), fmt.Sprint(i))
			ops = append(ops, driver.Op{Do: driver.Put, Table: ts.posts, If: driver.Absent, Row: driver.Row{Key: key}})
			w.left[key] = true
		}
		backendtest.MustCommit(t, s, ops)
	}
	for chunk, err := range s.Walk(t.Context(), ts.posts, "") {
		if err != nil || chunk.Mark == "" {
			t.Fatalf("the first chunk: mark %q, %v", chunk.Mark, err)
		}
		for i := range chunk.Rows {
			delete(w.left, chunk.Rows[i].Key)
		}
		w.mark = chunk.Mark
		break
	}
	return w
}

// goOn reads the rest of a walk, and returns how many posts are in none of its chunks.
func (w *walking) goOn(t *testing.T, s driver.Store, ts *tables) int {
	t.Helper()
	seen := 0
	for chunk, err := range s.Walk(t.Context(), ts.posts, w.mark) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range chunk.Rows {
			if w.left[chunk.Rows[i].Key] {
				seen++
			}
		}
	}
	return len(w.left) - seen
}

// A mark is good when its row is gone, and one that is not of the table is refused.
func TestMarks(t *testing.T) {
	t.Parallel()
	_, url, session := ownKeyspace(t)
	s, ts := open(t, url)
	w := beginWalk(t, s, ts)
	do(t, session, "TRUNCATE posts")
	if err := backendtest.Drain(s.Walk(t.Context(), ts.posts, w.mark)); err != nil {
		t.Errorf("a walk after a row that is gone: %v", err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(w.mark)
	if err != nil {
		t.Fatal(err)
	}
	raw[len("posts")+3] ^= 1
	for _, bad := range []string{w.mark[1:], base64.RawURLEncoding.EncodeToString(raw), "x"} {
		if err := backendtest.Drain(s.Walk(t.Context(), ts.posts, bad)); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("a walk after the mark %q: %v, want ErrInvalid", bad, err)
		}
	}
	if err := backendtest.Drain(s.Walk(t.Context(), ts.byAt, w.mark)); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a walk after the mark of another table: %v, want ErrInvalid", err)
	}
}

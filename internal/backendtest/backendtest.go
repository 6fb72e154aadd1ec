// Package backendtest has what the tests of the stores of this module share: tables with
// an index and a unique value, writers whose server is killed, and calls into silence.
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Commit does ops with a token of their own and returns the error.
func Commit(t testing.TB, s driver.Store, ops []driver.Op) error {
	t.Helper()
	_, err := s.Commit(t.Context(), driver.NewToken(), ops)
	return err
}

// MustCommit does ops, which must be done, and returns their token.
func MustCommit(t testing.TB, s driver.Store, ops []driver.Op) driver.Token {
	t.Helper()
	token := driver.NewToken()
	refusal, err := s.Commit(t.Context(), token, ops)
	if err != nil || refusal != nil {
		t.Fatalf("commit: refusal %v, %v", refusal, err)
	}
	return token
}

// Drain returns the error of a sequence.
func Drain[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// WalkAll returns the keys of all rows of a table, as one text each, and what could not be
// read. It starts again at every mark, as another program would.
func WalkAll(t testing.TB, s driver.Store, table *driver.Table) (keys []string, unread driver.Unread) {
	t.Helper()
	for mark := ""; ; {
		next := ""
		for chunk, err := range s.Walk(t.Context(), table, mark) {
			bad, ok := errors.AsType[driver.Unread](err)
			if err != nil && !ok {
				t.Fatalf("walk of %s: %v", table.Name, err)
			}
			unread = append(unread, bad...)
			for i := range chunk.Rows {
				keys = append(keys, chunk.Rows[i].Key.Partition+chunk.Rows[i].Key.Sort)
			}
			next = chunk.Mark
			break
		}
		if mark = next; mark == "" {
			return keys, unread
		}
	}
}

// Await calls n until it is 0, for three seconds at most, and returns the last.
func Await(n func() int) int {
	for begun := time.Now(); n() != 0 && time.Since(begun) < 3*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	return n()
}

// NamesRefusal returns nil if a call whose deadline is near says that the connection was refused. A
// busy machine may be too late to know, so that the deadline is then farther, three times.
func NamesRefusal(t testing.TB, deadline time.Duration, call func(context.Context) error) (err error) {
	t.Helper()
	for range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		err = call(ctx)
		cancel()
		if errors.Is(err, driver.ErrUnavailable) && strings.Contains(err.Error(), "connection refused") {
			return nil
		}
		deadline *= 3
	}
	return fmt.Errorf("%w; want ErrUnavailable and that the connection was refused", err)
}

// Stacks returns where all goroutines are.
func Stacks() string {
	buf := make([]byte, 1<<21)
	return string(buf[:runtime.Stack(buf, true)])
}

// Secret is the password of URLs in tests: no error may tell it.
const Secret = "geheim"

// Refused returns the error with which a store was not opened, of which it sees that it
// tells no password.
func Refused(t *testing.T, s io.Closer, err error) error {
	t.Helper()
	if err == nil {
		s.Close()
		t.Error("a store was opened that should be refused")
		return errors.New("no error")
	}
	if strings.Contains(err.Error(), Secret) {
		t.Errorf("the error tells the password: %v", err)
	}
	return err
}

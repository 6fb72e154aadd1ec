// Package backendtest has what the tests of the stores of this module share: tables with
// an index and a unique value, writers whose server is killed, and calls into silence.
package backendtest

import (
	"errors"
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

// Await calls n until it is 0, for three seconds at most, and returns the last.
func Await(n func() int) int {
	for begun := time.Now(); n() != 0 && time.Since(begun) < 3*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	return n()
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

package driver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

var errServer = errors.New("dup key: secret")

// What is private is in the text of an error, however often it is wrapped, and not in the redacted
// one, which says all the rest.
func TestRedact(t *testing.T) {
	inner := driver.Errorf("the row %.200q of %s: %w", driver.Private("secret"), "posts", driver.ErrCorrupt)
	hidden := fmt.Errorf("commit: %w: %w", driver.ErrInternal, driver.Hide(errServer, "the server answers code 5"))
	for _, tt := range []struct {
		err  error
		want string
	}{
		{inner, "the row (redacted) of posts: " + driver.ErrCorrupt.Error()},
		{fmt.Errorf("a: %w, b: %w", inner, inner), "a: the row (redacted) of posts: stored data is corrupt, b: the row (redacted) of posts: stored data is corrupt"},
		{driver.Errorf("key %s: %w", driver.Private("secret"), hidden), "key (redacted): commit: internal error: the server answers code 5"},
		{driver.Errorf("%d%%: %w", 5, inner), "5%: the row (redacted) of posts: stored data is corrupt"},
		{hidden, "commit: internal error: the server answers code 5"},
		{driver.Unread{inner, hidden}, "the row (redacted) of posts: stored data is corrupt; commit: internal error: the server answers code 5"},
		{errors.Join(inner, nil), "the row (redacted) of posts: stored data is corrupt"},
		{errors.Join(driver.Errorf("key %s", driver.Private("secret")), driver.Errorf("key %s", driver.Private("secret2"))), "key (redacted)\nkey (redacted)"},
		{driver.ErrCorrupt, "stored data is corrupt"},
	} {
		if got := driver.Redact(tt.err); got != tt.want {
			t.Errorf("redacted: %q\nwant %q\nof %q", got, tt.want, tt.err)
		}
		if tt.err != driver.ErrCorrupt && !strings.Contains(tt.err.Error(), "secret") && !strings.HasPrefix(tt.err.Error(), "5%") {
			t.Errorf("the text itself lacks what is private: %q", tt.err)
		}
	}
	if !errors.Is(inner, driver.ErrCorrupt) || !errors.Is(hidden, errServer) || driver.Hide(nil, "x") != nil {
		t.Error("what is wrapped is not found")
	}
}

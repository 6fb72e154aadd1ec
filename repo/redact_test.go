package repo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// An unanswering store answers nothing about unique values, and names them.
type unanswering struct{ driver.Store }

func (s unanswering) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if ops[0].Table.Class == driver.Claims {
		return nil, driver.Errorf("no answer about %q: %w", driver.Private("secret"), driver.ErrUnknownOutcome)
	}
	return s.Store.Commit(ctx, token, ops)
}

// What a store says of a row that had to be put before the commit is redacted, too.
func TestRedactOfRowsBeforeTheCommit(t *testing.T) {
	scope, slug := driver.ScopePartition, "slug"
	for _, redact := range []bool{true, false} {
		posts, err := repo.Open[post](t.Context(), repo.NewStore(unanswering{memory.New(&memory.Options{Scope: &scope})}, &repo.Options{Redact: redact}), blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		err = posts.Insert(t.Context(), &post{Author: "a", ID: "b", Slug: &slug})
		if text := fmt.Sprint(err); !strings.Contains(text, "no answer about") || strings.Contains(text, "secret") == redact {
			t.Errorf("redacted %v: %v", redact, err)
		}
	}
}

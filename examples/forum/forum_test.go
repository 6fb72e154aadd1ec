package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

// newForum returns a forum with the thread t, on a store that meets the faults of rules.
func newForum(t *testing.T) (*forum, *repotest.Store) {
	t.Helper()
	store, err := repotest.New(memory.New(nil), &repotest.Options{Uncertain: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := open(t.Context(), repo.NewStore(store, nil))
	if err != nil {
		t.Fatal(err)
	}
	if rec := f.do(t.Context(), "POST", "/threads/t", "title=first"); rec.Code != http.StatusOK {
		t.Fatalf("the thread cannot be made: %d", rec.Code)
	}
	return f, store
}

// do makes a request, with headers as "name: value".
func (f *forum) do(ctx context.Context, method, path, form string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	rec := httptest.NewRecorder()
	f.routes().ServeHTTP(rec, r)
	return rec
}

func TestAnswers(t *testing.T) {
	f, store := newForum(t)
	tag := f.do(t.Context(), "GET", "/threads/t", "").Header().Get("ETag")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	commits := func(fault repotest.Fault) []repotest.Rule {
		return []repotest.Rule{{On: repotest.Commit, Fault: fault}}
	}
	for _, tt := range []struct {
		name, method, path, form, header string
		ctx                              context.Context
		rules                            []repotest.Rule
		status                           int
		again                            bool
	}{
		{"read", "GET", "/threads/t", "", "", t.Context(), nil, 200, false},
		{"nothing there", "GET", "/threads/u", "", "", t.Context(), nil, 404, false},
		{"there already", "POST", "/threads/t", "title=x", "", t.Context(), nil, 409, false},
		{"as it was seen", "PUT", "/threads/t", "title=second", "If-Match: " + tag, t.Context(), nil, 200, false},
		{"seen too long ago", "PUT", "/threads/t", "title=third", "If-Match: " + tag, t.Context(), nil, 412, false},
		{"seen and gone", "PUT", "/threads/u", "title=third", "If-Match: " + tag, t.Context(), nil, 404, false},
		{"no version at all", "PUT", "/threads/t", "title=third", "If-Match: x", t.Context(), nil, 400, false},
		{"a cursor made up", "GET", "/users/u/notices?cursor=x", "", "", t.Context(), nil, 400, false},
		{"too large", "POST", "/threads/v", "title=" + strings.Repeat("x", 2<<20), "", t.Context(), nil, 413, false},
		{"out of reach", "GET", "/threads/t", "", "", t.Context(), []repotest.Rule{{Fault: repotest.Unavailable}}, 503, true},
		{"a client that left", "GET", "/threads/t", "", "", over, nil, 503, true},
		{"one that left what it wrote", "POST", "/threads/w", "title=x", "", over, nil, 200, false},
		{"others were faster", "POST", "/threads/t/votes/ann", "", "", t.Context(), commits(repotest.Conflict), 503, true},
		{"lost for ever", "POST", "/threads/x", "title=x", "", t.Context(), commits(repotest.LostCall), 504, false},
	} {
		if err := store.Set(tt.rules...); err != nil {
			t.Fatal(err)
		}
		rec := f.do(tt.ctx, tt.method, tt.path, tt.form, tt.header)
		if rec.Code != tt.status || (rec.Header().Get("Retry-After") != "") != tt.again {
			t.Errorf("%s: %d, retry after %q; want %d, %v", tt.name, rec.Code, rec.Header().Get("Retry-After"), tt.status, tt.again)
		}
	}
}

// Votes of clients that go away in the middle, on a store that loses three of ten commits: those
// that are there are those that are counted.
func TestVotes(t *testing.T) {
	f, store := newForum(t)
	err := store.Set(
		repotest.Rule{On: repotest.Commit, Share: 0.15, Fault: repotest.LostCall},
		repotest.Rule{On: repotest.Commit, Share: 0.15, Fault: repotest.LostAnswer})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range 10 {
		all.Go(func() {
			for n := range 30 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				if rec := f.do(ctx, "POST", fmt.Sprintf("/threads/t/votes/%d-%d", w, n), ""); rec.Code != 200 && rec.Code != 503 && rec.Code != 504 {
					t.Errorf("vote: %d", rec.Code)
				}
			}
		})
	}
	all.Wait()
	if err := store.Set(); err != nil {
		t.Fatal(err)
	}
	list, err := repo.Collect(f.entries.Find(t.Context(), repo.Where("thread", "t")))
	if err != nil {
		t.Fatal(err)
	}
	thread, votes := list[0], len(list)-1
	if thread.ID != threadID || thread.Votes != int64(votes) || votes < 250 {
		t.Errorf("%d votes are there and %d counted, of 300", votes, thread.Votes)
	}
}

// However many notices come at once, and are lost, the newest stay and no more.
func TestNotices(t *testing.T) {
	f, store := newForum(t)
	if err := store.Set(repotest.Rule{On: repotest.Commit, Share: 0.1, Fault: repotest.LostAnswer}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				f.do(t.Context(), "POST", "/users/ann/notices", "text=hello")
			}
		})
	}
	all.Wait()
	if err := store.Set(); err != nil {
		t.Fatal(err)
	}
	seen, cursor := 0, ""
	for {
		var page struct {
			Items []notice
			Next  string
		}
		rec := f.do(t.Context(), "GET", "/users/ann/notices?cursor="+url.QueryEscape(cursor), "")
		if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil {
			t.Fatalf("%d: %v", rec.Code, err)
		}
		seen += len(page.Items)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if seen != mostNotices {
		t.Errorf("%d notices are there, want %d", seen, mostNotices)
	}
}

// The table of docs/services.md has every kind of error of package repo, in the order and with the
// statuses of this program.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/services.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(Err\\w+)` .*\\| (\\d+)[^|]*\\|$").FindAllStringSubmatch(string(text), -1)
	names := kindsOfRepo(t)
	if len(rows) != len(names) || len(rows) != len(statuses)-1 {
		t.Fatalf("%d rows, %d kinds in package repo, %d in this program", len(rows), len(names), len(statuses)-1)
	}
	for i, row := range rows {
		if !names[row[1]] || row[2] != fmt.Sprint(statuses[i].status) {
			t.Errorf("row %d: %s is %s; this program answers %v with %d", i, row[1], row[2], statuses[i].kind, statuses[i].status)
		}
	}
}

// kindsOfRepo returns the names of the errors that package repo exports.
func kindsOfRepo(t *testing.T) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "../../repo/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Err") {
			names[v.Names[0].Name] = true
		}
		return true
	})
	return names
}

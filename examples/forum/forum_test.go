package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

func TestMemory(t *testing.T)    { onStore(t, "memory:") }
func TestPebble(t *testing.T)    { onStore(t, "pebble:") }
func TestRedis(t *testing.T)     { onStore(t, testserver.Shared(t, testserver.Redis).URL) }
func TestMongo(t *testing.T)     { onStore(t, testserver.Shared(t, testserver.Mongo).URL) }
func TestCassandra(t *testing.T) { onStore(t, testserver.Shared(t, testserver.Cassandra).URL) }

// A site is a forum with the thread t, on a store that meets faults.
type site struct {
	*forum
	store *repotest.Store
	lost  *atomic.Pointer[context.CancelFunc] // called when the outcome of a commit is unknown
}

func onStore(t *testing.T, url string) {
	s := site{lost: &atomic.Pointer[context.CancelFunc]{}}
	observe := func(e repotest.Event) {
		if cancel := s.lost.Load(); cancel != nil && errors.Is(e.Err, repo.ErrUnknownOutcome) {
			(*cancel)()
		}
	}
	s.store = repotest.Isolated(t, url, backends.OpenDriver, &repotest.Options{Uncertain: true, Observe: observe})
	var err error
	if s.forum, err = open(t.Context(), repo.NewStore(s.store, nil)); err != nil {
		t.Fatal(err)
	}
	if rec := s.do(t.Context(), "POST", "/threads/t", "title=first"); rec.Code != http.StatusOK {
		t.Fatalf("the thread cannot be made: %d", rec.Code)
	}
	for _, tt := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"answers", s.answers}, {"lost", s.settles}, {"votes", s.votes}, {"notices", s.manyNotices},
		{"begun", s.begun}, {"time over", s.timeOver}, {"no end", s.noEnd},
	} {
		s.meet(t)
		t.Run(tt.name, tt.test)
	}
}

// meet sets the rules of the store.
func (s site) meet(t *testing.T, rules ...repotest.Rule) {
	t.Helper()
	if err := s.store.Set(rules...); err != nil {
		t.Fatal(err)
	}
}

// do makes a request, with headers as "name: value".
func (s site) do(ctx context.Context, method, path, form string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	rec := httptest.NewRecorder()
	s.routes().ServeHTTP(rec, r)
	return rec
}

// A request is answered with a status, and may be told to come again.
type request struct {
	name, method, path, form, header string
	ctx                              context.Context
	rules                            []repotest.Rule
	status                           int
	again                            bool
}

func (s site) check(t *testing.T, tt request) *httptest.ResponseRecorder {
	t.Helper()
	s.meet(t, tt.rules...)
	rec := s.do(tt.ctx, tt.method, tt.path, tt.form, tt.header)
	again := rec.Header().Get("Retry-After") != ""
	if rec.Code != tt.status || again != tt.again {
		t.Errorf("%s: %d, again %v; want %d, %v", tt.name, rec.Code, again, tt.status, tt.again)
	}
	return rec
}

func (s site) answers(t *testing.T) {
	ctx, long := t.Context(), strings.Repeat("x", 2000)
	tag := "If-Match: " + s.do(ctx, "GET", "/threads/t", "").Header().Get("ETag")
	over, cancel := context.WithCancel(ctx)
	cancel()
	unreachable := []repotest.Rule{{On: repotest.Get, Fault: repotest.Unavailable}}
	rivals := []repotest.Rule{{On: repotest.Commit, Collection: "entries", Fault: repotest.Conflict}}
	lost := []repotest.Rule{{On: repotest.Commit, Collection: "entries", Fault: repotest.LostCall}}
	for _, tt := range []request{
		{"read", "GET", "/threads/t", "", "", ctx, nil, 200, false},
		{"nothing there", "GET", "/threads/u", "", "", ctx, nil, 404, false},
		{"there already", "POST", "/threads/t", "title=x", "", ctx, nil, 409, false},
		{"as it was seen", "PUT", "/threads/t", "title=second", tag, ctx, nil, 200, false},
		{"seen too long ago", "PUT", "/threads/t", "title=x", tag, ctx, nil, 412, false},
		{"seen and gone", "PUT", "/threads/u", "title=x", tag, ctx, nil, 404, false},
		{"not seen", "PUT", "/threads/t", "title=x", "", ctx, nil, 428, false},
		{"seen by nobody", "PUT", "/threads/t", "title=x", "If-Match: " + strings.Repeat("0", 32), ctx, nil, 428, false},
		{"no version at all", "PUT", "/threads/t", "title=x", "If-Match: x", ctx, nil, 400, false},
		{"renamed to nothing", "PUT", "/threads/t", "", tag, ctx, nil, 400, false},
		{"a cursor made up", "GET", "/users/u/notices?cursor=x", "", "", ctx, nil, 400, false},
		{"a cursor that is no text", "GET", "/users/u/notices?cursor=%zz", "", "", ctx, nil, 400, false},
		{"a form that is none", "POST", "/threads/v", "title=%zz", "", ctx, nil, 400, false},
		{"another kind of body", "POST", "/threads/v", `{"title":"x"}`, "Content-Type: application/json", ctx, nil, 400, false},
		{"no title", "POST", "/threads/v", "title=+", "", ctx, nil, 400, false},
		{"a title in the wrong place", "POST", "/threads/v?title=x", "", "", ctx, nil, 400, false},
		{"no text", "POST", "/users/u/notices", "", "", ctx, nil, 400, false},
		{"no UTF-8", "POST", "/threads/v", "title=%ff", "", ctx, nil, 400, false},
		{"too large", "POST", "/threads/v", "title=" + strings.Repeat("x", mostBytes), "", ctx, nil, 413, false},
		{"too large a name", "POST", "/threads/" + long, "title=x", "", ctx, nil, 413, false},
		{"a vote on nothing", "POST", "/threads/u/votes/ann", "", "", ctx, nil, 404, false},
		{"out of reach", "GET", "/threads/t", "", "", ctx, unreachable, 503, true},
		{"a client that left", "GET", "/threads/t", "", "", over, nil, 503, true},
		{"one that left what it wrote", "POST", "/threads/w", "title=x", "", over, nil, 200, false},
		{"others were faster", "POST", "/threads/t/votes/ann", "", "", ctx, rivals, 503, true},
		{"lost for ever", "POST", "/threads/x", "title=x", "", ctx, lost, 504, false},
	} {
		s.check(t, tt)
	}
	s.meet(t)
	if body := s.do(ctx, "GET", "/threads/t", "").Body.String(); !strings.Contains(body, `"second"`) {
		t.Errorf("the thread is %s", body)
	}
	if rec := s.do(ctx, "GET", "/threads/v", ""); rec.Code != 404 {
		t.Errorf("what was refused is there: %d", rec.Code)
	}
}

// For a while neither the answers of the store nor the records can be read, so that writes are asked
// for after their calls. What was done is shown as it is now.
func (s site) settles(t *testing.T) {
	get := func(operation string, nth int) repotest.Rule {
		return repotest.Rule{On: repotest.Get, Operation: operation, Nth: nth, Fault: repotest.Unavailable}
	}
	insert := func(fault repotest.Fault, more ...repotest.Rule) []repotest.Rule {
		return append(more, repotest.Rule{On: repotest.Commit, Operation: "insert", Nth: 1, Fault: fault}, get("insert", 0))
	}
	// The first read is that of the record which is to be changed.
	update := []repotest.Rule{{On: repotest.Commit, Operation: "update", Nth: 1, Fault: repotest.LostAnswer},
		get("update", 2), get("update", 3), get("update", 4)}
	ctx := t.Context()
	post := s.check(t, request{"done", "POST", "/threads/l", "title=one", "", ctx, insert(repotest.LostAnswer), 200, false})
	tag := "If-Match: " + post.Header().Get("ETag")
	put := s.check(t, request{"changed", "PUT", "/threads/l", "title=two", tag, ctx, update, 200, false})
	s.check(t, request{"not done", "POST", "/threads/m", "title=x", "", ctx, insert(repotest.LostCall), 503, true})
	s.check(t, request{"not there", "GET", "/threads/m", "", "", ctx, nil, 404, false})
	s.check(t, request{"not done, once more", "POST", "/threads/m", "title=x", "", ctx, nil, 200, false})
	dark := s.check(t, request{"done, not to be seen", "POST", "/threads/n", "title=x", "", ctx,
		insert(repotest.LostAnswer, get("get", 0)), 204, false})
	s.check(t, request{"seen later", "GET", "/threads/n", "", "", ctx, nil, 200, false})
	if body := post.Body.String(); post.Header().Get("ETag") == "" || !strings.Contains(body, `"one"`) {
		t.Errorf("the thread was made: tag %q, %s", post.Header().Get("ETag"), body)
	}
	now := s.do(ctx, "GET", "/threads/l", "")
	if a, b := put.Header().Get("ETag"), now.Header().Get("ETag"); a != b || !strings.Contains(put.Body.String(), `"two"`) {
		t.Errorf("the thread was changed: tag %q, now %q, %s", a, b, put.Body)
	}
	if dark.Header().Get("ETag") != "" || dark.Body.Len() > 0 {
		t.Errorf("what cannot be seen is %v, %s", dark.Header(), dark.Body)
	}
}

// Votes of clients that go away in the middle, on a store that loses three of ten commits: those
// that are there are those that are counted, and what was answered is true of each.
func (s site) votes(t *testing.T) {
	s.do(t.Context(), "POST", "/threads/votes", "title=x")
	s.meet(t, repotest.Rule{On: repotest.Commit, Collection: "entries", Share: 0.15, Fault: repotest.LostCall},
		repotest.Rule{On: repotest.Commit, Collection: "entries", Share: 0.15, Fault: repotest.LostAnswer})
	const writers, each = 4, 15
	var codes [writers * each]int
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := w * each; n < (w+1)*each; n++ {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				codes[n] = s.do(ctx, "POST", fmt.Sprintf("/threads/votes/votes/%d", n), "").Code
			}
		})
	}
	all.Wait()
	s.meet(t)
	there := s.counted(t, "votes")
	for n, code := range codes {
		is := there[fmt.Sprintf("vote:%d", n)]
		if code != 200 && code != 503 && code != 504 || code == 200 && !is || code == 503 && is {
			t.Errorf("vote %d: %d, there %v", n, code, is)
		}
	}
	if len(there) < len(codes)/2 {
		t.Errorf("%d votes are there, want %d at least", len(there), len(codes)/2)
	}
}

// counted returns the votes of a thread, and sees that it counts them.
func (s site) counted(t *testing.T, thread string) map[string]bool {
	t.Helper()
	list, err := repo.Collect(s.entries.Find(t.Context(), repo.Where("thread", thread)))
	if err != nil {
		t.Fatal(err)
	}
	votes := map[string]bool{}
	for _, e := range list[1:] {
		votes[e.ID] = true
	}
	if list[0].ID != threadID || list[0].Votes != int64(len(votes)) {
		t.Errorf("%d votes are there and %d counted", len(votes), list[0].Votes)
	}
	return votes
}

// However many notices come at once, and are lost, no more stay than may, and of what one client sent
// the last.
func (s site) manyNotices(t *testing.T) {
	s.meet(t, repotest.Rule{On: repotest.Commit, Collection: "notices", Share: 0.1, Fault: repotest.LostAnswer},
		repotest.Rule{On: repotest.Commit, Collection: "notices", Share: 0.1, Fault: repotest.LostCall},
		repotest.Rule{On: repotest.Commit, Collection: "notices", Jitter: 5 * time.Millisecond}) // to meet each other
	const clients, each = 4, 12
	var sent [clients][]string // what was acknowledged
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for n := range each {
				text := fmt.Sprintf("%d:%d", c, n)
				switch code := s.do(t.Context(), "POST", "/users/ann/notices", "text="+text).Code; code {
				case 200:
					sent[c] = append(sent[c], text)
				case 503, 504:
				default:
					t.Errorf("notice: %d", code)
				}
			}
		})
	}
	all.Wait()
	s.meet(t)
	stay, acknowledged := s.noticesFor(t, "ann"), 0
	for c := range clients {
		acknowledged += len(sent[c])
		for n, text := range sent[c] {
			if n > 0 && stay[sent[c][n-1]] && !stay[text] {
				t.Errorf("notice %s is gone, and an older one is not", text)
			}
		}
	}
	if len(stay) != mostNotices || acknowledged < clients*each/2 {
		t.Errorf("%d notices are there, want %d; %d were acknowledged", len(stay), mostNotices, acknowledged)
	}
}

// noticesFor returns the texts of the notices of a user, which come in pages.
func (s site) noticesFor(t *testing.T, user string) map[string]bool {
	t.Helper()
	seen, cursor := map[string]bool{}, ""
	for {
		var page struct {
			Items []notice
			Next  string
		}
		rec := s.do(t.Context(), "GET", "/users/"+user+"/notices?cursor="+url.QueryEscape(cursor), "")
		if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil {
			t.Fatalf("%d: %v", rec.Code, err)
		}
		for _, n := range page.Items {
			seen[n.Text] = true
		}
		if cursor = page.Next; cursor == "" {
			return seen
		}
	}
}

// The first notice of a user is there when it is acknowledged, whatever becomes of
// the count that is begun for it.
func (s site) begun(t *testing.T) {
	for i, fault := range []repotest.Fault{repotest.LostAnswer, repotest.LostCall, repotest.Taken} {
		user := fmt.Sprintf("new%d", i)
		rules := []repotest.Rule{
			{On: repotest.Commit, Operation: "insert", Nth: 1, Fault: fault},
			{On: repotest.Get, Operation: "insert", Fault: repotest.Unavailable},
		}
		path := "/users/" + user + "/notices"
		s.check(t, request{fault.String(), "POST", path, "text=hello", "", t.Context(), rules, 200, false})
		s.meet(t)
		if list := s.noticesFor(t, user); !list["hello"] || len(list) != 1 {
			t.Errorf("%s: the notices are %v", fault, list)
		}
	}
}

// The time of a vote is over when its answer is lost, so that the call cannot look. It is asked for all
// the same.
func (s site) timeOver(t *testing.T) {
	s.do(t.Context(), "POST", "/threads/late", "title=x")
	defer s.lost.Store(nil)
	for _, tt := range []struct {
		user  string
		fault repotest.Fault
		want  error
	}{{"ann", repotest.LostAnswer, nil}, {"bob", repotest.LostCall, errNotDone}} {
		ctx, cancel := context.WithCancel(t.Context())
		s.lost.Store(&cancel)
		s.meet(t, repotest.Rule{On: repotest.Commit, Collection: "entries", Nth: 1, Fault: tt.fault})
		if err := s.vote(ctx, "late", tt.user); !errors.Is(err, tt.want) || ctx.Err() == nil {
			t.Errorf("%s: %v, want %v", tt.fault, err, tt.want)
		}
	}
	s.meet(t)
	if votes := s.counted(t, "late"); !votes["vote:ann"] || votes["vote:bob"] {
		t.Errorf("the votes are %v", votes)
	}
}

// Others take the oldest notice away each time, until the time is over.
func (s site) noEnd(t *testing.T) {
	if err := s.notices.Insert(t.Context(), &notice{User: "busy", ID: countID, Count: mostNotices}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := s.notify(ctx, notice{User: "busy", ID: "1", Text: "x"})
	if status, again := statusOf(err); status != 503 || !again {
		t.Errorf("%v: %d, again %v", err, status, again)
	}
}

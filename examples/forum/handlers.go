package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
)

// A handler answers a request, or says why it cannot.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h(w, r)
	if err == nil {
		return
	}
	status, again := statusOf(err)
	if again {
		w.Header().Set("Retry-After", "1")
	}
	if status >= 500 {
		log.Print(err) // has keys and the store's own words, which are not for clients
	}
	http.Error(w, http.StatusText(status), status)
}

func (f *forum) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /threads/{thread}", handler(f.postThread))
	mux.Handle("GET /threads/{thread}", handler(f.getThread))
	mux.Handle("PUT /threads/{thread}", handler(f.putThread))
	mux.Handle("POST /threads/{thread}/votes/{user}", handler(f.postVote))
	mux.Handle("POST /users/{user}/notices", handler(f.postNotice))
	mux.Handle("GET /users/{user}/notices", handler(f.getNotices))
	return mux
}

// writeTime is how long a request may go on writing. The context of the request itself ends when the
// client goes away, in the middle of what was begun.
const writeTime = 5 * time.Second

func forWriting(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), writeTime)
}

func (f *forum) postThread(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := forWriting(r)
	defer cancel()
	e := entry{Thread: r.PathValue("thread"), ID: threadID, Title: r.FormValue("title"), Made: time.Now()}
	if err := settled(ctx, f.entries, f.entries.Insert(ctx, &e)); err != nil {
		return err
	}
	return answer(w, e, e.Version)
}

func (f *forum) getThread(w http.ResponseWriter, r *http.Request) error {
	e, err := f.entries.Get(r.Context(), repo.Key{r.PathValue("thread"), threadID})
	if err != nil {
		return err
	}
	return answer(w, e, e.Version)
}

// putThread changes the title if the thread is as the client has seen it.
func (f *forum) putThread(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := forWriting(r)
	defer cancel()
	var seen repo.Version
	if err := seen.UnmarshalText([]byte(strings.Trim(r.Header.Get("If-Match"), `"`))); err != nil {
		return err
	}
	key := repo.Key{r.PathValue("thread"), threadID}
	version, err := f.entries.PatchIf(ctx, key, seen, repo.Set("title", r.FormValue("title")))
	if err := settled(ctx, f.entries, err); err != nil {
		return err
	}
	return answer(w, nil, version)
}

func (f *forum) postVote(_ http.ResponseWriter, r *http.Request) error {
	ctx, cancel := forWriting(r)
	defer cancel()
	return f.vote(ctx, r.PathValue("thread"), r.PathValue("user"))
}

func (f *forum) postNotice(_ http.ResponseWriter, r *http.Request) error {
	ctx, cancel := forWriting(r)
	defer cancel()
	id := fmt.Sprintf("%020d", time.Now().UnixNano())
	return f.notify(ctx, notice{User: r.PathValue("user"), ID: id, Text: r.FormValue("text")})
}

func (f *forum) getNotices(w http.ResponseWriter, r *http.Request) error {
	q := repo.Where("user", r.PathValue("user")).Below("id", countID).Order("-id").Limit(10)
	page, err := f.notices.Page(r.Context(), q, r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	return answer(w, page, repo.Version{})
}

func answer(w http.ResponseWriter, body any, version repo.Version) error {
	if !version.IsZero() {
		w.Header().Set("ETag", `"`+version.String()+`"`)
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(body)
}

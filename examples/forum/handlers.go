package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
)

// A handler answers a request, whose form was read, or says why it cannot.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := readForm(w, r)
	if err == nil {
		ctx, cancel := contextOf(r)
		defer cancel()
		err = h(w, r.WithContext(ctx))
	}
	if err == nil {
		return
	}
	status, again := statusOf(err)
	if again {
		w.Header().Set("Retry-After", "1")
	}
	if status >= 500 {
		log.Printf("%q", err) // has keys and the store's own words, which are not for clients
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

// mostBytes is how large the body of a request may be.
const mostBytes = 64 << 10

// readForm reads the form of a request, which may be anything, and of any size.
func readForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, mostBytes)
	err := r.ParseForm()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Errorf("form: %w: %w", err, repo.ErrTooLarge)
	}
	if err != nil {
		return fmt.Errorf("form: %w: %w", err, repo.ErrInvalid)
	}
	return nil
}

// field returns a field of the body's form, which must not be empty.
func field(r *http.Request, name string) (string, error) {
	text := r.PostForm.Get(name)
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("form: the %s is empty: %w", name, repo.ErrInvalid)
	}
	return text, nil
}

// callTime is how long a request may read and write.
const callTime = 5 * time.Second

// contextOf returns the context of what a request does. That of the request itself ends when the
// client goes away. A read ends then; a write does not, in the middle of what was begun.
func contextOf(r *http.Request) (context.Context, context.CancelFunc) {
	ctx := r.Context()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		ctx = context.WithoutCancel(ctx)
	}
	return context.WithTimeout(ctx, callTime)
}

func (f *forum) postThread(w http.ResponseWriter, r *http.Request) error {
	title, err := field(r, "title")
	if err != nil {
		return err
	}
	e := entry{Thread: r.PathValue("thread"), ID: threadID, Title: title, Made: time.Now()}
	if err := settled(r.Context(), f.entries, f.entries.Insert(r.Context(), &e)); err != nil {
		return err
	}
	return f.answerWrite(w, r, e)
}

func (f *forum) getThread(w http.ResponseWriter, r *http.Request) error {
	e, err := f.entries.Get(r.Context(), repo.Key{r.PathValue("thread"), threadID})
	if err != nil {
		return err
	}
	return answer(w, e, e.Version)
}

// errNoVersion says that a request would change a thread whatever others have made of it.
var errNoVersion = errors.New("no version; send the ETag of the thread as If-Match")

// putThread changes the title if the thread is as the client has seen it.
func (f *forum) putThread(w http.ResponseWriter, r *http.Request) error {
	title, err := field(r, "title")
	if err != nil {
		return err
	}
	var seen repo.Version
	if err := seen.UnmarshalText([]byte(strings.Trim(r.Header.Get("If-Match"), `"`))); err != nil {
		return err
	}
	if seen.IsZero() { // which would be no condition
		return errNoVersion
	}
	rename := func(e *entry) error {
		e.Title = title
		return nil
	}
	key := repo.Key{r.PathValue("thread"), threadID}
	e, err := f.entries.Update(r.Context(), key, rename, repo.IfVersion(seen))
	if err := settled(r.Context(), f.entries, err); err != nil {
		return err
	}
	return f.answerWrite(w, r, e)
}

// answerWrite answers with the thread that was written. The version that a settled write made is not
// known: the thread is read again, and if it cannot be, the write is done all the same.
func (f *forum) answerWrite(w http.ResponseWriter, r *http.Request, e entry) error {
	if !e.Version.IsZero() {
		return answer(w, e, e.Version)
	}
	if err := f.getThread(w, r); err != nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return nil
}

func (f *forum) postVote(_ http.ResponseWriter, r *http.Request) error {
	return f.vote(r.Context(), r.PathValue("thread"), r.PathValue("user"))
}

func (f *forum) postNotice(_ http.ResponseWriter, r *http.Request) error {
	text, err := field(r, "text")
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%020d.%s", time.Now().UnixNano(), rand.Text()) // two may come at the same time
	return f.notify(r.Context(), notice{User: r.PathValue("user"), ID: id, Text: text})
}

func (f *forum) getNotices(w http.ResponseWriter, r *http.Request) error {
	q := noticesOf(r.PathValue("user")).Order("-id").Limit(10)
	page, err := f.notices.Page(r.Context(), q, r.Form.Get("cursor"))
	if err != nil {
		return err
	}
	return answer(w, page, repo.Version{})
}

func answer(w http.ResponseWriter, body any, version repo.Version) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if !version.IsZero() {
		w.Header().Set("ETag", `"`+version.String()+`"`)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a client that has gone gets no other answer
	return nil
}

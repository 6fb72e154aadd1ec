package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// Read reads the result file of a run. Its text is made again, of the rest of the file. A file
// that no run of this version wrote is refused.
func Read(file string) (*Result, error) {
	r, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	return r, nil
}

func read(file string) (*Result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory; name the result.json in it", file)
	}
	var body []byte
	if err == nil && info.Size() <= limit.MaxResult {
		body, err = io.ReadAll(io.LimitReader(f, limit.MaxResult+1)) // a pipe has no size
	}
	switch {
	case err != nil:
		return nil, err
	case max(info.Size(), int64(len(body))) > limit.MaxResult:
		return nil, fmt.Errorf("%s has more than %d bytes, which no result has; %s", file, limit.MaxResult, which)
	}
	r, err := parse(body)
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	return r, nil
}

const (
	which  = "name the result.json of a run, as in runs/blog-1/result.json"
	repeat = "it was changed after the run, or damaged: take it as it was, or repeat the run"
)

// parse reads the text of a result file. Its errors go on after the name of the file.
func parse(body []byte) (*Result, error) {
	var head struct {
		Format      any
		Environment struct{ Program string }
	}
	var raw any
	if err := json.Unmarshal(body, &raw); err != nil {
		if wrong := (*json.SyntaxError)(nil); errors.As(err, &wrong) {
			if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && endless(wrong, body) {
				return nil, fmt.Errorf("ends in the middle, at %s; %s", place(body, wrong.Offset), repeat)
			}
			err = fmt.Errorf("%w at %s", err, place(body, wrong.Offset))
		}
		return nil, fmt.Errorf("is no result of polystore load (%w); %s", err, which)
	}
	_ = json.Unmarshal(body, &head) // what is not there, or otherwise, is told below
	switch format, ok := head.Format.(float64); {
	case !ok:
		return nil, fmt.Errorf("is no result of polystore load, as it has no number of a format; %s", which)
	case format != Format:
		return nil, fmt.Errorf("has format %v, and this version of polystore reads format %d; repeat the run, read the file by the version that wrote it (%s), or see its field text",
			format, Format, cmp.Or(printable(head.Environment.Program), "it does not say which"))
	}
	if what := absent(raw, reflect.TypeFor[Result](), ""); what != "" {
		return nil, fmt.Errorf("has no %s; %s", what, repeat)
	}
	r := &Result{}
	if err := json.Unmarshal(body, r); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			err = fmt.Errorf("%s cannot be %s, as at %s", wrong.Field, wrong.Value, place(body, wrong.Offset))
		}
		return nil, fmt.Errorf("is not what a run writes: %w; %s", err, repeat)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("is not what a run writes: %w; %s", err, repeat)
	}
	said := r.judgement()
	if Judge(r); r.judgement() != said {
		return nil, fmt.Errorf("says %s, and what was measured comes to %s; %s", said, r.judgement(), repeat)
	}
	return r, nil
}

// endless reports whether a text would be JSON if it went on. In a word such as false, the reader takes the end
// for a space.
func endless(wrong *json.SyntaxError, body []byte) bool {
	return wrong.Offset >= int64(len(body)) && (wrong.Error() == "unexpected end of JSON input" || strings.HasPrefix(wrong.Error(), "invalid character ' ' in literal "))
}

// place returns where an offset is, for people.
func place(body []byte, offset int64) string {
	before := body[:min(max(offset, 0), int64(len(body)))]
	line := bytes.Count(before, []byte("\n"))
	return fmt.Sprintf("line %d, column %d", line+1, len(before)-bytes.LastIndexByte(before, '\n')-1)
}

// absent returns the path of the first field that a JSON value lacks and a run would have written
// of the type, "" if there is none.
func absent(x any, t reflect.Type, path string) string {
	switch t.Kind() {
	case reflect.Struct:
		m, ok := x.(map[string]any)
		if !ok || t.NumField() == 0 || t.Field(0).Tag.Get("json") == "" {
			return missingUnless(x != nil, path) // a time, or of a wrong type, which is told when it is decoded
		}
		for f := range t.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			at := strings.TrimPrefix(path+"."+name, ".")
			if v, ok := m[name]; !ok && options != "omitempty" {
				return at
			} else if what := ""; ok {
				if what = absent(v, f.Type, at); what != "" {
					return what
				}
			}
		}
	case reflect.Slice, reflect.Array:
		list, _ := x.([]any) // null is an empty list
		for i, v := range list {
			if what := absent(v, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); what != "" {
				return what
			}
		}
	case reflect.Pointer, reflect.Map: // which may be null
	default:
		return missingUnless(x != nil, path)
	}
	return ""
}

func missingUnless(there bool, path string) string {
	if there {
		return ""
	}
	return path
}

// check returns what in the result does not fit together.
func (r *Result) check() error {
	if len(r.Stores) == 0 || len(r.Queries) == 0 || len(r.Candidates) == 0 {
		return fmt.Errorf("there are %d stores, %d queries and %d candidates", len(r.Stores), len(r.Queries), len(r.Candidates))
	}
	if r.Rounds < 1 || r.Rounds > limit.MaxRounds || r.Rate < 1 || r.Rate > limit.MaxRate {
		return fmt.Errorf("there are %d rounds at %d/s", r.Rounds, r.Rate)
	}
	for _, s := range r.Stores {
		if _, ok := class(s.Durability); !ok {
			return fmt.Errorf("there is no class of durability %q", s.Durability)
		}
	}
	for _, q := range r.Queries {
		for _, o := range q.Objectives {
			if o.Percentile <= 0 || o.Percentile > 100 {
				return fmt.Errorf("an objective of query %q is of percentile %v", q.Name, o.Percentile)
			}
		}
	}
	for i := range r.Candidates {
		if err := r.checkCandidate(&r.Candidates[i]); err != nil {
			return fmt.Errorf("candidate %q: %w", r.Candidates[i].Name, err)
		}
	}
	return nil
}

func (r *Result) checkCandidate(c *CandidateResult) error {
	switch {
	case c.StoreAt < 0 || c.StoreAt >= len(r.Stores):
		return fmt.Errorf("store_at is %d, and there are %d stores", c.StoreAt, len(r.Stores))
	case len(c.Rounds) > r.Rounds:
		return fmt.Errorf("it has %d rounds of %d", len(c.Rounds), r.Rounds)
	case !slices.EqualFunc(r.Queries, c.Queries, func(s QuerySetting, q QueryResult) bool { return s.Name == q.Name }):
		return errors.New("its queries are others")
	}
	rounds := slices.Clone(c.Rounds)
	for _, s := range c.Steps {
		if s.Rate < 1 || s.Rate > limit.MaxRate || len(s.Rounds) > limit.MaxRounds {
			return fmt.Errorf("a step has %d rounds at %d/s", len(s.Rounds), s.Rate)
		}
		rounds = append(rounds, s.Rounds...)
	}
	for _, x := range rounds {
		if !slices.EqualFunc(r.Queries, x.Queries, func(s QuerySetting, q RoundQuery) bool {
			return s.Name == q.Name && len(s.Objectives) == len(q.Objectives)
		}) {
			return fmt.Errorf("the queries of round %d, or their objectives, are others", x.Number)
		}
	}
	return nil
}

// judgement returns in a line what the result says of the candidates.
func (r *Result) judgement() string {
	var parts []string
	for _, c := range r.Candidates {
		parts = append(parts, fmt.Sprintf("%q %s", c.Name, c.State))
	}
	for _, v := range r.Verdicts {
		parts = append(parts, fmt.Sprintf("%s %q", v.Class, v.Ranked))
	}
	return fmt.Sprintf("%s, exit %d", strings.Join(parts, ", "), r.Exit)
}

package gate_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Statements are the labelled blocks of internal/gate/statements.md.
type statements map[string]string

var fence = regexp.MustCompile("(?ms)^```[a-z]+ ([a-z]+/[a-z-]+)\n(.*?)^```$")

func readDesign(t testing.TB) statements {
	t.Helper()
	text, err := os.ReadFile("statements.md")
	if err != nil {
		t.Fatal(err)
	}
	s := statements{}
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if _, twice := s[m[1]]; twice {
			t.Fatalf("statement %s stands twice in the design", m[1])
		}
		s[m[1]] = strings.TrimSpace(m[2])
	}
	return s
}

// spoil returns the statements with one of them changed.
func (s statements) spoil(t testing.TB, label, old, new string) statements {
	t.Helper()
	if !strings.Contains(s[label], old) {
		t.Fatalf("statement %s has no %q to spoil", label, old)
	}
	s = maps.Clone(s)
	s[label] = strings.Replace(s[label], old, new, 1)
	return s
}

// text returns a statement, and fails when the design has none with this label.
func (s statements) text(label string) (string, error) {
	if s[label] == "" {
		return "", fmt.Errorf("the design has no statement %s", label)
	}
	return s[label], nil
}

var parameter = regexp.MustCompile(`\?[a-z]+`)

// words returns a statement of Redis with its parameters filled in. One that is a
// []string becomes several words.
func (s statements) words(label string, params map[string]any) ([]any, error) {
	text, err := s.text(label)
	if err != nil {
		return nil, err
	}
	var words []any
	for _, word := range strings.Fields(text) {
		if name, ok := strings.CutSuffix(word, "..."); ok {
			for _, v := range params[name[1:]].([]string) {
				words = append(words, v)
			}
			continue
		}
		words = append(words, parameter.ReplaceAllStringFunc(word, func(name string) string {
			v, ok := params[name[1:]]
			if !ok {
				err = fmt.Errorf("statement %s has no parameter %s", label, name)
			}
			return fmt.Sprint(v)
		}))
	}
	return words, err
}

// document returns a statement of MongoDB with its parameters filled in.
func (s statements) document(label string, params map[string]any) (bson.D, error) {
	text, err := s.text(label)
	if err != nil {
		return nil, err
	}
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		return nil, fmt.Errorf("statement %s: %w", label, err)
	}
	v, err := fill(d, params)
	if err != nil {
		return nil, fmt.Errorf("statement %s: %w", label, err)
	}
	return v.(bson.D), nil
}

func fill(v any, params map[string]any) (any, error) {
	switch v := v.(type) {
	case bson.D:
		for i, e := range v {
			key, err := fill(e.Key, params)
			if err != nil {
				return nil, err
			}
			v[i].Key = key.(string)
			if v[i].Value, err = fill(e.Value, params); err != nil {
				return nil, err
			}
		}
	case bson.A:
		for i, e := range v {
			var err error
			if v[i], err = fill(e, params); err != nil {
				return nil, err
			}
		}
	case string:
		if name, ok := strings.CutPrefix(v, "?"); ok {
			p, known := params[name]
			if !known {
				return nil, fmt.Errorf("no parameter %s", name)
			}
			return p, nil
		}
	}
	return v, nil
}

// tables fills the names that stand in angle brackets in a statement of Cassandra.
func (s statements) named(label string, names map[string]string) (string, error) {
	text, err := s.text(label)
	for name, value := range names {
		text = strings.ReplaceAll(text, "<"+name+">", value)
	}
	return text, err
}

// A statement that no test names would be prose. The tests are read as text.
func TestEveryStatementIsSent(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	sent := func(label string) bool { return strings.Contains(code.String(), `"`+label+`"`) }
	design := readDesign(t)
	for label := range design {
		if !sent(label) {
			t.Errorf("no test sends the statement %s of the design", label)
		}
	}
	if len(design) < 50 || sent("redis/"+"nonsense") {
		t.Errorf("%d statements in the design; a made-up one is sent: %v", len(design), sent("redis/"+"nonsense"))
	}
}

package testload

import "testing"

// Parsed returns a workload of a test, read by a function such as workload.Parse.
func Parsed[W any](t *testing.T, parse func(file string, text []byte) (W, error), text string) W {
	t.Helper()
	w, err := parse("small.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Short returns the beginning of a text, for the message of a test.
func Short(text string) string {
	if len(text) > 600 {
		return text[:600] + "…"
	}
	return text
}

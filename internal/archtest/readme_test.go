package archtest_test

import (
	"os"
	"strings"
	"testing"
)

// programOf returns the first Go block of a Markdown text.
func programOf(text string) string {
	_, rest, _ := strings.Cut(text, "```go\n")
	program, _, _ := strings.Cut(rest, "```")
	return program
}

// The README's program is one that compiles: the example of the same text.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/blogdb/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(example), "\n") // without the package comment
	if program := programOf(string(readme)); program == "" || program != body {
		t.Errorf("the README's program differs from examples/blogdb/main.go")
	}
	if programOf("```go\na\n```") != "a\n" {
		t.Error("the comparison finds no program at all")
	}
}

// Package pagetest compares pages of the documentation with the programs that they explain.
package pagetest

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
)

// A Page is a Markdown file whose Go blocks are parts of a program, and whose text blocks are what that prints.
type Page struct {
	File    string
	Program string
	Run     func(ctx context.Context, url string, out io.Writer) error
	Blocks  int // of Go, at least
	Texts   int // at least
}

// Check compares the page with the program.
func (p *Page) Check(t *testing.T) {
	t.Helper()
	page, program := read(t, p.File), withoutTabs(read(t, p.Program))
	blocks := blocksOf(page, "go")
	if texts := blocksOf(page, "text"); len(blocks) < p.Blocks || len(texts) < p.Texts {
		t.Fatalf("%d blocks of Go, %d of output", len(blocks), len(texts))
	}
	for _, b := range blocks {
		if !strings.Contains(program, withoutTabs(b)) {
			t.Errorf("no part of the program:\n%s", b)
		}
	}
	if strings.Contains(program, withoutTabs(blocks[0]+"\n"+blocks[0])) {
		t.Error("the comparison finds what is not there")
	}
}

// On runs the program on a store and compares what it prints.
func (p *Page) On(t *testing.T, url string) {
	t.Helper()
	want := strings.Join(blocksOf(read(t, p.File), "text"), "")
	var out bytes.Buffer
	if err := p.Run(t.Context(), url, &out); err != nil || out.String() != want {
		t.Errorf("%s: %v, the output is\n%s", url, err, &out)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocksOf returns the blocks of a language in a Markdown text.
func blocksOf(text, language string) (blocks []string) {
	for _, part := range strings.Split(text, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks
}

// withoutTabs leaves out how far lines are indented.
func withoutTabs(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

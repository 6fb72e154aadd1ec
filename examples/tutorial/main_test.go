package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The blocks of the tutorial are parts of this program, and its output is what they print.
func TestTutorial(t *testing.T) {
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks, texts := blocksOf(string(page), "go"), blocksOf(string(page), "text")
	if len(blocks) < 8 || len(texts) < 6 {
		t.Fatalf("%d blocks of Go, %d of output", len(blocks), len(texts))
	}
	flat := withoutTabs(string(program))
	for _, b := range blocks {
		if !strings.Contains(flat, withoutTabs(b)) {
			t.Errorf("no part of the program:\n%s", b)
		}
	}
	if strings.Contains(flat, withoutTabs(blocks[0]+"\n"+blocks[0])) {
		t.Error("the comparison finds what is not there")
	}
	for _, url := range []string{"memory:", "pebble:" + t.TempDir()} {
		var out bytes.Buffer
		if err := run(t.Context(), url, &out); err != nil || out.String() != strings.Join(texts, "") {
			t.Errorf("%s: %v, the output is\n%s", url, err, &out)
		}
	}
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

package main

import (
	"testing"

	"github.com/polystore/polystore/internal/pagetest"
)

// The blocks of the tutorial are parts of this program, and its output is what they print.
func TestTutorial(t *testing.T) {
	page := pagetest.Page{File: "../../docs/tutorial.md", Program: "main.go", Run: run, Blocks: 8, Texts: 6}
	page.Check(t)
	page.On(t, "memory:")
	page.On(t, "pebble:"+t.TempDir())
}

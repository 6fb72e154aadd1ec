package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
)

func TestRun(t *testing.T) {
	var out, progress bytes.Buffer
	url := "pebble:" + t.TempDir() + "?sync=false"
	if err := run(t.Context(), []string{"-nodes", "1000", "-inserts", "300", "-siblings", "400", url}, &out, &progress); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"adjacency +load of 1000 ", "nested_sets +load of 1000 ", "path +subtree of 110 ", "ancestors +move of 111 ",
		"siblings +insert, tenth 10 of 300 ", "siblings +300 siblings; a place has 2.8 bytes, the longest 3;", "siblings +402 siblings; a place has ",
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("nothing like %q in\n%s", want, &out)
		}
	}
	store, err := backends.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, name := range []string{"trees_adjacency", "trees_path_trees"} {
		if _, err := repo.SchemaOf(t.Context(), store, name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is there still: %v", name, err)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, args := range []string{"", "-nodes 5 memory:", "-unknown memory:", "nothing:"} {
		var out, progress bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), &out, &progress); err == nil {
			t.Errorf("trees %s: no error", args)
		}
	}
}

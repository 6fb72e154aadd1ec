package archtest_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

const below = "repo/internal/"

// layers are the packages below package repo, lowest first: each imports only what stands before it.
var layers = []string{
	"limit", "failure", "turn", "record", "layout", "plan", "store", "catalog", "scan", "change",
	"commit/remote", "commit", "upkeep",
}

// climbs says whether a layer that imports another one imports upwards. A package that is no layer does.
func climbs(dir, path string) bool {
	from := slices.Index(layers, strings.TrimPrefix(dir, below))
	to := slices.Index(layers, strings.TrimPrefix(path, module+below))
	return from < 0 || to < 0 || to >= from
}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range files(t) {
		if !strings.HasPrefix(f.dir, below) {
			continue
		}
		seen[strings.TrimPrefix(f.dir, below)] = true
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(path, module+below) && !f.isTest() && climbs(f.dir, path) {
				t.Errorf("%s imports %s, which is no layer below its own", f.path, path)
			}
		}
	}
	for _, layer := range layers {
		if !seen[layer] {
			t.Errorf("no package %s%s, which layers has", below, layer)
		}
	}
	for layer := range seen {
		if !slices.Contains(layers, layer) {
			t.Errorf("layers has no %s: say where it stands", layer)
		}
	}
}

func TestLayersCatch(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		climbs   bool
	}{
		{"plan", "scan", true},
		{"scan", "plan", false},
		{"commit/remote", "commit", true},
		{"commit", "commit/remote", false},
		{"scan", "new", true},
		{"new", "limit", true},
	} {
		if got := climbs(below+tt.from, module+below+tt.to); got != tt.climbs {
			t.Errorf("%s importing %s: climbs %v, want %v", tt.from, tt.to, got, tt.climbs)
		}
	}
}

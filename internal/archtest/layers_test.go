package archtest_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers are the packages below a folder, lowest first: each imports only what stands before it.
var layers = map[string][]string{
	"repo/internal/": {
		"limit", "failure", "turn", "record", "layout", "plan", "store", "catalog", "scan", "change",
		"commit/remote", "commit", "upkeep",
	},
	"loadtest/": {
		"internal/limit", "internal/timing", "internal/fault", "internal/format", "report", "internal/page", "internal/failure", "internal/random", "internal/value",
		"internal/document", "internal/progress", "internal/generate", "internal/testload", "internal/workload",
		"internal/data", "internal/draft", "internal/operation", "internal/ledger", "internal/oracle", "internal/store", "internal/candidate", "internal/pace",
		"internal/compare", "internal/measure",
	},
	"conformance/internal/": {
		"finding", "tested", "double", "record", "random", "history", "watchdog", "table", "rule", "spi", "api", "hierarchy",
	},
}

// layerOf returns the folder that a package is below, and its layer there; "" if it is below none.
func layerOf(dir string) (below, layer string) {
	for below := range layers {
		if layer, ok := strings.CutPrefix(dir, below); ok {
			return below, layer
		}
	}
	return "", ""
}

// climbs says whether a layer that imports another one of its folder imports upwards. A package that
// is no layer does.
func climbs(dir, path string) bool {
	below, layer := layerOf(dir)
	other, ok := strings.CutPrefix(path, module+below)
	if below == "" || !ok {
		return false
	}
	from, to := slices.Index(layers[below], layer), slices.Index(layers[below], other)
	return from < 0 || to < 0 || to >= from
}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range files(t) {
		if below, _ := layerOf(f.dir); below == "" {
			continue
		}
		seen[f.dir] = true
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !f.isTest() && climbs(f.dir, path) {
				t.Errorf("%s imports %s, which is no layer below its own", f.path, path)
			}
		}
	}
	for below, list := range layers {
		for _, layer := range list {
			if !seen[below+layer] {
				t.Errorf("no package %s%s, which layers has", below, layer)
			}
		}
	}
	for dir := range seen {
		if below, layer := layerOf(dir); !slices.Contains(layers[below], layer) {
			t.Errorf("layers has no %s: say where it stands", dir)
		}
	}
}

func TestLayersCatch(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		climbs   bool
	}{
		{"repo/internal/plan", "repo/internal/scan", true},
		{"repo/internal/scan", "repo/internal/plan", false},
		{"repo/internal/commit/remote", "repo/internal/commit", true},
		{"repo/internal/commit", "repo/internal/commit/remote", false},
		{"repo/internal/scan", "repo/internal/new", true},
		{"repo/internal/new", "repo/internal/limit", true},
		{"loadtest/report", "loadtest/internal/measure", true},
		{"loadtest/internal/measure", "loadtest/report", false},
		{"loadtest/internal/format", "loadtest/report", true},
		{"loadtest/internal/new", "loadtest/internal/limit", true},
		{"conformance/internal/finding", "conformance/internal/tested", true},
		{"conformance/internal/history", "conformance/internal/record", false},
		{"conformance/internal/rule", "conformance/internal/spi", true},
		{"conformance/internal/spi", "conformance/internal/api", true},
		{"conformance/internal/new", "conformance/internal/finding", true},
		{"loadtest", "loadtest/internal/measure", false},
		{"loadtest/internal/measure", "repo", false},
	} {
		if got := climbs(tt.from, module+tt.to); got != tt.climbs {
			t.Errorf("%s importing %s: climbs %v, want %v", tt.from, tt.to, got, tt.climbs)
		}
	}
}

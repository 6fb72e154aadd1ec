package archtest_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A rule says what the packages below dir may import, as patterns: of this module
// (paths from its root) and of others. The standard library is always allowed.
// The first rule that fits a package is its rule; a package without one is a fault.
type rule struct{ dir, own, others string }

var rules = []rule{
	{`^repo/driver$`, ``, ``},
	{`^repo/driver/frame$`, `^repo/driver$`, ``},
	{`^repo/driver/address$`, `^repo/driver(/frame)?$`, ``},
	{`^repo$`, `^repo/(driver|internal/.+)$`, ``},
	{`^repo/internal/.+$`, `^repo/(driver|internal/.+)$`, ``},              // and only layers below: see TestLayers
	{`^repo/tree$`, `^repo(/driver|/internal/(limit|record|store))?$`, ``}, // it has fields of records by their names, and bounds and pauses as repo has
	{`^repo/geo$`, `^repo(/driver|/internal/scan)?$`, ``},                  // it says which records of a range are wanted
	{`^repo/.+$`, `^repo(/driver)?$`, ``},
	{`^repotest$`, `^repo/driver$`, ``},
	{`^backends/memory$`, `^repo/driver(/frame)?$`, ``},
	{`^backends/pebble$`, `^repo/driver(/frame|/address)?$`, `^github\.com/cockroachdb/`},
	{`^backends/redis(/internal/.+)?$`, `^(repo/driver(/frame|/address)?|internal/tagged|backends/redis/internal/.+)$`, `^github\.com/redis/go-redis/v9`},
	{`^backends/mongo(/internal/.+)?$`, `^(repo/driver(/frame|/address)?|internal/tagged|backends/mongo/internal/.+)$`, `^go\.mongodb\.org/mongo-driver/v2`},
	{`^backends/cassandra(/internal/.+)?$`, `^(repo/driver(/frame|/address)?|internal/tagged|backends/cassandra/internal/.+)$`, `^github\.com/apache/cassandra-gocql-driver/v2`},
	{`^backends$`, `^(repo|repo/driver|backends/\w+)$`, ``},
	{`^conformance$`, `^(repo|repo/driver|internal/.+|conformance/internal/.+)$`, ``},
	{`^conformance/internal/(spi|table|watchdog)$`, `^(repo/driver|conformance/internal/.+)$`, ``},
	{`^conformance/internal/hierarchy$`, `^(repo|repo/driver|repo/tree|conformance/internal/.+)$`, ``},
	{`^conformance/internal/.+$`, `^(repo|repo/driver|backends/memory|conformance/internal/.+)$`, `^github\.com/anishathalye/porcupine$`}, // and only layers below: see TestLayers
	{`^loadtest$`, `^(repo|repo/driver|repo/tree|internal/.+|loadtest/.+)$`, `^github\.com/HdrHistogram/hdrhistogram-go$`},
	{`^loadtest/report$`, `^(repo/driver|loadtest/internal/.+)$`, `^(golang\.org/x/perf/benchmath|github\.com/aclements/go-moremath/stats|github\.com/HdrHistogram/hdrhistogram-go)$`},                                                                     // a result is all that it asks
	{`^loadtest/internal/.+$`, `^(repo|repo/(tree|geo|series|link|copies|driver)|internal/.+|loadtest/.+)$`, `^(github\.com/HdrHistogram/hdrhistogram-go|github\.com/goccy/go-yaml.*|github\.com/klauspost/compress/zstd|golang\.org/x/(sys/unix|term))$`}, // and only layers below: see TestLayers
	{`^cmd/polystore$`, `^(repo|repo/tree|repo/driver(/address)?|backends|conformance|loadtest|internal/.+)$`, `^golang\.org/x/term$|^github\.com/goccy/go-yaml$|^github\.com/redis/go-redis/v9/logging$|^github\.com/prometheus/client_golang/prometheus(/(collectors|promhttp))?$`},
	{`^docs/tiny$`, `^repo/driver(/frame)?$`, ``},
	{`^k6/polyk6$`, `^(backends|loadtest)$`, `^(go\.k6\.io/k6/(errext|js/common|js/modules|metrics)|github\.com/grafana/sobek)$`},
	{`^k6/cmd/k6$`, `^k6/polyk6$`, `^go\.k6\.io/k6/cmd$`},
	{`^otel/polyotel$`, `^repo$`, `^go\.opentelemetry\.io/otel(/(attribute|codes|metric|trace))?$`},
	{`^examples/.+$`, `^(repo(/tree|/graph|/nested)?|backends(/\w+)?)$`, ``},
	{`^internal/testserver(/.+)?$`, `^internal/testserver$`, `^github\.com/(ory/dockertest/v3|redis/go-redis/v9|apache/cassandra-gocql-driver/v2)|^go\.mongodb\.org/mongo-driver/v2`},
	{`^bench/sending$`, `^(repo|backends|loadtest|internal/.+|bench/.+)$`, `^github\.com/redis/go-redis/v9$`},
	{`^bench(/.+)?$`, `^(repo|repo/tree|repo/driver|backends(/\w+)?|internal/.+|bench/.+)$`, `.*`},
	{`^internal/tagged$`, `^repo/driver$`, ``},
	// Tests of stores, which is why it may use what no store may.
	{`^internal/backendtest$`, `^(repo|repo/driver|repo/driver/address|repotest|conformance|loadtest|internal/testserver|internal/toxic)$`, ``},
	{`^internal/everystore$`, ``, ``}, // it has tests alone
	{`^internal/raw$`, ``, `^github\.com/(cockroachdb/pebble/v2|redis/go-redis/v9|apache/cassandra-gocql-driver/v2)$|^go\.mongodb\.org/mongo-driver/v2`}, // by no code of this module
	{`^internal/(simulate|live)$`, `^(repo|repo/driver|backends/memory)$`, ``},
	{`^internal/.+$`, ``, `.*`},
}

// breaks returns the imports of a package that its rule forbids.
func breaks(dir string, imports []string) []string {
	for _, r := range rules {
		if !regexp.MustCompile(r.dir).MatchString(dir) {
			continue
		}
		var bad []string
		for _, path := range imports {
			if !r.allows(path) {
				bad = append(bad, path)
			}
		}
		return bad
	}
	return []string{"(no rule for this package)"}
}

func (r rule) allows(path string) bool {
	if own, ok := strings.CutPrefix(path, module); ok {
		return r.own != "" && regexp.MustCompile(r.own).MatchString(own)
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return true
	}
	return r.others != "" && regexp.MustCompile(r.others).MatchString(path)
}

func TestImports(t *testing.T) {
	for _, f := range files(t) {
		if f.isTest() {
			continue
		}
		var imports []string
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			imports = append(imports, path)
		}
		for _, path := range breaks(f.dir, imports) {
			t.Errorf("%s imports %s, which its folder may not", f.path, path)
		}
	}
}

// No test may import what a user of the tested package would not expect to be
// built with it: repo's tests use the memory backend and nothing from outside.
func TestImportsOfRepoTests(t *testing.T) {
	allowed := rule{own: `^(repo|repo/(tree|graph|nested|sequence|geo|link|once|history|series|copies)|repo/driver(/.+)?|repo/internal/.+|repotest|backends/(memory|pebble))$`, others: `^(github\.com/google/go-cmp/cmp(/cmpopts)?|pgregory\.net/rapid)$`}
	for _, f := range files(t) {
		if !f.isTest() || !strings.HasPrefix(f.dir, "repo") {
			continue
		}
		for _, spec := range f.ast.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); !allowed.allows(path) {
				t.Errorf("%s imports %s", f.path, path)
			}
		}
	}
}

func TestImportRulesCatch(t *testing.T) {
	tests := []struct {
		dir, path string
		bad       bool
	}{
		{"repo/driver", module + "repo", true},
		{"repo", "github.com/cockroachdb/pebble/v2", true},
		{"repo", module + "backends/memory", true},
		{"repo", module + "repo/internal/plan", false},
		{"repo/internal/plan", module + "repo", true},
		{"backends/pebble", module + "repo/internal/plan", true},
		{"repo", "encoding/json", false},
		{"backends/pebble", module + "backends/memory", true},
		{"backends/redis", module + "backends/mongo/internal/bson", true},
		{"backends/memory", module + "repo/driver/address", true},
		{"repo/driver", module + "repo/driver/frame", true},
		{"backends/pebble", "github.com/cockroachdb/pebble/v2", false},
		{"loadtest", module + "backends", true},
		{"repo", "go.opentelemetry.io/otel", true},
		{"otel/polyotel", "go.opentelemetry.io/otel/trace", false},
		{"loadtest/report", module + "loadtest", true},
		{"loadtest/report", module + "repo", true},
		{"loadtest/internal/pace", "golang.org/x/perf/benchmath", true},
		{"conformance", module + "backends", true},
		{"conformance/internal/spi", module + "repo", true},
		{"conformance/internal/api", module + "repo", false},
		{"internal/raw", module + "repo/driver", true},
		{"internal/raw", "github.com/redis/go-redis/v9", false},
		{"somewhere/new", "fmt", true},
	}
	for _, tt := range tests {
		if got := len(breaks(tt.dir, []string{tt.path})) > 0; got != tt.bad {
			t.Errorf("%s importing %s: fault %v, want %v", tt.dir, tt.path, got, tt.bad)
		}
	}
}

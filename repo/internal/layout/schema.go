package layout

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/internal/record"
)

// A Schema is a schema to be compiled: repo.Schema.
type Schema struct {
	Collection string
	With       string
	Partition  []string
	Sort       []string
	Indexes    []IndexSchema
	Fields     map[string]string
	Others     Others
	Stored     map[string]Stored // the indexes that the catalog has, by name; nil as long as it has none
}

// Add adds an index, with the kinds of its fields among some.
func (o *Others) Add(x *IndexSchema, kinds map[string]string) {
	o.Indexes = append(o.Indexes, *x)
	for _, name := range slices.Concat(x.Partition, x.Sort, x.Covers) {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "-"), "[]")
		field, _ := record.CutPath(name)
		for _, n := range []string{name, field} {
			if kind := kinds[n]; kind != "" {
				o.Fields[n] = kind
			}
		}
	}
}

// A Stage says what programs do with an index.
type Stage uint8

// The stages.
const (
	Ready    Stage = iota // its rows are kept in step, and answer queries
	Declared              // rows of what is written over are removed, and none are added
	Written               // its rows are kept in step, and answer nothing yet
	Leaving               // its rows are kept in step, and answer nothing any more
)

func (s Stage) String() string {
	return [...]string{"ready", "declared", "written", "leaving"}[s]
}

// StateText says which state an index is in, and since when: Unix milliseconds, or 0 if that is not known.
func StateText(state string, at int64) string {
	if at == 0 {
		return state
	}
	return state + " since " + time.UnixMilli(at).UTC().Format("2006-01-02 15:04:05 UTC")
}

// A Stored is how the catalog has an index.
type Stored struct {
	Stage Stage
	At    int64 // when it came to a stage other than Ready, in Unix milliseconds by the clock of who changed it
	Turn  int   // how many indexes of the name there were before, each with its own table

	// Since is when its filling began, in Unix milliseconds, while others could write: what the filler came to has a
	// younger Rev. Of an index that needed no filling it is 0.
	Since int64
}

// Others are indexes of other programs, which a writer keeps in step, and kinds of fields that they have.
type Others struct {
	Fields  map[string]string
	Indexes []IndexSchema
}

// An IndexSchema is an index to be compiled, and as the catalog keeps it: repo.Index.
type IndexSchema struct {
	Name      string   `json:"name,omitempty"`
	Partition []string `json:"partition,omitempty"`
	Sort      []string `json:"sort,omitempty"`
	Unique    bool     `json:"unique,omitempty"`
	Covers    []string `json:"covers,omitempty"`
	Buckets   int      `json:"buckets,omitempty"`
	Kind      string   `json:"kind,omitempty"`
}

// name returns the index's name, made of its fields unless given.
func (x IndexSchema) name() string {
	if x.Name != "" {
		return x.Name
	}
	var parts []string
	for _, f := range x.Partition {
		parts = append(parts, strings.TrimSuffix(f, "[]"))
	}
	for _, f := range x.Sort {
		if strings.HasPrefix(f, "-") {
			parts = append(parts, f[1:]+"_desc")
		} else {
			parts = append(parts, strings.TrimSuffix(f, "[]"))
		}
	}
	return legalName("by_" + strings.Join(parts, "_"))
}

// legalName returns a name as it is, if an index may have it, or else what of it is legal
// with a sum of the whole, so that userId and userid give two names.
func legalName(name string) string {
	const most, sum = 48, 9
	if indexName.MatchString(name) {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	legal := strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	return fmt.Sprintf("%s_%08x", legal[:min(len(legal), most-sum)], h.Sum32())
}

// String returns the index as it is written in Go.
func (x IndexSchema) String() string {
	var b strings.Builder
	b.WriteString("{Partition: " + QuoteList(x.Partition))
	if len(x.Sort) > 0 {
		b.WriteString(", Sort: " + QuoteList(x.Sort))
	}
	if x.Unique {
		b.WriteString(", Unique: true")
	}
	return b.String() + "}"
}

// QuoteList returns names as a list of Go texts.
func QuoteList(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fmt.Sprintf("%.128q", name)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

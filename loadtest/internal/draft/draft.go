// Package draft guesses a workload from a file of data. A file comes in; the text of a workload file goes out, which
// says what of it is guessed.
package draft

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// Of returns a workload for the records of a file, which is to lie beside it.
func Of(ctx context.Context, file string) (string, error) {
	t, err := read(ctx, file)
	if err != nil {
		return "", err
	}
	d := &draft{table: t, name: nameOf(file)}
	d.guess()
	d.write()
	return d.b.String(), nil
}

// A draft is a workload that is being written.
type draft struct {
	*table
	name    string
	key     []*column // the last one is another one in each record of the others
	sure    bool      // no two of the rows that were looked at have one key
	finds   []*column // by which records are found, in indexes
	order   *column   // of what is found, nil if nothing suits
	updated *column   // nil if nothing suits
	b       strings.Builder
}

var unnamed = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf returns a name for the collection of a file.
func nameOf(file string) string {
	bare, _ := workload.Packing(filepath.Base(file))
	name := strings.Trim(unnamed.ReplaceAllString(strings.ToLower(strings.TrimSuffix(bare, filepath.Ext(bare))), "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "records_" + name
	}
	return strings.TrimRight(name[:min(len(name), 24)], "_")
}

// always reports whether each row has a value that a key may have.
func (d *draft) always(c *column) bool { return c.there == d.rows && scalar(c.kind()) }

func (d *draft) guess() {
	d.guessKey()
	for _, kind := range []string{"string", "int"} { // numbers are sums rather than names
		for _, c := range d.columns {
			few := len(c.seen) >= 2 && len(c.seen) <= c.there/2
			if len(d.finds) < 2 && few && c.kind() == kind && !slices.Contains(d.key, c) {
				d.finds = append(d.finds, c)
			}
		}
	}
	if i := slices.IndexFunc(d.columns, (*column).byElements); i >= 0 {
		d.finds = append(d.finds, d.columns[i])
	}
	free := func(c *column) bool { return !slices.Contains(d.key, c) && !slices.Contains(d.finds, c) }
	for _, kind := range []string{"time", "int", "float"} {
		for _, c := range d.columns {
			if d.order == nil && c.kind() == kind && c.there == d.rows && free(c) {
				d.order = c
			}
		}
	}
	for _, c := range d.columns {
		if d.updated == nil && c.kind() != "" && c.kind() != "list" && c.kind() != "map" && free(c) && c != d.order {
			d.updated = c
		}
	}
}

// guessKey takes the column that is another one in each row, one whose name says so first, or two of them.
func (d *draft) guessKey() {
	d.sure = true
	for _, named := range []bool{true, false} {
		for _, c := range d.columns {
			name := strings.ToLower(c.field)
			if d.always(c) && len(c.seen) == d.rows && (!named || name == "key" || strings.HasSuffix(name, "id")) {
				d.key = []*column{c}
				return
			}
		}
	}
	for i := range d.columns {
		for j := range i {
			a, b := d.columns[j], d.columns[i]
			p := d.pairs[[2]int{j, i}]
			if p == nil || len(p.seen) < d.rows || !d.always(a) || !d.always(b) {
				continue
			}
			if len(a.seen) > len(b.seen) {
				a, b = b, a
			}
			d.key = []*column{a, b}
			return
		}
	}
	d.sure = false
	for _, c := range d.columns {
		if d.always(c) {
			d.key = append(d.key, c)
		}
	}
}

func (d *draft) line(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// quoted returns a text as YAML reads it.
func quoted(text string) string {
	if plainText.MatchString(text) && !slices.Contains([]string{"true", "false", "null"}, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}

func (d *draft) write() {
	rows := "all " + format.Plural(d.rows, "row")
	if !d.whole {
		rows = "the first " + format.Plural(d.rows, "row")
	}
	d.line("# A workload for %s, guessed from %s. Each guess is marked: look at it, and change what is not so.", strings.ToValidUTF8(filepath.Base(d.file), "?"), rows)
	d.line("# Its keys: docs/reference/workload.md.")
	d.line("workload: %s", d.name)
	d.line("rate: 500                  # guess: operations a second")
	d.line("collections:")
	d.line("  - collection: %s", d.name)
	d.writeKey()
	d.writeFields()
	if len(d.finds) > 0 {
		d.line("    indexes:               # guess: by what records are found")
	}
	for _, c := range d.finds {
		d.line("      - {partition: [%s]%s, covers: [\"*\"]}   # %s", quoted(c.place()), d.sort("-"), d.values(c))
	}
	d.writeData()
	d.writeQueries()
	d.writeModels()
}

func names(list []*column) string {
	var fields []string
	for _, c := range list {
		fields = append(fields, c.field)
	}
	return strings.Join(fields, ", ")
}

func (d *draft) writeKey() {
	switch {
	case len(d.key) == 0:
		d.line("    partition: []          # no column has a value in each row: a record needs a key, so add one to the file")
	case !d.sure:
		d.line("    partition: [%s]   # guess: neither a column nor two are others in each row; name those that are the key", d.key[0].field)
		if len(d.key) > 1 {
			d.line("    sort: [%s]", names(d.key[1:]))
		}
	case len(d.key) == 1:
		d.line("    partition: [%s]   # guess: it is another one in each row", d.key[0].field)
	default:
		d.line("    partition: [%s]   # guess: together with the sort field it is another one in each row; %s", d.key[0].field, d.values(d.key[0]))
		d.line("    sort: [%s]", d.key[1].field)
	}
}

// values says how many values a column has.
func (d *draft) values(c *column) string {
	text := format.Plural(len(c.seen), "value")
	if c.kind() == "list" {
		text = format.Plural(len(c.texts), "element")
	}
	if c.there < d.rows {
		text += ", not in " + format.Plural(d.rows-c.there, "row")
	}
	return text
}

func (d *draft) writeFields() {
	d.line("    fields:                # guess: the narrowest kinds that all values have")
	for _, c := range d.columns {
		if kind := c.kind(); kind != "" {
			d.line("      %s: %s", quoted(c.field), kind)
		}
	}
}

func (d *draft) writeData() {
	d.line("    data:")
	d.line("      file: %s", quoted(filepath.Base(d.file)))
	if filepath.Ext(d.file) == ".tsv" {
		d.line("      format: csv")
	}
	if d.separator != ',' {
		d.line("      separator: %s", strconv.Quote(string(d.separator)))
	}
	var skip, other []string
	for _, c := range d.columns {
		if c.kind() == "" {
			skip = append(skip, quoted(c.name))
		} else if c.field != c.name {
			other = append(other, fmt.Sprintf("        %s: %s", quoted(c.field), quoted(c.name)))
		}
	}
	if len(other) > 0 {
		d.line("      map:\n%s", strings.Join(other, "\n"))
	}
	if len(skip) > 0 {
		d.line("      skip: [%s]   # their values are of several kinds", strings.Join(skip, ", "))
	}
}

// sort returns the order of what is found, as the end of a mapping of YAML.
func (d *draft) sort(direction string) string {
	if d.order == nil {
		return ""
	}
	return fmt.Sprintf(", sort: [%s%s]", direction, d.order.field)
}

func (d *draft) writeQueries() {
	d.line("queries:                   # guess: what is asked how often, in percent, and how fast it must be")
	find, change, insert := 0, 0, 0
	if len(d.finds) > 0 {
		find = 30
	}
	if d.updated != nil {
		change = 15
	}
	last := (*column)(nil)
	if len(d.key) > 0 && d.key[len(d.key)-1].kind() != "time" {
		last, insert = d.key[len(d.key)-1], 5
	}
	d.line("  - {name: one, weight: %d, kind: get, draw: zipf, objectives: {p99: 20ms}}", 100-find-change-insert)
	for i, c := range d.finds {
		weight := find / len(d.finds)
		if i == 0 {
			weight = find - weight*(len(d.finds)-1)
		}
		order := ""
		if d.order != nil {
			order = fmt.Sprintf(", order: [-%s]", d.order.field)
		}
		d.line("  - {name: by %s, weight: %d, kind: find, where: {%s: $}%s, limit: 20, objectives: {p99: 50ms}}", strings.ReplaceAll(c.field, "_", " "), weight, quoted(c.place()), order)
	}
	if change > 0 {
		set := fmt.Sprintf("set: {%s: $}", quoted(d.updated.field))
		if d.updated.kind() == "int" {
			set = fmt.Sprintf("add: {%s: 1}", quoted(d.updated.field))
		}
		d.line("  - {name: change, weight: %d, kind: update, %s}", change, set)
	}
	if insert > 0 {
		maker := `{sequence: 1, pattern: "new-%06d"}`
		if last.kind() == "int" {
			maker = fmt.Sprintf("{sequence: %d}", min(max(last.most, 0), math.MaxInt64/2)+1)
		}
		d.line("  - {name: new, weight: %d, kind: insert, set: {%s: %s}}", insert, quoted(last.field), maker)
	}
}

func (d *draft) writeModels() {
	d.line("models:                    # what is compared")
	if len(d.finds) == 0 {
		d.line("  - name: as declared")
		return
	}
	d.line("  - name: covering")
	d.line("  - {name: keys only, covers: []}")
	if c := d.finds[0]; d.always(c) && len(d.key) == 1 {
		d.line("  - name: by %s          # records that are found together lie together; others are read by an index", strings.ReplaceAll(c.field, "_", " "))
		d.line("    partition: [%s]", c.field)
		d.line("    sort: [%s]", d.key[0].field)
	}
	d.line("  - {name: scan, indexes: [], scan: true}")
}

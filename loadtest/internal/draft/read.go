package draft

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A table is what is known of a file.
type table struct {
	file      string
	format    string
	separator rune // of CSV
	columns   []*column
	rows      int
	whole     bool               // all rows were looked at
	pairs     map[[2]int]*column // of the places of two columns: their values together
}

// mostRows is how many rows are looked at.
const mostRows = 100_000

// mostColumns is how many columns a file may have.
const mostColumns = 256

// read looks at the rows of a file.
func read(ctx context.Context, file string) (*table, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no file", file), err)
	}
	bare, packed := workload.Packing(file)
	src, done, err := data.Unpack(in, packed)
	defer done()
	if err != nil {
		return nil, fmt.Errorf("%s is no %s file: %w", file, packed, err)
	}
	t := &table{file: file, separator: ',', whole: true, pairs: map[[2]int]*column{}}
	r := bufio.NewReaderSize(src, 64<<10)
	if head, _ := r.Peek(3); string(head) == "\xef\xbb\xbf" {
		_, _ = r.Discard(3) // it was peeked
	}
	switch strings.ToLower(filepath.Ext(bare)) {
	case ".csv", ".tsv":
		t.format = "csv"
		err = t.readCSV(ctx, r)
	case ".jsonl", ".ndjson":
		t.format = "jsonl"
		err = t.readJSON(ctx, r)
	default:
		err = errors.New("what is in it? The name should end in .csv, .jsonl or .ndjson, and then perhaps .gz or .zst")
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case t.rows == 0:
		return nil, fmt.Errorf("%s: there is no row in it", file)
	}
	return t, nil
}

func (t *table) add(name string) (*column, error) {
	if len(t.columns) == mostColumns {
		return nil, fmt.Errorf("it has more than %d columns", mostColumns)
	}
	c := &column{name: name, field: t.fieldFor(name), seen: map[uint64]bool{}}
	t.columns = append(t.columns, c)
	return c, nil
}

var odd = regexp.MustCompile(`[^a-z0-9]+`)

// fieldFor returns a name for a field that is that of a column, or like it.
func (t *table) fieldFor(name string) string {
	base := strings.Trim(odd.ReplaceAllString(strings.ToLower(name), "_"), "_")
	if plain.MatchString(name) {
		base = name
	}
	if base == "" || base[0] >= '0' && base[0] <= '9' {
		base = "field_" + base
	}
	if slices.Contains([]string{"true", "false", "null"}, strings.ToLower(base)) {
		base += "_field" // the words of YAML
	}
	field := base
	for n := 2; t.taken(field); n++ {
		field = fmt.Sprint(base, "_", n)
	}
	return field
}

var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

func (t *table) taken(field string) bool {
	for _, c := range t.columns {
		if c.field == field {
			return true
		}
	}
	return false
}

// next ends a row, and reports whether more are to be looked at.
func (t *table) next(ctx context.Context) (more bool, err error) {
	if t.rows++; t.rows%1000 == 0 && ctx.Err() != nil {
		return false, ctx.Err()
	}
	t.notePairs()
	for _, c := range t.columns {
		c.has = false
	}
	if t.rows == mostRows {
		t.whole = false
	}
	return t.rows < mostRows, nil
}

// mostPaired is how many columns may be paired, the first ones.
const mostPaired = 12

// notePairs notes the values of two columns together, which may be a key where no single column is one.
func (t *table) notePairs() {
	for i := range min(len(t.columns), mostPaired) {
		for j := range i {
			at := [2]int{j, i}
			a, b := t.columns[j], t.columns[i]
			p, known := t.pairs[at]
			switch {
			case known && p == nil:
			case !a.has || !b.has || known && len(p.seen) < t.rows-1:
				t.pairs[at] = nil // it is no key
			default:
				if !known {
					p = &column{seen: map[uint64]bool{}}
					t.pairs[at] = p
				}
				p.seen[a.last*0x9e3779b97f4a7c15+b.last] = true
			}
		}
	}
}

func (t *table) readCSV(ctx context.Context, r *bufio.Reader) error {
	line, _ := r.Peek(4096)
	head, _, _ := strings.Cut(string(line), "\n")
	for _, mark := range ";\t|" {
		if strings.Count(head, string(mark)) > strings.Count(head, string(t.separator)) {
			t.separator = mark
		}
	}
	in := csv.NewReader(r)
	in.Comma, in.ReuseRecord = t.separator, true
	names, err := in.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty; its first line should name the fields")
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := t.add(strings.TrimSpace(name)); err != nil {
			return err
		}
	}
	for more := true; more; {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i, cell := range cells {
			if cell != "" {
				t.columns[i].take(kindsOfText(cell), cell)
			}
		}
		if more, err = t.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) readJSON(ctx context.Context, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, limit.MaxLine)
	by := map[string]*column{}
	line := 0
	for more := true; more && lines.Scan(); {
		line++
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		object, _, err := value.DecodeObject(lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if by[name] == nil {
				if by[name], err = t.add(name); err != nil {
					return err
				}
			}
			if object[name] != nil {
				by[name].take(kindsOfJSON(object[name]))
				by[name].takeElements(object[name])
			}
		}
		if more, err = t.next(ctx); err != nil {
			return err
		}
	}
	return lines.Err()
}

package crash_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A rawRow is a row as a store's own driver shows it.
type rawRow struct {
	table string   // name of the index, "" of the records
	parts []string // of the key
	token string   // of a remote row or claim, in hex
	body  string   // its fields, in whatever form
	dead  bool
	goes  bool // by itself
}

// A reader reads all rows of a collection, without any code of this module.
type reader func(ctx context.Context) ([]rawRow, error)

// partsOf cuts the text of a key, of which each part ends with a #.
func partsOf(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "#"), "#")
}

// keyColumns is how many parts the key of a row has, without its token.
var keyColumns = map[string]int{"": 2, "teams": 3, "near": 3, "mails": 1, childrenTable: 4}

var (
	valueText = regexp.MustCompile(`[TMN]-[a-z0-9]+-[a-z0-9]+\.`)
	ownerText = regexp.MustCompile(`([a-z0-9]+)#([a-z0-9]+)#`)
)

// member returns the member that a row of the records is.
func (r *rawRow) member() (member, error) {
	m := member{Home: r.parts[0], ID: r.parts[1]}
	for _, v := range valueText.FindAllString(r.body, -1) {
		if !strings.Contains(v, "-"+strings.TrimSuffix(m.Home, "z")+"-") {
			continue // of a token
		}
		switch v[0] {
		case 'T':
			m.Team = v
		case 'M':
			m.Mail = v
		case 'N':
			m.Note = v
		}
	}
	if m.Team == "" || m.Mail == "" || m.Note == "" {
		return m, fmt.Errorf("record %q lacks a field: %q", r.parts, r.body)
	}
	return m, nil
}

// An entry is what a row of an index says: which record has which value.
type entry struct{ table, value, home, id string }

func (r *rawRow) entry() (entry, error) {
	p := r.parts
	if len(p) != keyColumns[r.table] {
		return entry{}, fmt.Errorf("a row of %s has the key %q", r.table, p)
	}
	switch r.table {
	case "teams":
		return entry{"teams", p[0], p[1], p[2]}, nil
	case "near":
		return entry{"near", p[1], p[0], p[2]}, nil
	}
	owner := ownerText.FindStringSubmatch(r.body)
	if owner == nil {
		return entry{}, fmt.Errorf("the claim on %s names no record: %q", p[0], r.body)
	}
	return entry{"mails", p[0], owner[1], owner[2]}, nil
}

// entriesOf returns what the indexes say of a member.
func entriesOf(m member) []entry {
	return []entry{{"teams", m.Team, m.Home, m.ID}, {"near", m.Team, m.Home, m.ID}, {"mails", m.Mail, m.Home, m.ID}}
}

// has reports whether the record, as it lies in the store, has a remote row or claim.
func (r *rawRow) has(row *rawRow) bool {
	token, err := hex.DecodeString(row.token)
	return err == nil && strings.Contains(r.body, row.table+"="+base64.RawURLEncoding.EncodeToString(token))
}

// A finding is what the rows of a point say.
type finding struct {
	state      state
	garbage    int // rows that no record has, in indexes that are apart from the records
	tombstones int
	fading     int // of the tombstones: those that go by themselves
	faults     []string
}

// look returns what the rows of a point say, and what is wrong with them.
func (p *point) look(s *site, rows []rawRow) finding {
	f := finding{state: state{}}
	fault := func(format string, args ...any) { f.faults = append(f.faults, fmt.Sprintf(format, args...)) }
	records, there := map[string]*rawRow{}, map[entry]int{}
	for i := range rows {
		r := &rows[i]
		if r.table != "" || !p.owns(r.parts[0]) {
			continue
		}
		switch {
		case r.dead && r.goes:
			f.tombstones, f.fading = f.tombstones+1, f.fading+1
		case r.dead:
			f.tombstones++
		case r.goes:
			fault("the record %q goes by itself", r.parts)
		default:
			m, err := r.member()
			if err != nil {
				fault("%v", err)
			}
			f.state[m.ID], records[m.ID] = m, r
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.table == "" || !slices.Contains(indexNames, r.table) { // of an index that was added
			continue
		}
		e, err := r.entry()
		switch {
		case err != nil:
			fault("%v", err)
		case !p.owns(e.home):
		case slices.Contains(entriesOf(f.state[e.id]), e) && (!s.apart(r.table) || records[e.id].has(r)):
			there[e]++
		case s.apart(r.table):
			f.garbage++
		default:
			fault("a row of %s says that %s of %s has %s, and it has not", e.table, e.id, e.home, e.value)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.state)) {
		for _, e := range entriesOf(f.state[id]) {
			if want := s.rowsOfEntry(); there[e] != want {
				fault("%s of %s has %d rows for %s in %s, want %d", e.id, e.home, there[e], e.value, e.table, want)
			}
		}
	}
	if !slices.ContainsFunc(p.path.states(p.home), func(want state) bool { return maps.Equal(want, f.state) }) {
		fault("what is there is neither from before nor from after: %v", f.state)
	}
	return f
}

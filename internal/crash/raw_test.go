package crash_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/polystore/polystore/internal/raw"
)

// houseTables are the tables of members, and indexNames those of them that are indexes.
var (
	houseTables = raw.Tables{"": {Ends: "##"}, "teams": {Ends: "###", Remote: true}, "near": {Ends: "###"}, "mails": {Ends: "#"}}
	indexNames  = []string{"teams", "near", "mails"}
)

var (
	valueText = regexp.MustCompile(`[TMN]-[a-z0-9]+-[a-z0-9]+\.`)
	ownerText = regexp.MustCompile(`([a-z0-9]+)#([a-z0-9]+)#`)
)

// memberOf returns the member that a row of the records is.
func memberOf(r *raw.Row) (member, error) {
	m := member{Home: r.Parts[0], ID: r.Parts[1]}
	for _, v := range valueText.FindAllString(r.Body, -1) {
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
		return m, fmt.Errorf("record %q lacks a field: %q", r.Parts, r.Body)
	}
	return m, nil
}

// An entry is what a row of an index says: which record has which value.
type entry struct{ table, value, home, id string }

func entryOf(r *raw.Row) (entry, error) {
	p := r.Parts
	switch r.Table {
	case "teams":
		return entry{"teams", p[0], p[1], p[2]}, nil
	case "near":
		return entry{"near", p[1], p[0], p[2]}, nil
	}
	owner := ownerText.FindStringSubmatch(r.Body)
	if owner == nil {
		return entry{}, fmt.Errorf("the claim on %s names no record: %q", p[0], r.Body)
	}
	return entry{"mails", p[0], owner[1], owner[2]}, nil
}

// entriesOf returns what the indexes say of a member.
func entriesOf(m member) []entry {
	return []entry{{"teams", m.Team, m.Home, m.ID}, {"near", m.Team, m.Home, m.ID}, {"mails", m.Mail, m.Home, m.ID}}
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
func (p *point) look(s *site, rows []raw.Row) finding {
	f := finding{state: state{}}
	fault := func(format string, args ...any) { f.faults = append(f.faults, fmt.Sprintf(format, args...)) }
	records, there := map[string]*raw.Row{}, map[entry]int{}
	for i := range rows {
		r := &rows[i]
		if r.Table != "" || !p.owns(r.Parts[0]) {
			continue
		}
		switch {
		case r.Dead && r.Goes:
			f.tombstones, f.fading = f.tombstones+1, f.fading+1
		case r.Dead:
			f.tombstones++
		case r.Goes:
			fault("the record %q goes by itself", r.Parts)
		default:
			m, err := memberOf(r)
			if err != nil {
				fault("%v", err)
			}
			f.state[m.ID], records[m.ID] = m, r
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.Table == "" {
			continue
		}
		e, err := entryOf(r)
		switch {
		case err != nil:
			fault("%v", err)
		case !p.owns(e.home):
		case slices.Contains(entriesOf(f.state[e.id]), e) && (!s.apart(r.Table) || records[e.id].Has(r)):
			there[e]++
		case s.apart(r.Table):
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

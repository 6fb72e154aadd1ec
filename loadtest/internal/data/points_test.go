package data

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/repo/geo"
)

// A file has a place in two columns, and the record has it in one field. Where both are absent the place is, too.
func TestPointsOfAFile(t *testing.T) {
	const points = ", points: {at: [lat, lon]}"
	for name, content := range map[string]string{
		"rows.csv":   "id,lat,lon\na,-36.85,174.76\nb,,\n",
		"rows.jsonl": `{"id":"a","lat":-36.85,"lon":174.76}` + "\n" + `{"id":"b","lon":null}` + "\n",
	} {
		w := rowsWorkload(t, writeFile(t, name, []byte(content)), points)
		var places []string
		for r, err := range Rows(t.Context(), w, w.Collections[0], nil) {
			if err != nil {
				t.Fatal(name, err)
			}
			places = append(places, r.text("at"))
		}
		want, err := geo.Point{Lat: -36.85, Lon: 174.76}.MarshalText()
		if err != nil || len(places) != 2 || places[0] != string(want) || places[1] != "" {
			t.Errorf("%s: places %q, want %q and none", name, places, want)
		}
	}
}

// A place that is none is a fault that names the field and what is wrong.
func TestPointsThatAreNone(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"half.csv":    {"id,lat,lon\na,1,\n", `at: the row has one of "lat" and "lon", and a place has both`},
		"word.csv":    {"id,lat,lon\na,north,1\n", `at: lat: "north" is not a number`},
		"pole.csv":    {"id,lat,lon\na,91,1\n", "at: "},
		"column.csv":  {"id,lat\na,1\n", `there is no column "lon", of which points makes at`},
		"half.jsonl":  {`{"id":"a","lat":1}`, `at: the row has one of "lat" and "lon"`},
		"text.jsonl":  {`{"id":"a","lat":"1","lon":1}`, "at: lat: "},
		"range.jsonl": {`{"id":"a","lat":1,"lon":181}`, "at: "},
	} {
		w := rowsWorkload(t, writeFile(t, name, []byte(test.content)), ", points: {at: [lat, lon]}")
		var last error
		for _, err := range Rows(t.Context(), w, w.Collections[0], nil) {
			last = err
		}
		var faults failure.Faults
		if !errors.As(last, &faults) || len(faults) != 1 || !strings.Contains(faults[0].Text, test.want) || faults[0].Line == 0 {
			t.Errorf("%s: %v; want one fault with %q", name, last, test.want)
		}
	}
}

package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/testload"
)

func TestSeriesOfModels(t *testing.T) {
	w := testload.Parsed(t, Parse, testload.Series)
	var got []Series
	for _, mo := range w.Models {
		if s := mo.Series[0]; s != nil {
			got = append(got, *s)
		}
	}
	if want := []Series{{time.Hour, 4}, {24 * time.Hour, 1000}}; fmt.Sprint(got) != fmt.Sprint(want) || !w.Collections[0].InSeries {
		t.Errorf("series %v, want %v", got, want)
	}
	if s := w.Models[2].Series[0].Buckets("readings"); strings.Join(s.Partition, " ") != "series" {
		t.Errorf("buckets %+v", s)
	}
	if testload.Parsed(t, Parse, testload.Small).Collections[0].InSeries {
		t.Error("records are in series")
	}
}

func TestSeriesFaults(t *testing.T) {
	const hours, how = "{readings: {series: {span: 1h, most: 4}}}", "series: {span: 1h, most: 4}"
	for _, tt := range []struct{ old, new, want string }{
		{how, "series: {}", "series has no span; add one, e.g. span: 24h"},
		{how, "series: 1h", "model hours: collection readings: series"},
		{how, "series: {span: 1h, keep: 2h}", `has no key "keep"; the keys are span, most`},
		{how, "series: {span: 1.5ms}", "span is 1.5ms; take whole milliseconds"},
		{how, "series: {span: 1h, most: 0}", "want 1 to"},
		{how, "serie: {span: 1h}", "did you mean series?"},
		{hours, "{readings: {sort: [at, count], " + how + "}}", "model hours keeps readings as series, whose points have one time each and no other key, and its sort is (at, count); give the model sort: [at]"},
		{hours, "{readings: {sort: [count], " + how + "}}", "its sort is (count)"},
		{hours, "{readings: {partition: [site], " + how + "}}", "model hours keeps readings as series, which lack query newest: it is for one series, and its conditions must name that and nothing else; write where: {site: $}, or leave out the series of the model"},
		{hours, "{readings: {indexes: [{partition: [count], sort: [at]}], " + how + "}}", "which have no indexes; give the model indexes: []"},
		{"    data:\n", "    ttl: 24h\n    data:\n", "a ttl counts from when a record was written; leave out ttl"},
		{"kind: get, draw: latest", "kind: delete", "which lack query one: it is of kind delete, and points are inserted, got, and found by time; leave the query out"},
		{"kind: exists", "kind: update, set: {count: 3}", "which lack query is there: it is of kind update"},
		{"kind: exists", "kind: groups, by: [site], where: {device: $}", "it is of kind groups"},
		{"where: {site: $, device: $}, order: [-at], limit: 5", "where: {site: $}, order: [-at], limit: 5", "write where: {site: $, device: $}"},
		{"where: {site: $, device: $}}", "where: {site: $, device: $, count: $}}", "which lack query all: it is for one series"},
		{"where: {site: $, device: $}}", "where: {site: $, device: $}, none_of: {count: 1}}", "which lack query all: it is for one series"},
		{"range: {field: at, from: $, span: 12h}, order: [at]", "range: {field: count, from: 3}", "points are found by their time; let range be of at"},
		{"order: [-at], limit: 7", "order: [-at, count], limit: 7", "points come in the order of their times; write order: [at] or [-at]"},
	} {
		text := strings.Replace(testload.Series, tt.old, tt.new, 1)
		if text == testload.Series {
			t.Errorf("%q is not in the workload", tt.old)
		}
		if _, err := Parse("series.yaml", []byte(text)); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%q for %q: %v, want %q", tt.new, tt.old, err, tt.want)
		} else if tt.new != "" && !strings.Contains(err.Error(), "series.yaml:") {
			t.Errorf("%v names no place", err)
		}
	}
}

// A field with the name that points have their time under, and a collection that lies with another one, are refused.
func TestSeriesThatCannotBe(t *testing.T) {
	text := strings.NewReplacer("at: time", "seen: time", "at: {time", "seen: {time", "[at]", "[seen]", "[-at]", "[-seen]", "field: at", "field: seen").Replace(testload.Series)
	if _, err := Parse("series.yaml", []byte(text)); err != nil {
		t.Errorf("a time of another name: %v", err)
	}
	_, err := Parse("series.yaml", []byte(strings.ReplaceAll(strings.ReplaceAll(text, "count: int", "at: int"), "        count: {int", "        at: {int")))
	if !strings.Contains(fmt.Sprint(err), "whose points have their time, seen, under the name at; give the field at another name") {
		t.Errorf("a field at that is not the time: %v", err)
	}
	two := "  - collection: others\n    partition: [site, device]\n    sort: [at]\n    with: readings\n    fields: {site: string, device: int, at: time}\n" +
		"    data: {count: 3, fields: {site: {value: a}, device: {value: 1}, at: {time: {from: 2026-01-01, to: 2026-01-02, ascending: true}}}}\nqueries:\n"
	text = strings.ReplaceAll(strings.Replace(testload.Series, "queries:\n", two, 1), ", kind:", ", collection: readings, kind:")
	text = strings.ReplaceAll(text, "collection: readings, kind: journey", "kind: journey")
	if _, err := Parse("series.yaml", []byte(text)); !strings.Contains(fmt.Sprint(err), "which lie with no other collection; leave out with") {
		t.Errorf("another collection lies with it: %v", err)
	}
	text = strings.Replace(text, "    with: readings\n", "", 1)
	text = strings.Replace(text, "{readings: {series: {span: 1h, most: 4}}}", "{readings: {series: {span: 1h, most: 4}}, others: {with: readings}}", 1)
	if _, err := Parse("series.yaml", []byte(text)); !strings.Contains(fmt.Sprint(err), "model hours keeps readings as series, which lie with no other collection") {
		t.Errorf("another collection lies with it in that model: %v", err)
	}
}

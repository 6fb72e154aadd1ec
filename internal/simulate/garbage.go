package simulate

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// garbage checks P5: every row and claim belongs to a record, every record has its
// own, and nothing else is left.
func (j *judge) garbage() {
	now := time.Now().UnixMilli()
	facts := j.history.last().facts
	rows, claims := map[string]string{}, map[string]string{} // by record: what they say
	for _, t := range j.store.tables {
		if t.Name != closed && !strings.HasPrefix(t.Name, collection) {
			continue
		}
		for chunk, err := range j.store.mem.Walk(context.Background(), t, "") {
			if err != nil {
				j.story.fail("", "table %s cannot be read: %v", t.Name, err)
				return
			}
			for i := range chunk.Rows {
				j.sort(t, &chunk.Rows[i], rows, claims)
			}
		}
	}
	for i, f := range facts {
		var kind, mail string
		if f.live(now) {
			kind, mail = f.kind, f.mail
		} else if f.row {
			j.story.fail("P5", "the record %s is dead or has expired, and is still there after Maintain", Keys[i])
		}
		if j.scenario.Index && rows[Keys[i]] != kind {
			j.story.fail("P5", "after Maintain the record %s has kind %q, and the index the row %q", Keys[i], kind, rows[Keys[i]])
		}
		if j.scenario.Unique && claims[Keys[i]] != mail {
			j.story.fail("P5", "after Maintain the record %s has mail %q, and the claim %q", Keys[i], mail, claims[Keys[i]])
		}
	}
}

// sort puts a row of an index, or a claim, to the record that it names. Two of one
// record are two texts. Of the keys that are closed none is dead.
func (j *judge) sort(t *driver.Table, row *driver.Row, rows, claims map[string]string) {
	vals := columns(t, row.Key)
	switch t.Class {
	case driver.Records:
		if t.Name == closed && row.Dead {
			j.story.fail("P5", "that %s was closed is dead, and is still there after Maintain", vals["id"])
		}
	case driver.Rows:
		rows[vals["id"]] += vals["kind"]
	case driver.Claims:
		owner := "nobody"
		for i, k := range j.store.keys {
			if len(row.Fields) > 0 && row.Fields[0].Str() == k.Partition+k.Sort {
				owner = Keys[i]
			}
		}
		claims[owner] += vals["mail"]
		if owner == "nobody" {
			j.story.fail("P5", "the claim on %s names no record", vals["mail"])
		}
	}
}

// columns returns the text values of a key, by column.
func columns(t *driver.Table, key driver.Key) map[string]string {
	out := map[string]string{}
	for _, part := range []struct {
		cols []driver.Column
		text string
	}{{t.Partition, key.Partition}, {t.Sort, key.Sort}} {
		vals, _, err := driver.ParseParts(nil, part.text, part.cols)
		for i := 0; err == nil && i < len(vals); i++ {
			out[part.cols[i].Name] = vals[i].Str()
			if part.cols[i].Kind == driver.Bytes { // a token
				out[part.cols[i].Name] = hex.EncodeToString([]byte(vals[i].Str()))
			}
		}
	}
	return out
}

package pebble

import (
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

func BenchmarkRead(b *testing.B) {
	declared := &driver.Table{Fields: []driver.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	t := &table{}
	t.fields.Store(&declared.Fields)
	v := newView(t, declared)
	row := &driver.Row{Fields: []driver.Value{driver.StringValue("A title of usual length"), driver.StringValue(strings.Repeat("lorem ipsum ", 20)), driver.IntValue(12345)}}
	head, bytes := cut(v.appendRow(nil, driver.NewToken(), nil, row))
	body := string(bytes)
	var r reader
	r.init(v, nil)
	var out driver.Row
	for b.Loop() {
		out.Reset()
		r.read(&out, head, body, false)
	}
}

func BenchmarkAppendRow(b *testing.B) {
	declared := &driver.Table{Fields: []driver.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	t := &table{}
	t.fields.Store(&declared.Fields)
	v := newView(t, declared)
	row := &driver.Row{Fields: []driver.Value{driver.StringValue("A title of usual length"), driver.StringValue(strings.Repeat("lorem ipsum ", 20)), driver.IntValue(12345)}}
	var dst []byte
	token := driver.NewToken()
	for b.Loop() {
		dst = v.appendRow(dst[:0], token, nil, row)
	}
}

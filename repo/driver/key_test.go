package driver_test

import (
	"fmt"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

func TestAppendPartsIsReadable(t *testing.T) {
	tests := []struct {
		kind driver.Kind
		val  driver.Value
		asc  string
		desc string
	}{
		{driver.String, driver.StringValue("user:1000"), "user:1000#", "8a8c9a8dc5cecfcfcf~"},
		{driver.String, driver.StringValue(""), "#", "~"},
		{driver.String, driver.StringValue("a b{c}#"), "a%20b|0c|2%23#", "9edf9d849c82dc~"},
		{driver.Int, driver.IntValue(0), "a0#", "7fffffffffffffff~"},
		{driver.Int, driver.IntValue(42), "b42#", "7fffffffffffffd5~"},
		{driver.Int, driver.IntValue(-7), "Y2#", "8000000000000006~"},
		{driver.Int, driver.IntValue(-1 << 63), "G0776627963145224191#", "ffffffffffffffff~"},
		{driver.Time, driver.TimeValue(1521080087000), "m1521080087000#", "7ffffe9dd88fce27~"},
		{driver.Bool, driver.BoolValue(true), "t#", "0~"},
		{driver.Bool, driver.BoolValue(false), "f#", "1~"},
		{driver.Bytes, driver.BytesValue("\x00\xff"), "00ff#", "ff00~"},
		{driver.Float, driver.FloatValue(1), "bff0000000000000#", "400fffffffffffff~"},
	}
	for _, tt := range tests {
		for _, desc := range []bool{false, true} {
			want := tt.asc
			if desc {
				want = tt.desc
			}
			cols := []driver.Column{{Name: "k", Kind: tt.kind, Desc: desc}}
			got, err := driver.AppendParts(nil, cols, []driver.Value{tt.val})
			if err != nil || string(got) != want {
				t.Errorf("AppendParts(%v, desc %v) = %q, %v, want %q", tt.val, desc, got, err, want)
			}
			back, rest, err := driver.ParseParts(nil, string(got), cols)
			if err != nil || rest != "" || fmt.Sprint(back) != fmt.Sprint([]driver.Value{tt.val}) {
				t.Errorf("ParseParts(%q) = %v, %q, %v, want %v", got, back, rest, err, tt.val)
			}
		}
	}
}

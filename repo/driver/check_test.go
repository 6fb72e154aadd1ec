package driver_test

import (
	"errors"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

func notes() *driver.Table {
	return &driver.Table{
		Name:      "notes",
		Partition: []driver.Column{{Name: "id", Kind: driver.String}},
		Fields:    []driver.Column{{Name: "text", Kind: driver.String}, {Name: "seen", Kind: driver.Int}},
	}
}

// Each op is valid but for one thing.
func TestValidate(t *testing.T) {
	one, text := driver.IntValue(1), driver.StringValue("x")
	rows := notes()
	rows.Class = driver.Rows
	plain := notes()
	plain.Class, plain.Unconditional = driver.Rows, true
	extra := func(names ...string) driver.Row {
		var r driver.Row
		for _, name := range names {
			r.Extra = append(r.Extra, driver.Pair{Name: name, Value: one})
		}
		return r
	}
	patch := func(edits ...driver.Edit) driver.Op {
		return driver.Op{Do: driver.Patch, If: driver.Present, Table: notes(), Edits: edits}
	}
	tests := map[string]struct {
		op   driver.Op
		want string // "" for a valid op
	}{
		"verb":                   {driver.Op{Do: driver.Fence + 1, Table: notes()}, "op on table notes: the verb 5 is unknown: invalid"},
		"condition":              {driver.Op{If: driver.AtRev + 1, Table: notes()}, "check on table notes: the condition 4 is unknown: invalid"},
		"put":                    {driver.Op{Do: driver.Put, Table: notes(), Row: extra("a", "b")}, ""},
		"put of too much":        {driver.Op{Do: driver.Put, Table: notes(), Row: driver.Row{Fields: []driver.Value{text, one, one}}}, "put on table notes: the row has 3 fields and the table 2: invalid"},
		"extra that is declared": {driver.Op{Do: driver.Put, Table: notes(), Row: extra("seen")}, "put on table notes: the table declares the field seen, and the row has it as an extra one: invalid"},
		"extra out of order":     {driver.Op{Do: driver.Put, Table: notes(), Row: extra("b", "a")}, "put on table notes: extra field a does not come after the one before it: invalid"},
		"extra twice":            {driver.Op{Do: driver.Put, Table: notes(), Row: extra("b", "b")}, "put on table notes: extra field b does not come after the one before it: invalid"},
		"dead record":            {driver.Op{Do: driver.Put, Table: notes(), Row: driver.Row{Dead: true}}, ""},
		"dead row":               {driver.Op{Do: driver.Put, Table: rows, Row: driver.Row{Dead: true}}, "put on table notes: only records can be dead, and these are rows: invalid"},
		"plain put":              {driver.Op{Do: driver.Put, Table: plain}, ""},
		"plain delete":           {driver.Op{Do: driver.Delete, Table: plain}, ""},
		"plain put if absent":    {driver.Op{Do: driver.Put, If: driver.Absent, Table: plain}, "put on table notes: if absent; want a put or delete if any of a table that is plain: invalid"},
		"check of what is plain": {driver.Op{Do: driver.Check, Table: plain}, "check on table notes: if any; want a put or delete if any of a table that is plain: invalid"},
		"patch":                  {patch(driver.Edit{Do: driver.Add, Field: 1, Value: one}, driver.Edit{Field: -1, Name: "x", Value: one}, driver.Edit{Field: -1, Name: "y", Value: one}), ""},
		"patch if any":           {driver.Op{Do: driver.Patch, Table: notes()}, "patch on table notes: if any; want present or at rev: invalid"},
		"patch of a row":         {driver.Op{Do: driver.Patch, If: driver.Present, Table: rows}, "patch on table notes: it is for records, and these are rows: invalid"},
		"edit of no field":       {patch(driver.Edit{Field: 2}), "patch on table notes: the table has no field 2 to edit: invalid"},
		"edit by name":           {patch(driver.Edit{Field: -1, Name: "text"}), "patch on table notes: the table declares the field text; edit it by its ordinal: invalid"},
		"edit verb":              {patch(driver.Edit{Do: driver.Add + 1}), "patch on table notes: the verb 3 of an edit is unknown: invalid"},
		"add of a text":          {patch(driver.Edit{Do: driver.Add, Field: 1, Value: text}), "patch on table notes: add of a value of kind string, want int: invalid"},
		"field edited twice":     {patch(driver.Edit{Field: 1}, driver.Edit{Field: 1}), "patch on table notes: two edits of one field: invalid"},
		"extra edited twice":     {patch(driver.Edit{Field: -1, Name: "x"}, driver.Edit{Field: -1, Name: "x"}), "patch on table notes: two edits of one field: invalid"},
		"fence":                  {driver.Op{Do: driver.Fence, If: driver.AtRev, Table: notes()}, ""},
		"fence if present":       {driver.Op{Do: driver.Fence, If: driver.Present, Table: notes()}, "fence on table notes: if present; want absent or at rev: invalid"},
		"fence of a row":         {driver.Op{Do: driver.Fence, If: driver.Absent, Table: rows}, "fence on table notes: it is for records, and these are rows: invalid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.op.Validate()
			if (err == nil) != (tt.want == "") || err != nil && (err.Error() != tt.want || !errors.Is(err, driver.ErrInvalid)) {
				t.Errorf("Validate() = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestValidateMask(t *testing.T) {
	for _, mask := range [][]int{nil, {}, {0}, {1, 0, 1}} {
		if err := notes().ValidateMask(mask); err != nil {
			t.Errorf("ValidateMask(%v) = %v, want nil", mask, err)
		}
	}
	for _, mask := range [][]int{{-1}, {0, 2}} {
		if err := notes().ValidateMask(mask); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("ValidateMask(%v) = %v, want ErrInvalid", mask, err)
		}
	}
}

// A key-only row is put and deleted by its key alone, without a condition.
func TestValidateBare(t *testing.T) {
	bare := &driver.Table{Name: "notes", Class: driver.Rows, KeyOnly: true}
	for _, do := range []driver.Verb{driver.Put, driver.Delete} {
		op := driver.Op{Do: do, Table: bare}
		if err := op.Validate(); err != nil {
			t.Errorf("%s: %v", do, err)
		}
	}
	const want = " on table notes: want a put or delete of a key alone, if any, of a table that is bare: invalid"
	for _, op := range []driver.Op{
		{Do: driver.Put, If: driver.Absent},
		{Do: driver.Check},
		{Do: driver.Put, Row: driver.Row{Expires: 1}},
		{Do: driver.Put, Row: driver.Row{Meta: "n"}},
		{Do: driver.Put, Row: driver.Row{Fields: []driver.Value{driver.IntValue(1)}}},
		{Do: driver.Put, Row: driver.Row{Extra: []driver.Pair{{Name: "a", Value: driver.IntValue(1)}}}},
	} {
		op.Table = bare
		if err := op.Validate(); !errors.Is(err, driver.ErrInvalid) || err.Error() != op.Do.String()+want {
			t.Errorf("%+v: %v", op, err)
		}
	}
}

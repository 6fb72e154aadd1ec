package redis

import (
	"fmt"
	"strings"
	"sync"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
)

// mostInserts is how many scripts a table has for inserts. Rows with other fields than
// those go by the script put.
const mostInserts = 16

// inserts are the scripts for rows of one table, by the fields that these have. Each has
// their names, so that no call tells them.
type inserts struct {
	sync.Mutex
	of map[uint64]*wire.Script
}

// insertOf returns the script that inserts a record with the fields of row, or nil.
func (v *view) insertOf(row *driver.Row) *wire.Script {
	if len(row.Fields) > 62 {
		return nil
	}
	has := uint64(0)
	for i, value := range row.Fields {
		if !value.IsNone() {
			has |= 1 << i
		}
	}
	if row.Expires != 0 {
		has |= 1 << 63
	}
	v.inserts.Lock()
	defer v.inserts.Unlock()
	if sc := v.inserts.of[has]; sc != nil || len(v.inserts.of) == mostInserts {
		return sc
	}
	sc := v.newInsert(has)
	v.inserts.of[has] = sc
	return sc
}

// newInsert makes the script for the fields whose bits are set, and the expiry if the
// last one is.
func (v *view) newInsert(has uint64) *wire.Script {
	own, fields := 1, ""
	add := func(name string) {
		own++
		fields += ", " + quoteLua(name) + ", ARGV[" + itoa(own) + "]"
	}
	if has>>63 == 1 {
		add("_expires")
	}
	for i := range v.Fields {
		if has>>i&1 == 1 {
			add(v.Fields[i].Name)
		}
	}
	text := strings.NewReplacer("<own>", itoa(own), "<fields>", fields).Replace(insertText)
	sc := wire.NewScript(spanText, text)
	sc.Inserts = true
	return sc
}

// quoteLua returns a text as Lua has it in a program.
func quoteLua(s string) string {
	b := []byte{'\''}
	for i := range len(s) {
		if c := s[i]; c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "\\%03d", c)
		}
	}
	return string(append(b, '\''))
}

package rule

import (
	"fmt"
	"math"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// OutcomeText returns an error, or that there is none, as text for a report.
func OutcomeText(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}

// Brief returns a value as text for a report, the middle of long ones left out.
func Brief(v any) string {
	var text string
	switch x := v.(type) {
	case string, []string:
		text = fmt.Sprintf("%q", x)
	case []byte:
		text = fmt.Sprintf("%d bytes, %#x …", len(x), x[:min(len(x), 32)])
	default:
		text = fmt.Sprintf("%+v", v)
	}
	if len(text) > 600 {
		text = fmt.Sprintf("%s … %s (%d bytes)", text[:300], text[len(text)-200:], len(text))
	}
	return text
}

// Plainly returns values and pairs as text, absent values at the end left out,
// and anything else as it is.
func Plainly(v any) any {
	list := []string{}
	switch v := v.(type) {
	case []driver.Value:
		for _, x := range v {
			list = append(list, KindText(x))
		}
	case []driver.Pair:
		for _, p := range v {
			list = append(list, p.Name+"\x00"+KindText(p.Value))
		}
	default:
		return v
	}
	for len(list) > 0 && list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// KindText returns the kind of a value and the value, exactly, as text; "" for none.
func KindText(v driver.Value) string {
	switch v.Kind() {
	case driver.List, driver.Map:
		var parts []string
		for _, x := range v.List() {
			parts = append(parts, KindText(x))
		}
		return v.Kind().String() + "(" + strings.Join(parts, " ") + ")"
	case driver.None:
		return ""
	case driver.Float:
		return fmt.Sprintf("float %#x", math.Float64bits(v.Float()))
	case driver.Time:
		return fmt.Sprintf("time %d", v.Int())
	}
	return fmt.Sprintf("%s %v", v.Kind(), v)
}

// Separators returns texts with what stores and codecs separate the parts of a key by.
func Separators() []string {
	list := []string{"ab"}
	for _, c := range `/\#%{}|~:;,.*?[]()<>&=+-_"'` + "`!@^$" {
		list = append(list, "a"+string(c)+"b")
	}
	return append(list, "a%20b", "a b", "{a}b", "a{b}", "a//b", "a/../b", "..", "%", "%00", "|0", "a#", "#a")
}

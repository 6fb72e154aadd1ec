package address

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver/frame"
)

// An Option is one that a URL can have.
type Option struct {
	Name    string
	Does    string // what it does, for people
	Default string // what holds without it, "" for nothing

	// To is where the value goes: a *string, a *bool, an *int, a *time.Duration, an *int64 for
	// bytes, or a *[]string of an option that can be given several times.
	To any

	Least, Most int // of an *int

	// Form says what a text is to be that not every text is, and Fits whether one is that.
	Form string
	Fits func(text string) bool
}

// Takes returns what a value is to be.
func (o *Option) Takes() string {
	switch o.To.(type) {
	case *bool:
		return "true or false"
	case *int:
		return fmt.Sprintf("a number from %d to %d", o.Least, o.Most)
	case *int64:
		return "a size like 64MiB, in bytes, KiB, MiB or GiB"
	case *time.Duration:
		return "a time like 500ms or 3s"
	}
	if o.Form != "" {
		return o.Form
	}
	return "a text"
}

// set takes a value, and reports whether it is one that the option takes.
func (o *Option) set(text string) bool {
	var err error
	switch to := o.To.(type) {
	case *bool:
		*to = text == "true"
		return *to || text == "false"
	case *int:
		*to, err = strconv.Atoi(text)
		return err == nil && *to >= o.Least && *to <= o.Most
	case *int64:
		var ok bool
		*to, ok = size(text)
		return ok
	case *time.Duration:
		*to, err = time.ParseDuration(text)
		return err == nil && *to > 0
	case *[]string:
		*to = append(*to, text)
	case *string:
		*to = text
	}
	return o.Fits == nil || o.Fits(text)
}

// size reads a number of bytes, or of KiB, MiB or GiB.
func size(text string) (int64, bool) {
	unit := 0
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = number, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n << unit), err == nil && n > 0 && n <= math.MaxInt64>>unit
}

// Options are all that the URLs of a store can have, in the order of their documentation.
type Options []Option

// Take sets the option of a name, and reports whether there is one.
func (l Options) Take(who frame.Name, name, value string) (known bool, err error) {
	for i := range l {
		if o := &l[i]; o.Name == name {
			if !o.set(value) {
				err = who.Invalid("open: option %s is to be %s", name, o.Takes())
			}
			return true, err
		}
	}
	return false, nil
}

// Parse reads the query of a URL. What it has beside the options, or twice, is ErrInvalid.
func (l Options) Parse(who frame.Name, query string) error {
	if strings.ContainsAny(query, "@#;") {
		return who.Invalid("open: options that cannot be read: in a password write %%3F for ?, %%40 for @ and %%23 for #, and likewise in the values of options")
	}
	seen := map[string]bool{}
	at := 0
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		at++
		name, value, _ := strings.Cut(pair, "=")
		name, err1 := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		if err1 != nil || err2 != nil {
			return who.Invalid("open: option %d of the URL cannot be read: write %%25 for %%", at)
		}
		if seen[name] && !l.many(name) {
			return who.Invalid("open: option %d of the URL is given twice; say it once", at)
		}
		seen[name] = true
		known, err := l.Take(who, name, value)
		if err == nil && !known {
			err = who.Invalid("open: option %d of the URL is none of %s", at, strings.Join(l.names(), ", "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l Options) many(name string) bool {
	for i := range l {
		if _, many := l[i].To.(*[]string); many && l[i].Name == name {
			return true
		}
	}
	return false
}

func (l Options) names() (list []string) {
	for i := range l {
		list = append(list, l[i].Name)
	}
	return list
}

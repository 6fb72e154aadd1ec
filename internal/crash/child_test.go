package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// orderVariable, when set, makes this test binary a process that does what its text says.
const orderVariable = "POLYSTORE_TEST_CRASH"

// An order is what a process does: it makes a write of each path, side by side, stops each
// after so many of its calls, and dies when all have stopped or ended.
type order struct {
	URL, Kind, Collection string

	Paths []string // and chores, and acts
	Calls int
	Made  map[string]string // the collections of chores
	Torn  bool              // commits are torn apart

	Tree *treeOrder // instead of all this
}

// home returns where the records of a path are.
func (o *order) home(path string) string {
	home := fmt.Sprintf("%s%d", path, o.Calls)
	if o.Torn {
		home += "t"
	}
	return home
}

func TestMain(m *testing.M) {
	if text := os.Getenv(orderVariable); text != "" {
		var o order
		err := json.Unmarshal([]byte(text), &o)
		if err == nil {
			err = o.obey()
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// obey does what o says. It returns if that cannot be done.
func (o *order) obey() error {
	if o.Tree != nil {
		return o.Tree.obey()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := backends.OpenDriver(ctx, o.URL)
	if err != nil {
		return err
	}
	stopped, ended := make(chan struct{}), make(chan error)
	for name, do := range chores() {
		if slices.Contains(o.Paths, name) {
			go func() { ended <- o.upkeep(ctx, s, name, do, stopped) }()
		}
	}
	for _, p := range paths() {
		if slices.Contains(o.Paths, p.name) {
			go func() { ended <- o.write(ctx, s, &p, stopped) }()
		}
	}
	for _, a := range acts() {
		if slices.Contains(o.Paths, a.name) {
			go func() { ended <- o.act(ctx, s, &a, stopped) }()
		}
	}
	for range o.Paths {
		select {
		case <-stopped:
		case err := <-ended:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return die()
}

// write makes what is there before, and then the write of a path. It says on standard
// output which commits it is about to send, when the write was acknowledged, and when all
// was done.
func (o *order) write(ctx context.Context, s driver.Store, p *path, stopped chan<- struct{}) error {
	home := o.home(p.name)
	d := &dying{Store: s, home: home, collection: o.Collection, torn: o.Torn, left: o.Calls, stopped: stopped, tables: map[string]*driver.Table{}}
	store := repo.NewStore(d, nil)
	r, err := repo.Open[member](ctx, store, schemaOf(o.Collection, o.Kind), repo.WithoutDefine())
	if err != nil {
		return err
	}
	all, err := houseOf(ctx, r, o.Collection, repo.WithoutDefine())
	if err != nil {
		return err
	}
	for _, m := range p.states(home)[0] {
		if err := r.Insert(ctx, &m); err != nil {
			return err
		}
	}
	d.arm(true)
	if err := p.do(ctx, all, home); err != nil {
		return err
	}
	if err := say(home, "done"); err != nil {
		return err
	}
	if err := store.Close(); err != nil { // which drops the claims that nobody needs
		return err
	}
	return say(home, "over")
}

// say tells who has begun this process something about a home.
func say(home, what string) error {
	_, err := fmt.Printf("%s %s\n", home, what)
	return err
}

package backendtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// NoContext sees that every method of a store that takes a context says so if there is none.
// The methods are found by reflection, so that none is forgotten.
func NoContext(t *testing.T, s driver.Store) {
	t.Helper()
	id := driver.Column{Name: "id", Kind: driver.String}
	table := &driver.Table{Name: "nocontext", Partition: []driver.Column{id}, Ring: 4}
	if err := s.Define(t.Context(), []*driver.Table{table}); err != nil {
		t.Fatal(err)
	}
	key := KeyOf(t, table, "a")
	good := map[reflect.Type]any{
		reflect.TypeFor[*driver.Table]():   table,
		reflect.TypeFor[[]*driver.Table](): []*driver.Table{table},
		reflect.TypeFor[[]driver.Key]():    []driver.Key{key},
		reflect.TypeFor[[]driver.Row]():    make([]driver.Row, 1),
		reflect.TypeFor[driver.Token]():    driver.NewToken(),
		reflect.TypeFor[[]driver.Op]():     []driver.Op{{Do: driver.Put, Table: table, Row: driver.Row{Key: key}}},
		reflect.TypeFor[driver.Span]():     driver.Span{Table: table},
	}
	v, tried := reflect.ValueOf(s), 0
	for i := range v.NumMethod() {
		m := v.Method(i)
		if m.Type().NumIn() == 0 || m.Type().In(0) != reflect.TypeFor[context.Context]() {
			continue
		}
		tried++
		args := make([]reflect.Value, m.Type().NumIn())
		for at := range args {
			args[at] = reflect.Zero(m.Type().In(at))
			if arg, ok := good[m.Type().In(at)]; ok {
				args[at] = reflect.ValueOf(arg)
			}
		}
		err := answer(m, args)
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "the context is nil") {
			t.Errorf("%s: %v; want ErrInvalid that names the context", v.Type().Method(i).Name, err)
		}
	}
	if tried < 8 {
		t.Errorf("%d methods take a context: some are not found", tried)
	}
}

// answer calls a method, runs what it returns if that is a loop, and returns its error, or its
// panic as one.
func answer(m reflect.Value, args []reflect.Value) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v", p)
		}
	}()
	out := m.Call(args)
	last := out[len(out)-1]
	if last.Kind() == reflect.Func {
		last.Call([]reflect.Value{reflect.MakeFunc(last.Type().In(0), func(args []reflect.Value) []reflect.Value {
			err, _ = args[1].Interface().(error)
			return []reflect.Value{reflect.ValueOf(true)}
		})})
		return err
	}
	err, _ = last.Interface().(error)
	return err
}

package spi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// A cutLoop is what a loop saw that was cut in the middle: by the end of its context, or by
// Close.
type cutLoop struct {
	rows, errs int
	err        error
}

// step counts a step of a loop.
func (l *cutLoop) step(rows int, err error) {
	l.rows += rows
	if err != nil {
		l.errs, l.err = l.errs+1, err
	}
}

// honest sees that a loop said that it was cut, unless it yielded every row first.
func (l *cutLoop) honest(e *env, what string, all int, kind error) {
	if l.errs > 0 {
		rule.Equal(e, "how many errors came from "+what, l.errs, 1)
		e.Is(what, l.err, kind)
		return
	}
	e.That(l.rows == all, fmt.Sprintf("an error from %s, or all %d rows", what, all), "%d rows, and no error", l.rows)
}

// rangeCut reads a span and calls at after so many rows.
func rangeCut(ctx context.Context, e *env, sp driver.Span, after int, at func()) *cutLoop {
	l := &cutLoop{}
	for r, err := range e.Store.Range(ctx, sp) {
		e.That(l.errs == 0, "nothing after the error", "a row or an error")
		e.That((r == nil) == (err != nil), "a row, or an error with a nil row", "%v, %v", r, err)
		if err != nil {
			l.step(0, err)
			continue
		}
		if l.step(1, nil); l.rows == after {
			at()
		}
	}
	return l
}

// walkCut walks through a table and calls at after the first chunk.
func walkCut(ctx context.Context, e *env, t *driver.Table, at func()) *cutLoop {
	l := &cutLoop{}
	chunks := 0
	for c, err := range e.Store.Walk(ctx, t, "") {
		e.That(l.errs == 0, "nothing after the error", "a chunk or an error")
		if l.step(len(c.Rows), err); err == nil {
			if chunks++; chunks == 1 {
				at()
			}
		}
	}
	return l
}

// cutTable makes a table with n rows in one partition, and returns its span.
func cutTable(ctx context.Context, e *env, t *driver.Table, n int) driver.Span {
	var ops []driver.Op
	for i := range n {
		ops = append(ops, put(t, row(e.at(t, "p", fmt.Sprintf("%04d", i)), strings.Repeat("x", 500))))
	}
	e.commitMany(ctx, ops)
	return span(t, ops[0].Row.Key)
}

func cancelledLoop(ctx context.Context, e *env) {
	const all = 1500
	t := e.ownTable(table.Fields()...)
	e.define(ctx, t)
	sp := cutTable(ctx, e, t, all)
	for _, after := range []int{3, 700, 1100, 1499} {
		for _, reverse := range []bool{false, true} {
			sp.Reverse = reverse
			limited, cancel := context.WithCancel(ctx)
			l := rangeCut(limited, e, sp, after, cancel)
			cancel()
			l.honest(e, fmt.Sprintf("a range whose context ended after %d rows, reverse %v", after, reverse), all, context.Canceled)
			e.That(after > 3 || l.rows < all, "the loop to end before all rows were read", "%d rows", l.rows)
		}
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	walkCut(limited, e, t, cancel).honest(e, "a walk whose context ended after the first chunk", all, context.Canceled)
	countsCut(ctx, e, sp, all)
}

// countsCut counts with contexts that end in the meantime.
func countsCut(ctx context.Context, e *env, sp driver.Span, all int) {
	c, ok := e.Store.(driver.Counter)
	if !ok || !e.Facts.Counts.Has {
		return
	}
	for i := range 20 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(i*i)*20*time.Microsecond)
		n, err := c.Count(limited, sp)
		cancel()
		e.That(n == all && err == nil || errors.Is(err, context.DeadlineExceeded), fmt.Sprintf("a count of %d, or the error of the context", all), "%d, %v", n, err)
	}
}

func closeLoops(ctx context.Context, e *env) {
	const all = 2500
	store, t := e.Opened(ctx)
	one := newEnv(e.On(store))
	sp := cutTable(ctx, one, t, all)
	var loops [2]*cutLoop
	var inside, over sync.WaitGroup
	closing := make(chan struct{})
	inside.Add(len(loops))
	for i, loop := range []func(at func()) *cutLoop{
		func(at func()) *cutLoop { return rangeCut(ctx, one, sp, 2, at) },
		func(at func()) *cutLoop { return walkCut(ctx, one, t, at) },
	} {
		entered := sync.OnceFunc(inside.Done)
		over.Go(func() {
			defer entered() // also when there are no rows
			loops[i] = &cutLoop{}
			loops[i].err = finding.Caught(func() error {
				loops[i] = loop(func() {
					entered()
					<-closing
					time.Sleep(20 * time.Millisecond) // Close has begun, most likely
				})
				return loops[i].err
			})
		})
	}
	inside.Wait()
	done := make(chan error, 1)
	go func() { close(closing); done <- store.Close() }()
	over.Wait()
	e.OK("close while loops are under way", <-done)
	e.Reopened(ctx, t, nil)
	loops[0].honest(e, "a range under way at Close", all, driver.ErrClosed)
	loops[1].honest(e, "a walk under way at Close", all, driver.ErrClosed)
}

// leftRows is how many rows there are where loops are left: more than one page.
const leftRows = 700

// leaveLoops begins 2 × n loops over a partition, and as many over its table, and ends each of
// them in its first step by what end does.
func leaveLoops(ctx context.Context, e *env, sp driver.Span, n int, end func()) {
	for i := range n {
		sp.Reverse = i%2 == 1
		begun := 0
		for range 2 {
			oneStep(func() {
				for _, err := range e.Store.Range(ctx, sp) {
					e.OK("range", err)
					begun++
					end()
					break
				}
			})
			oneStep(func() {
				for _, err := range e.Store.Walk(ctx, sp.Table, "") {
					e.OK("walk", err)
					begun++
					end()
					break
				}
			})
		}
		rule.Equal(e, "the loops that had a first step", begun, 4)
	}
}

// errLeft is the panic of a loop's body.
var errLeft = errors.New("the body of the loop panics")

// oneStep calls loop in a goroutine of its own, which may end as it likes.
func oneStep(loop func()) {
	done := make(chan any, 1)
	go func() {
		ended := any(nil)
		defer func() { done <- ended }() // also at runtime.Goexit
		defer func() {
			if p := recover(); p != nil && p != any(errLeft) {
				ended = p
			}
		}()
		loop()
	}()
	if p := <-done; p != nil {
		panic(p)
	}
}

// leftGoroutines counts the goroutines that left loops have begun. Those of the rule have a
// label, which a goroutine has from the one that begins it.
func leftGoroutines(ctx context.Context, e *env) {
	t := e.ownTable(table.Fields()...)
	e.define(ctx, t)
	sp := cutTable(ctx, e, t, leftRows)
	whose := e.ID + e.Tag
	pprof.Do(ctx, pprof.Labels(leftLabel, whose), func(ctx context.Context) {
		const most = 50 // there may be some of a pool
		leaveLoops(ctx, e, sp, most, func() {})
		n := 0
		for began := time.Now(); time.Since(began) < prompt; time.Sleep(20 * time.Millisecond) {
			if n = labelled(leftLabel, whose); n <= most {
				return
			}
		}
		e.Broken(fmt.Sprintf("at most %d goroutines some seconds after %d loops were left", most, 4*most), "%d", n)
	})
}

const leftLabel = "polystore_left_loops"

// labelled returns how many goroutines have a label.
func labelled(key, value string) int {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return 0 // a buffer takes everything
	}
	n, count := 0, 0
	for lines := bufio.NewScanner(&b); lines.Scan(); {
		line := lines.Text()
		if number, _, ok := strings.Cut(line, " @"); ok {
			count, _ = strconv.Atoi(number) // 0 if it is no such line
		}
		if strings.HasPrefix(line, "# labels:") && strings.Contains(line, fmt.Sprintf("%q:%q", key, value)) {
			n += count
		}
	}
	return n
}

func panickedLoops(ctx context.Context, e *env) {
	t := e.ownTable(table.Fields()...)
	e.define(ctx, t)
	sp := cutTable(ctx, e, t, leftRows)
	for what, end := range map[string]func(){"a panic": func() { panic(errLeft) }, "runtime.Goexit": runtime.Goexit} {
		e.Within(ctx, "the loops that end by "+what, func(ctx context.Context) { leaveLoops(ctx, e, sp, 20, end) })
		e.Within(ctx, "what comes after loops that ended by "+what, func(ctx context.Context) {
			first, last := sp.Key, sp.Key
			first.Sort, last.Sort = e.at(t, "p", "0000").Sort, e.at(t, "p", fmt.Sprintf("%04d", leftRows-1)).Sort
			e.commit(ctx, put(t, row(first, what)))
			e.commit(ctx, put(t, row(last, what)))
			rule.Equal(e, "the row after "+what, e.text(ctx, t, first)+e.text(ctx, t, last), what+what)
			whole := sp
			whole.Reverse = false
			rule.Equal(e, "the number of rows after "+what, len(e.rows(ctx, whole)), leftRows)
			rule.Equal(e, "the number of rows by a walk after "+what, len(e.walk(ctx, t)), leftRows)
			e.define(ctx, t)
		})
	}
}

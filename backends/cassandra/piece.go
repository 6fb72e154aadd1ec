package cassandra

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A server ends a read that takes it longer than read_request_timeout, and one that meets more
// tombstones than tombstone_failure_threshold. To pass a million deleted rows takes it some seconds.
// So what it could not read at once is read in pieces, of so many rows each, dead or not:
// first their keys, and then, of a piece in which some live, these.
const (
	pieceRows  = 5000
	leastPiece = 50               // where a server fails over a piece, a shorter one is tried
	slowFor    = 10 * time.Minute // after which it is tried at once again
	mostSlow   = 1000             // partitions that are remembered
)

// isTooMuch reports whether a server gave up a read for what lay in its way.
func isTooMuch(err error) bool {
	code := codeOf(err)
	return code == gocql.ErrCodeReadTimeout || code == gocql.ErrCodeReadFailure
}

// A slowSpan is a partition of a table in which a read was given up.
type slowSpan struct{ table, partition string }

type slowSpans struct {
	mu    sync.Mutex
	until map[slowSpan]time.Time
}

func (l *slowSpans) add(table, partition string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil || len(l.until) >= mostSlow {
		l.until = map[slowSpan]time.Time{}
	}
	l.until[slowSpan{table, partition}] = time.Now().Add(slowFor)
}

func (l *slowSpans) has(table, partition string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.until[slowSpan{table, partition}]
	return ok && time.Now().Before(until)
}

// A piece is the keys of some rows of a span, one after the other.
type piece struct {
	live  int
	first string // clustering text of the first that lives, in the direction of the span
	last  string // of the last, alive or not
	end   bool   // there are no more
}

// piece reads the next piece of what is left of a scan.
func (sc *scan) piece(ctx context.Context) (piece, error) {
	conn, v, doing := sc.store.conn, sc.v, "range of "+sc.v.Name
	flag, order := quoted("_rev"), "ASC"
	if v.Class == driver.Records {
		flag = quoted("_dead")
	}
	if sc.span.Reverse {
		order = "DESC"
	}
	text := "SELECT " + quoted(sortColumn) + ", " + flag + " FROM " + v.table + " WHERE " + v.where + ` AND "_sort" >= ? AND "_sort" < ? ORDER BY "_sort" ` + order + " LIMIT ?"
	for n := sc.store.pieceRows; ; n /= 4 {
		args := append(sc.rest.args[:len(sc.rest.args):len(sc.rest.args)], n)
		answer, err := conn.ask(ctx, doing, conn.query(conn.level, text, args...).PageSize(n).PageState(nil))
		if isTooMuch(err) && n/4 >= leastPiece {
			continue
		}
		if err != nil {
			return piece{}, err
		}
		p, rows := readPiece(v, answer)
		p.end = rows < n
		return p, conn.failed(ctx, doing, answer.Close())
	}
}

func readPiece(v *view, answer *gocql.Iter) (p piece, rows int) {
	var flag cell
	for sort := ""; answer.Scan(&sort, &flag); rows++ {
		alive := len(flag.data) > 0 && (v.Class != driver.Records || !flag.isTrue())
		if alive {
			p.live++
		}
		if alive && p.live == 1 {
			p.first = sort
		}
		p.last = sort
	}
	return p, rows
}

// past returns what is left of a section behind a piece.
func (sec *section) past(p *piece, reverse bool) section {
	n := len(sec.args)
	if reverse {
		return sec.with(sec.args[n-2], p.last)
	}
	return sec.with(p.last+"\x00", sec.args[n-1])
}

// within returns the part of a section from the first row of a piece that lives to its last.
func (sec *section) within(p *piece, reverse bool) section {
	if reverse {
		return sec.with(p.last, p.first+"\x00")
	}
	return sec.with(p.first, p.last+"\x00")
}

// with returns the section between other clustering texts.
func (sec *section) with(from, to any) section {
	n := len(sec.args) - 2
	return section{sec.partition, append(sec.args[:n:n], from, to)}
}

// pageInPieces reads a page where a server gave up.
func (sc *scan) pageInPieces(ctx context.Context, p *frame.Pager) error {
	v, reverse := sc.v, sc.span.Reverse
	for {
		at, err := sc.piece(ctx)
		if err != nil {
			return err
		}
		if at.live > 0 {
			limit := p.Limit()
			part := sc.rest.within(&at, reverse)
			got, _, err := sc.readPage(ctx, p, &part, limit)
			v.goOn(p, &got)
			if err != nil || got.rows == limit || p.Bad != nil {
				return err
			}
			v.skip(p, &at)
		}
		if p.Done = p.Done || at.end; p.Done || len(p.Rows) > 0 {
			return nil
		}
		sc.rest = sc.rest.past(&at, reverse)
	}
}

// skip takes a piece out of a span.
func (v *view) skip(p *frame.Pager, at *piece) {
	if p.Span.Reverse {
		p.Span.To = strings.TrimPrefix(at.last, v.head)
	} else {
		p.Span.From = strings.TrimPrefix(at.last, v.head) + "\x00"
	}
}

// countInPieces counts up to a limit where a server gave up.
func (sc *scan) countInPieces(ctx context.Context, most int) (n int, err error) {
	for {
		at, err := sc.piece(ctx)
		if err != nil {
			return 0, err
		}
		if n += at.live; n >= most || at.end {
			return min(n, most), nil
		}
		sc.rest = sc.rest.past(&at, false)
	}
}

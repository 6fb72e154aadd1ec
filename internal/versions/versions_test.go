//go:build unix

package versions_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

var (
	lasts = flag.Duration("for", 0, "how long programs write on each store; 0 is one cycle")
	dies  = flag.Bool("servers-die", false, "the servers are the test's own, and are killed twice")
)

const (
	older   = 200                   // records that were there before
	usually = 80 * time.Millisecond // between two writes of a writer
	stands  = 4 * time.Second       // how long a stopped program stands still, which is longer than the lease
)

// A process is a program under way.
type process struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	stdin interface{ Close() error }
	said  chan string // all, when it has ended
	begun chan struct{}
}

func start(t *testing.T, o order) *process {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		t.Fatal("a program does not start", err1, err2)
	}
	p := &process{t, o.Name, cmd, in, make(chan string, 1), make(chan struct{})}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() {
		var all strings.Builder
		var once sync.Once
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == "begun" {
				once.Do(func() { close(p.begun) })
			}
			all.WriteString(lines.Text() + "\n")
		}
		_ = cmd.Wait()
		once.Do(func() { close(p.begun) })
		p.said <- all.String()
	}()
	return p
}

func (p *process) signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("%s: %v", p.name, err)
	}
}

// end lets a program end, and reports what it found wrong.
func (p *process) end() {
	p.t.Helper()
	_ = p.stdin.Close()
	select {
	case said := <-p.said:
		p.t.Logf("%s %s", p.name, said)
		if strings.Contains(said, "fault:") || !strings.Contains(said, "done:") {
			p.t.Errorf("%s says %s", p.name, said)
		}
	case <-time.After(2 * time.Minute):
		p.t.Errorf("%s does not end", p.name)
	}
}

// A roll is programs of two versions at work.
type roll struct {
	t          *testing.T
	url        string
	collection string
	store      *repo.Store
	restart    func() // kills the server and starts it, if it may be
	begun      time.Time
	cycle      int
}

func (r *roll) start(name string, newer, settled bool) *process {
	p := start(r.t, order{URL: r.url, Collection: r.collection, Name: fmt.Sprint(name, r.cycle), Newer: newer, Settled: settled, Pause: usually})
	<-p.begun
	return p
}

func (r *roll) isOver() bool { return time.Since(r.begun) >= *lasts }

// play lets programs write while the index is added and dropped.
func (r *roll) play() {
	t, ctx := r.t, r.t.Context()
	before, err := repo.Open[login](ctx, r.store, schemaOf(r.collection, false))
	if err != nil {
		t.Fatal(err)
	}
	for i := range older {
		if err := before.Insert(ctx, &login{fmt.Sprint("o", i), fmt.Sprint("u", i%users), 0}); err != nil {
			t.Fatal(err)
		}
	}
	r.begun = time.Now()
	old, settled := r.start("older", false, false), r.start("settled", false, true)
	for ; ; r.cycle++ {
		newer := r.start("newer", true, false)
		if r.cycle%2 == 1 { // a filler that is killed, after which others go on
			filler := start(t, order{URL: r.url, Collection: r.collection, Name: "filler", Newer: true, Fills: true})
			time.Sleep(time.Duration(r.cycle%5) * time.Second)
			filler.signal(syscall.SIGKILL)
		}
		settled.signal(syscall.SIGSTOP)
		time.Sleep(stands)
		settled.signal(syscall.SIGCONT)
		r.ready("while programs write")
		if r.restart != nil && (r.cycle == 0 || r.cycle == 2) {
			r.restart()
		}
		if r.cycle%2 == 0 || r.isOver() {
			newer.end()
		} else {
			newer.signal(syscall.SIGKILL)
		}
		if r.isOver() {
			break
		}
		settled.signal(syscall.SIGSTOP)
		dropped := make(chan error, 1)
		go func() { dropped <- repo.DropIndex(ctx, r.store, r.collection, indexName) }()
		time.Sleep(stands)
		settled.signal(syscall.SIGCONT)
		if err := <-dropped; err != nil {
			t.Errorf("drop the index: %v", err)
		}
	}
	old.end()
	settled.end()
	r.ready("in the end")
}

// ready waits for the index, and compares it with the records.
func (r *roll) ready(when string) {
	r.t.Helper()
	newer, err := repo.Open[login](r.t.Context(), r.store, schemaOf(r.collection, true), repo.WithBuild())
	if err == nil {
		err = newer.Ready(r.t.Context(), indexName)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	reports, err := newer.Verify(r.t.Context())
	if err != nil || len(reports) != 1 {
		r.t.Errorf("verify %s: %v, %v", when, reports, err)
	}
	for _, rep := range reports {
		if !rep.Clean() || rep.Records < older {
			r.t.Errorf("verify %s: %+v", when, rep)
		}
	}
}

// Programs of two versions write while an index is added and dropped on genuine servers.
func TestTwoVersions(t *testing.T) {
	for name, which := range map[string]testserver.Store{"redis": testserver.Redis, "mongo": testserver.Mongo, "cassandra": testserver.Cassandra} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *testserver.Server
			var restart func()
			if *dies {
				s = testserver.Start(t, which)
				restart = func() { s.Kill9(t); s.Restart(t) }
			} else {
				s = testserver.Shared(t, which)
			}
			url := s.URL
			if which == testserver.Cassandra {
				url = strings.TrimSuffix(url, "/") + "/versions?replication=1"
			}
			playOn(t, url, restart)
		})
	}
	t.Run("redis cluster", func(t *testing.T) {
		t.Parallel()
		playOn(t, testserver.SharedCluster(t).URL, nil)
	})
}

func playOn(t *testing.T, url string, restart func()) {
	store, err := backends.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &roll{t: t, url: url, collection: "versions" + strings.ToLower(driver.NewToken().String()[:12]), store: store, restart: restart}
	t.Cleanup(func() {
		if err := repo.DropCollection(context.WithoutCancel(t.Context()), store, r.collection); err != nil {
			t.Error(err)
		}
		store.Close()
	})
	r.play()
}

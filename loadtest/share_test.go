package loadtest

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A common server is opened by several processes.
type common struct{ *server }

func (common) Close() error { return nil }

// A plain clock waits in the runtime: the machine's is for one run at a time.
type plainClock struct{}

func (plainClock) Attach()           {}
func (plainClock) Detach()           {}
func (plainClock) Until(t time.Time) { time.Sleep(time.Until(t)) }

// alone is the small workload with one model.
var alone = testload.Small[:strings.Index(testload.Small, "  - {name: keys only")]

// share runs one share of a workload on a server.
func share(t *testing.T, s driver.Store, text string, part Share) (*Result, error) {
	opts := options(s)
	opts.Share, opts.Log, opts.clock = &part, io.Discard, plainClock{}
	return Run(t.Context(), mustParse(t, text), opts)
}

// Two processes send what one does: the same calls of each query. Their answers are checked, and nothing is left behind.
func TestShares(t *testing.T) {
	t.Parallel()
	s := common{&server{watched: newWatched(), class: driver.Process}}
	start := time.Now().Add(30 * time.Second)
	results, errs := make([]*Result, 2), make([]error, 2)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			results[i], errs[i] = share(t, s, alone, Share{Number: i + 1, Of: 2, Start: start, pause: 4 * time.Second})
		})
	}
	whole, err := Run(t.Context(), mustParse(t, alone), options(newWatched()))
	all.Wait()
	if errs[0] != nil || errs[1] != nil || err != nil {
		t.Fatal(errs, err)
	}
	var files []string
	for i, r := range results {
		c := &r.Candidates[0]
		if c.Rounds[0].Ops != 20 || c.Rounds[0].Slots != 32 || c.Failures > 0 || r.Share.Number != i+1 || r.Exit != Met || c.Queries[0].Checked == 0 {
			t.Errorf("%v: %d operations, %d slots, %d failures (%s), exit %d", r.Share, c.Rounds[0].Ops, c.Rounds[0].Slots, c.Failures, c.Failure, r.Exit)
		}
		file, err := r.Save(t.TempDir())
		if err != nil || !strings.Contains(file, "-share-") {
			t.Fatal(file, err)
		}
		files = append(files, file)
	}
	merged, err := Merge(files)
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, merged)
	for at, q := range merged.Candidates[0].Queries {
		if want := whole.Candidates[0].Queries[at].Calls; q.Calls != want {
			t.Errorf("%s: %d calls, and one process sends %d", q.Name, q.Calls, want)
		}
	}
	if x := merged.Candidates[0].Rounds[0]; x.Ops != 40 || x.Slots != 64 || merged.Compared == 0 || len(s.tables) > 0 {
		t.Errorf("%d operations, %d slots, %d calls compared; left behind: %v", x.Ops, x.Slots, merged.Compared, s.tables)
	}
}

// What cannot be shared is refused with a remedy before anything is loaded.
func TestSharesThatAreRefused(t *testing.T) {
	ahead := time.Now().Add(time.Hour)
	on := common{&server{watched: newWatched(), class: driver.Process}}
	for _, tt := range []struct {
		part  Share
		store driver.Store
		text  string
		opts  func(*Options)
		want  string
	}{
		{part: Share{Number: 4, Of: 3, Start: ahead}, want: "there is no share 4 of 3; shares are --share 1/N"},
		{part: Share{Number: 0, Of: 3, Start: ahead}, want: "there is no share 0 of 3"},
		{part: Share{Number: 1, Of: 3}, want: "has no start; name one for all shares, as in --start-at 2"},
		{part: Share{Number: 1, Of: 3, Start: time.Now().Add(-time.Second)}, want: "is past; name a time by which the data are loaded, as in --start-at 2"},
		{part: Share{Number: 1, Of: 3, Start: ahead.Add(48 * time.Hour)}, want: "is more than 24h0m0s ahead"},
		{part: Share{Number: 1, Of: 3, Start: ahead}, opts: func(o *Options) { o.Max = true }, want: "say --max or --share"},
		{part: Share{Number: 1, Of: 3, Start: ahead}, opts: func(o *Options) { o.Faults = "cut@1s:1s" }, want: "say --fault or --share"},
		{part: Share{Number: 2, Of: 3, Start: ahead}, opts: reuse, want: "it alone may --keep or --reuse"},
		{part: Share{Number: 1, Of: 30, Start: ahead}, want: "a round has 40 operations, which are too few for 30 shares"},
		{part: Share{Number: 1, Of: 3, Start: ahead}, text: "slots: 2\n", want: "there are 2 slots, too few for 3 shares"},
		{part: Share{Number: 1, Of: 2, Start: ahead}, store: newWatched(), want: "is a store of one process, and --share is for several"},
	} {
		opts := options(on)
		if tt.store != nil {
			opts = options(tt.store)
		}
		if opts.Share = &tt.part; tt.opts != nil {
			tt.opts(&opts)
		}
		if _, err := Run(t.Context(), mustParse(t, tt.text+alone), opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v; want %q", tt.part, err, tt.want)
		}
	}
	if len(on.tables) > 0 {
		t.Errorf("left behind: %v", on.tables)
	}
}

// A share that waits in vain says which other one is missing, or that it is of another load, or there twice.
func TestSharesThatMiss(t *testing.T) {
	t.Parallel()
	s := common{&server{watched: newWatched(), class: driver.Process}}
	soon := time.Now().Add(2 * time.Second)
	if _, err := share(t, s, alone, Share{Number: 2, Of: 2, Start: soon}); err == nil || !strings.Contains(err.Error(), "share 1 has not loaded the data into memory:; begin share 1, too") {
		t.Error(err)
	}
	start := time.Now().Add(25 * time.Second)
	var first error
	var all sync.WaitGroup
	all.Go(func() { _, first = share(t, s, alone, Share{Number: 1, Of: 3, Start: start}) })
	if _, err := share(t, s, strings.Replace(alone, "seed: 3", "seed: 4", 1), Share{Number: 2, Of: 3, Start: start}); err == nil || !strings.Contains(err.Error(), "its seed is 3, and here it is 4; give all shares the same file") {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			opts := options(s)
			opts.Share, opts.clock = &Share{Number: 2, Of: 3, Start: start}, plainClock{}
			_, err := Run(ctx, mustParse(t, alone), opts)
			errs <- err
		}()
	}
	if err := <-errs; err == nil || !strings.Contains(err.Error(), "another process is share 2 of 3 already") {
		t.Error(err)
	}
	stop()
	<-errs
	all.Wait()
	if first == nil || !strings.Contains(first.Error(), "no process is share 3 of 3; begin all shares anew, with a later --start-at") || len(s.tables) > 0 {
		t.Errorf("%v; left behind: %v", first, s.tables)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// A scale is how much work a round is.
type scale struct {
	records int
	calls   map[string]int

	// blocks is how many times the candidates take turns in a phase, so that what
	// else the machine does meanwhile meets all of them alike.
	blocks int
	quick  bool
}

// fullScale makes phases of a fifth of a second and more.
func fullScale(s *setting) scale {
	if s.Work == treesName {
		return treeScale(s.Store, 1)
	}
	switch s.Store {
	case redisName:
		return scale{5_000, map[string]int{
			opGet: 10_000, opUpdate: 3_000, opMove: 3_000, opNewest: 5_000, opInsert: 3_000, opMix: 3_000, opDelete: 3_000,
		}, 5, false}
	case mongoName, cassandraName:
		return scale{4_000, map[string]int{
			opGet: 4_000, opUpdate: 1_500, opMove: 1_000, opNewest: 1_500, opInsert: 1_000, opMix: 1_500, opDelete: 1_000,
		}, 5, false}
	}
	writes := 10_000
	if s.Sync {
		writes = 6_000
	}
	return scale{20_000, map[string]int{
		opGet: 40_000, opUpdate: writes, opMove: writes, opNewest: 3_000, opInsert: writes, opMix: 8_000, opDelete: writes,
	}, 5, false}
}

func quickScale(s *setting) scale {
	if s.Work == treesName {
		scale := treeScale(s.Store, 50)
		scale.records, scale.blocks, scale.quick = 1200, 1, true
		return scale
	}
	if s.Store == mongoName || s.Store == cassandraName {
		return scale{96, map[string]int{
			opGet: 64, opUpdate: 32, opMove: 32, opNewest: 32, opInsert: 32, opMix: 32, opDelete: 32,
		}, 1, true}
	}
	return scale{800, map[string]int{
		opGet: 1_000, opUpdate: 300, opMove: 300, opNewest: 100, opInsert: 300, opMix: 200, opDelete: 300,
	}, 1, true}
}

// counted is how many calls of a phase are only for counting requests.
func (s *scale) counted() int {
	if s.quick {
		return 16
	}
	return 64
}

// A run measures candidates in one setting.
type run struct {
	setting    setting
	candidates []candidate
	ops        []string
	scale      scale
	dir        string // for the data
	url        string // of the server
	profile    string
	seed       uint64

	// samples are the results: by operation and candidate, one a round.
	samples map[string]map[string][]sample
	used    time.Duration      // CPU time of all processes
	sizes   map[string]float64 // bytes of a record on a server, by candidate, as the first round found
}

// round starts each candidate anew, lets them do each phase in an order drawn for
// it, and compares their answers.
func (r *run) round(ctx context.Context, number int) (err error) {
	seed := r.seed + uint64(number)
	order := rand.New(rand.NewPCG(seed, 2))
	dir := filepath.Join(r.dir, strconv.Itoa(number))
	defer func() { err = errors.Join(err, os.RemoveAll(dir), r.wipe(ctx, dir)) }()
	ps := make([]*process, 0, len(r.candidates))
	defer func() {
		for _, p := range ps {
			err = errors.Join(err, p.stop())
			r.used += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
		}
	}()
	for _, i := range order.Perm(len(r.candidates)) {
		name := r.candidates[i].name
		p, err := spawn(ctx, config{Candidate: name, Dir: filepath.Join(dir, strconv.Itoa(i)), URL: r.url, Setting: r.setting,
			Records: r.scale.records, Seed: seed, Profile: r.profile, Quick: r.scale.quick})
		if err != nil {
			return err
		}
		ps = append(ps, p)
	}
	for _, op := range r.ops {
		if err := r.phase(ps, op, order); err != nil {
			return err
		}
	}
	if number == 0 {
		if err := r.weigh(ps); err != nil {
			return err
		}
	}
	return sameDigest(ps)
}

// wipe removes what the candidates of a round have left on the server.
func (r *run) wipe(ctx context.Context, dir string) error {
	return serverOf(r.setting.Store).wipe(context.WithoutCancel(ctx), r.url, (&place{dir: dir}).prefix())
}

// weigh asks the candidates how much their records take.
func (r *run) weigh(ps []*process) error {
	for _, p := range ps {
		answer, err := p.ask(request{Do: sizeRequest})
		if err != nil {
			return err
		}
		if answer.Size > 0 {
			r.sizes[p.name] = answer.Size
		}
	}
	return nil
}

// phase measures one operation on every candidate.
func (r *run) phase(ps []*process, op string, order *rand.Rand) error {
	sums, samples := map[string]uint64{}, map[string][]sample{}
	requests := map[string]float64{}
	for _, p := range ps {
		answer, err := p.ask(request{Do: countRequest, Op: op, Calls: r.scale.counted()})
		if err != nil {
			return err
		}
		sums[p.name], requests[p.name] = answer.Sum, answer.Sample.Requests
	}
	for range r.scale.blocks {
		order.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
		for _, p := range ps {
			answer, err := p.ask(request{Do: measureRequest, Op: op, Calls: r.scale.calls[op] / r.scale.blocks})
			if err != nil {
				return err
			}
			sums[p.name] = sums[p.name]*31 + answer.Sum
			samples[p.name] = append(samples[p.name], answer.Sample)
		}
	}
	for _, p := range ps {
		s := merged(samples[p.name])
		s.Requests = requests[p.name]
		r.add(op, p.name, s)
	}
	if op == opMix && r.setting.Workers > 1 {
		return nil // what a reader sees depends on who was faster
	}
	for name, sum := range sums {
		if sum != sums[ps[0].name] {
			return fmt.Errorf("%s and %s answer %s differently", ps[0].name, name, op)
		}
	}
	return nil
}

func (r *run) add(op, name string, s sample) {
	if r.samples[op] == nil {
		r.samples[op] = map[string][]sample{}
	}
	r.samples[op][name] = append(r.samples[op][name], s)
}

// sameDigest fails unless all candidates hold the same records in the end.
func sameDigest(ps []*process) error {
	var digests []string
	for _, p := range ps {
		answer, err := p.ask(request{Do: digestRequest})
		if err != nil {
			return err
		}
		digests = append(digests, answer.Digest)
	}
	if i := slices.IndexFunc(digests, func(d string) bool { return d != digests[0] }); i >= 0 {
		return fmt.Errorf("%s and %s hold different records in the end", ps[0].name, ps[i].name)
	}
	return nil
}

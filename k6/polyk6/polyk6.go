// Package polyk6 is an extension for k6 that sends the operations of a Polystore workload.
//
//	import { Sender } from 'k6/x/polystore'
//	import exec from 'k6/execution'
//
//	const blog = new Sender('blog.yaml', 'index table', 'redis://localhost:6379')
//
//	export default function () {
//	  blog.send(exec.scenario.iterationInTest)
//	}
//
// The data are those that polystore load --keep left in the store. k6 says when operations are sent, and by how many
// machines: iterationInTest is another number on each of them. Its metrics are polystore_op_duration, a trend,
// polystore_ops, a counter, and polystore_op_failed, a rate, with the tags store, model, query and outcome.
package polyk6

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/errext"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/metrics"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
)

func init() { modules.Register("k6/x/polystore", &root{senders: map[where]*opening{}}) }

// where is what a sender sends to, by which data: records and seed are as the flags of polystore load, 0 as in the file.
type where struct {
	file, model, url string
	records          int
	seed             uint64
}

// An opening is a sender that all virtual users have.
type opening struct {
	once   sync.Once
	sender *loadtest.Sender
	err    error
}

// A root has the senders of a process.
type root struct {
	mu      sync.Mutex
	senders map[where]*opening
}

// sender returns the one sender of a process, which the first that asks for it opens.
func (r *root) sender(ctx context.Context, at where) (*loadtest.Sender, error) {
	r.mu.Lock()
	o := r.senders[at]
	if o == nil {
		o = &opening{}
		r.senders[at] = o
	}
	r.mu.Unlock()
	o.once.Do(func() {
		w, err := loadtest.Load(at.file)
		if err == nil {
			w.Records, w.Seed = cmp.Or(at.records, w.Records), cmp.Or(at.seed, w.Seed)
			o.sender, err = loadtest.OpenSender(context.WithoutCancel(ctx), w, at.model, at.url, backends.OpenDriver)
		}
		o.err = err
	})
	return o.sender, o.err
}

// NewModuleInstance returns the module of a virtual user.
func (r *root) NewModuleInstance(vu modules.VU) modules.Instance {
	m := &module{root: r, vu: vu}
	registry := vu.InitEnv().Registry
	m.duration = registry.MustNewMetric("polystore_op_duration", metrics.Trend, metrics.Time)
	m.ops = registry.MustNewMetric("polystore_ops", metrics.Counter)
	m.failed = registry.MustNewMetric("polystore_op_failed", metrics.Rate)
	return m
}

// A module is that of a virtual user.
type module struct {
	root *root
	vu   modules.VU

	duration, ops, failed *metrics.Metric
}

// Exports returns what scripts import.
func (m *module) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{"Sender": m.newSender}}
}

// newSender is the constructor Sender(file, model, url, {records, seed}).
func (m *module) newSender(call sobek.ConstructorCall) *sobek.Object {
	rt := m.vu.Runtime()
	at := where{file: call.Argument(0).String(), model: call.Argument(1).String(), url: call.Argument(2).String()}
	var options struct {
		Records int    `js:"records"`
		Seed    uint64 `js:"seed"`
	}
	if o := call.Argument(3); !common.IsNullish(o) {
		if err := rt.ExportTo(o, &options); err != nil {
			common.Throw(rt, err)
		}
	}
	if at.records, at.seed = options.Records, options.Seed; len(call.Arguments) < 3 || at.records < 0 {
		common.Throw(rt, errors.New("want new Sender(FILE, MODEL, URL) or new Sender(FILE, MODEL, URL, {records: N, seed: N})"))
	}
	return rt.ToValue(&sender{module: m, at: at}).ToObject(rt)
}

// A sender is what a script has.
type sender struct {
	*module
	at where
}

// Send sends the n-th operation, counts it, and returns its outcome, as "done". A store's error is the outcome "failed".
// Where there is nothing to send to, the test ends.
func (s *sender) Send(n int) (string, error) {
	state := s.vu.State()
	if state == nil {
		return "", errors.New("send is for the default function, not for the init context")
	}
	ctx := s.vu.Context()
	to, err := s.root.sender(ctx, s.at)
	if err != nil {
		s.vu.Runtime().Interrupt(&errext.InterruptError{Reason: "polystore: " + err.Error()})
		return "", nil
	}
	o, err := to.Send(ctx, n)
	if o.Query == "" {
		return "", err
	}
	if err != nil && ctx.Err() == nil {
		state.Logger.WithError(err).Debug("polystore: an operation failed")
	}
	s.count(ctx, state.Tags.GetCurrentValues(), &o, err)
	return o.Outcome, nil
}

func (s *sender) count(ctx context.Context, tags metrics.TagsAndMeta, o *loadtest.Observation, err error) {
	set := tags.Tags.With("store", o.Store).With("model", o.Model).With("query", o.Query).With("outcome", o.Outcome)
	now, failed := time.Now(), 0.0
	if err != nil {
		failed = 1
	}
	var samples []metrics.Sample
	for m, v := range map[*metrics.Metric]float64{s.duration: metrics.D(o.Response), s.ops: 1, s.failed: failed} {
		samples = append(samples, metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: set}, Time: now, Value: v, Metadata: tags.Metadata})
	}
	metrics.PushIfNotDone(ctx, s.vu.State().Samples, metrics.Samples(samples))
}

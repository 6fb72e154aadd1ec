package redis

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/repo/driver"
)

// A part is what one server has of the keys: all, or the slots of a master.
type part struct {
	client goredis.UniversalClient
	slots  string // as CLUSTER NODES has them; "" of a server that stands alone
	first  int    // the lowest slot
	moving bool   // some slots are on their way to another server
}

// A plan is all parts, in the order of their slots. Which servers have them does not
// matter to its name, so that it outlives a failover.
type plan struct {
	parts  []part
	name   string // "" of a server that stands alone
	moving bool
}

const allSlots = 16384

// plan asks who has which slots.
func (s *Store) plan(ctx context.Context, doing string) (*plan, error) {
	r, ok := s.client.(*router)
	if !ok {
		return &plan{parts: []part{{client: s.client}}}, nil
	}
	var mu sync.Mutex
	p, slots, asked := &plan{}, 0, atomic.Int64{}
	err := r.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
		cmd := goredis.NewRawCmd(ctx, "cluster", "nodes")
		asked.Add(1)
		err := node.Process(ctx, cmd)
		answer := replyOf(cmd)
		if err == nil {
			err = answer.refused()
		}
		if err != nil {
			return err
		}
		text, _ := answer.text()
		one, n := ownSlots(text)
		one.client = node
		mu.Lock()
		defer mu.Unlock()
		if slots += n; n > 0 {
			p.parts = append(p.parts, one)
		}
		p.moving = p.moving || one.moving
		return nil
	})
	driver.TallyOf(ctx).Add(2, 1+int(asked.Load())) // the client asks one for CLUSTER SLOTS, then all masters at once
	if err != nil {
		r.ReloadState(ctx)
		return nil, s.failed(ctx, doing, err)
	}
	if slots != allSlots {
		r.ReloadState(ctx)
		return nil, fmt.Errorf("redis: %s: %s: masters have %d of %d slots: %w", doing, s.addr, slots, allSlots, driver.ErrUnavailable)
	}
	p.finish()
	return p, nil
}

// finish puts the parts in order and names the plan.
func (p *plan) finish() {
	slices.SortFunc(p.parts, func(a, b part) int { return a.first - b.first })
	hash := sha1.New()
	for _, one := range p.parts {
		fmt.Fprintln(hash, one.slots)
	}
	p.name = hex.EncodeToString(hash.Sum(nil)[:8])
}

// ownSlots reads from CLUSTER NODES what a master says of itself, and counts its
// slots. A replica has none.
func ownSlots(text string) (one part, n int) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 8 || !strings.Contains(words[2], "myself") || !strings.Contains(words[2], "master") {
			continue
		}
		var own []string
		for _, word := range words[8:] {
			if strings.HasPrefix(word, "[") {
				one.moving = one.moving || strings.Contains(word, "->-")
				continue
			}
			own = append(own, word)
			from, to, isRange := strings.Cut(word, "-")
			low, _ := strconv.Atoi(from)
			high := low
			if isRange {
				high, _ = strconv.Atoi(to)
			}
			if n += high - low + 1; len(own) == 1 {
				one.first = low
			}
		}
		one.slots = strings.Join(own, " ")
	}
	return one, n
}

// planTries is how often all parts are visited while slots are being moved.
const planTries = 3

// eachPart calls fn for all parts, again from the first if slots were moved meanwhile.
func (s *Store) eachPart(ctx context.Context, doing string, fn func(i int, p *part) error) error {
	for range planTries {
		before, err := s.plan(ctx, doing)
		if err != nil {
			return err
		}
		for i := range before.parts {
			if err := fn(i, &before.parts[i]); err != nil {
				return err
			}
		}
		if before.name == "" {
			return nil
		}
		after, err := s.plan(ctx, doing)
		if err != nil {
			return err
		}
		if before.name == after.name && !before.moving && !after.moving {
			return nil
		}
	}
	return s.moved(doing)
}

// moved is the error of what needs all keys while slots are being moved.
func (s *Store) moved(doing string) error {
	return fmt.Errorf("redis: %s: %s: slots are being moved between servers: try again when that has ended: %w", doing, s.addr, driver.ErrUnavailable)
}

// askPart sends commands to one server.
func (s *Store) askPart(ctx context.Context, doing string, client goredis.UniversalClient, cmds ...*goredis.RawCmd) error {
	pipe := client.Pipeline()
	for _, cmd := range cmds {
		if err := pipe.BatchProcess(ctx, cmd); err != nil {
			return s.failed(ctx, doing, err)
		}
	}
	driver.TallyOf(ctx).Add(1, len(cmds))
	if _, err := pipe.Exec(ctx); err != nil {
		return s.failed(ctx, doing, err)
	}
	for _, cmd := range cmds {
		r := replyOf(cmd)
		if err := r.refused(); err != nil {
			return s.failed(ctx, doing, err)
		}
	}
	return nil
}

// info asks one server for a section of INFO, "" for what it gives unasked.
func (s *Store) info(ctx context.Context, doing string, client goredis.UniversalClient, section string) (map[string]string, error) {
	words := []any{"info"}
	if section != "" {
		words = append(words, section)
	}
	cmd := goredis.NewRawCmd(ctx, words...)
	if err := s.askPart(ctx, doing, client, cmd); err != nil {
		return nil, err
	}
	r := replyOf(cmd)
	text, _ := r.text()
	return parseInfo(text), nil
}

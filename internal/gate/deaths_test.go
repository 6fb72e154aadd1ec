package gate_test

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// deaths lets records die with their rows: refused, done, sent again at once and
// when the record lives again.
func deaths(ctx context.Context, p *play) error {
	for cond := driver.Present; cond <= driver.AtRev; cond++ {
		k := p.post(p.author, fmt.Sprint("dies", cond))
		slug := fmt.Sprint("slug", cond)
		rev, err := p.do(ctx, p.inserted(k, slug, 1)...)
		if err != nil {
			return err
		}
		death := []driver.Op{
			{Do: driver.Put, Table: p.posts, Row: driver.Row{Key: k, Dead: true, Expires: 99}, If: cond},
			{Do: driver.Delete, Table: p.byAt, Row: driver.Row{Key: p.entry(p.author, 1, k.Sort)}},
			{Do: driver.Delete, Table: p.slug, Row: driver.Row{Key: p.claim(p.author, slug)}},
		}
		if cond == driver.AtRev {
			death[0].Rev = driver.NewToken()
			if err := p.refused(ctx, death); err != nil {
				return fmt.Errorf("another rev: %w", err)
			}
			death[0].Rev, death[0].Row.Ring = rev, []driver.Token{rev}
		}
		token, err := p.do(ctx, death...)
		if err != nil {
			return err
		}
		if err := p.diesAgain(ctx, k, token, death, p.inserted(k, slug, 2)); err != nil {
			return fmt.Errorf("if %s: %w", cond, err)
		}
	}
	return nil
}

// diesAgain sends a death again, before and after the record has come back to life,
// and a new one of a record that is dead.
func (p *play) diesAgain(ctx context.Context, k driver.Key, token driver.Token, death, birth []driver.Op) error {
	if err := p.commit(ctx, token, death...); err != nil {
		return fmt.Errorf("sent again: %w", err)
	}
	if err := p.refused(ctx, death); err != nil {
		return fmt.Errorf("dead: %w", err)
	}
	birth[0].If = driver.Any // a dead one is there
	if _, err := p.do(ctx, birth...); err != nil {
		return err
	}
	if err := p.commit(ctx, token, death...); err != nil {
		return fmt.Errorf("sent again to one that lives: %w", err)
	}
	for _, t := range []*driver.Table{p.posts, p.byAt, p.slug} {
		if err := p.sameRun(ctx, driver.Span{Table: t, Key: k}); err != nil {
			return err
		}
	}
	return nil
}

package mutate_test

import "slices"

// variants returns the broken ones: the steps of the portable protocol first (W, C, R, S
// and so on as in docs/design.md), then what keeps a commit together, then what Resolve
// and the catalog decide.
func variants() []variant {
	return slices.Concat(orderVariants(), conditionVariants(), judgeVariants(), timeVariants(), answerVariants(), catalogVariants())
}

// apart replaces the beginning of commitAll by one that puts rows, or claims, when the
// record is committed.
func apart(late string) []edit {
	return []edit{
		{
			"commit.go", "\tif err := c.putAll(ctx, k, b, writes); err != nil {\n\t\tc.dropOwn(b)\n",
			"\tall := b.puts\n\tb.puts = nil\n\tvar afterwards []looseOp\n\tfor _, p := range all {\n\t\tif p.x.Unique == " + late +
				" {\n\t\t\tafterwards = append(afterwards, p)\n\t\t} else {\n\t\t\tb.puts = append(b.puts, p)\n\t\t}\n\t}\n" +
				"\tif err := c.putAll(ctx, k, b, writes); err != nil {\n\t\tc.dropOwn(b)\n",
		},
		{
			"commit.go", "\tcase err == nil && refusal == nil:\n\t\tc.dropOld(b)\n",
			"\tcase err == nil && refusal == nil:\n\t\tb.puts = afterwards\n\t\t_ = c.putAll(ctx, k, b, writes)\n\t\tc.dropOld(b)\n",
		},
	}
}

// orderVariants are about what is done when.
func orderVariants() []variant {
	return []variant{
		{
			name:  "rows are written after the record",
			edits: apart("false"),
			proof: bySeeds(), want: `breaks P2 .*`,
		},
		{
			name:  "claims are made after the record",
			edits: apart("true"),
			proof: bySeeds(), want: `breaks P[14] .*`,
		},
		{
			name: "a record and its rows are two commits",
			edits: []edit{{
				"outcome.go", "\trefusal, err := c.store.commit(ctx, k, token, ops)\n",
				"\trefusal, err := c.store.commit(ctx, k, token, ops[:1])\n\tif err == nil && refusal == nil && len(ops) > 1 {\n" +
					"\t\trefusal, err = c.store.commit(ctx, k, driver.NewToken(), ops[1:])\n\t}\n",
			}},
			proof: bySeeds(), want: `breaks P[1-5] .*`,
		},
		{
			name: "old rows go before the record is committed",
			edits: []edit{
				{"commit.go", "\trefusal, err := c.send(ctx,", "\tc.dropOld(b)\n\trefusal, err := c.send(ctx,"},
				{"commit.go", "\tcase err == nil && refusal == nil:\n\t\tc.dropOld(b)\n", "\tcase err == nil && refusal == nil:\n"},
			},
			proof: bySeeds(), want: `breaks P[245] .*`,
		},
		{
			name: "rows are kept without a token",
			edits: []edit{
				{"loose.go", "driver.BytesValue(string(token[:]))", "driver.BytesValue(string(make([]byte, len(token))))"},
				{"loose.go", "\t\t\tcopy(token[:], vals[0].Str())\n", "\t\t\ttoken = row.Rev\n"},
			},
			proof: bySeeds(), want: `breaks P[25] .*`,
		},
		{
			name:  "claims are dropped whoever has them",
			edits: []edit{{"loose.go", "\tif x.Unique {\n\t\top.If, op.Rev = driver.AtRev, token\n\t}\n", ""}},
			proof: bySeeds(), want: `breaks P[45] .*`,
		},
	}
}

// conditionVariants are about what must hold of a row, and what an answer means.
func conditionVariants() []variant {
	return []variant{
		{
			name: "a claim is not looked at",
			edits: []edit{{
				"claim.go", "\t\tif err != nil || refusal == nil {\n",
				"\t\tif err != nil || refusal == nil || refusal != nil {\n",
			}},
			proof: byRule("unique/taken"), want: `rule unique/taken\n`,
		},
		{
			name: "a record is written whatever its Rev",
			edits: []edit{{
				"change.go", "= driver.AtRev, ch.old.rev, ch.old.ring, ch.old.hint\n",
				"= driver.AtRev, ch.old.rev, ch.old.ring, ch.old.hint\n\t\tif ch.old.live {\n\t\t\top.If = driver.Present\n\t\t}\n",
			}},
			proof: bySeeds(), want: `breaks (P1|client).*`,
		},
		{
			name:  "versions are not compared",
			edits: []edit{{"verb.go", "\t\tif !w.expect.IsZero() && w.expect != w.old.version {\n", "\t\tif w.expect != w.old.version && false {\n"}},
			proof: byRule("conditions/replace stale"), want: `rule conditions/replace stale\n`,
		},
		{
			name: "a write without an answer is taken for one that failed",
			edits: []edit{{
				"outcome.go", "\tif !errors.Is(err, ErrUnknownOutcome) {\n\t\treturn refusal, err\n\t}\n\to := c.outcomeOf(token, first)\n",
				"\tif errors.Is(err, ErrUnknownOutcome) {\n\t\terr = fmt.Errorf(\"no answer: %w\", ErrUnavailable)\n\t}\n" +
					"\tif err != nil || refusal != nil || k != nil {\n\t\treturn refusal, err\n\t}\n\to := c.outcomeOf(token, first)\n",
			}},
			proof: byRule("outcomes/answer lost"), want: `rule outcomes/answer lost\n`,
		},
		{
			name:  "a write without an answer takes its rows away",
			edits: []edit{{"commit.go", "\tcase !errors.Is(err, ErrUnknownOutcome):\n\t\tc.dropOwn(b)\n", "\tdefault:\n\t\tc.dropOwn(b)\n"}},
			proof: byRule("outcomes/unknown and found"), want: `rule outcomes/unknown and found\n`,
		},
	}
}

// judgeVariants are about what a row, a claim or a tombstone means.
func judgeVariants() []variant {
	return []variant{
		{
			name: "lookups trust the rows of an index",
			edits: []edit{
				{"match.go", "\t\tif !p.matches(rec.vals) {\n", "\t\tif p.x == nil && !p.matches(rec.vals) {\n"},
				{"match.go", "\t\t\thas, err = m.belongs(rows, i, &rec)\n", "\t\t\thas = true\n"},
			},
			proof: bySeeds(), want: `breaks P[34] .*`,
		},
		{
			name: "lookups trust claims",
			edits: []edit{
				{"match.go", "\t\tif !p.matches(rec.vals) {\n", "\t\tif p.claim.IsZero() && !p.matches(rec.vals) {\n"},
				{"owner.go", "\tif p.claim.IsZero() {\n", "\tif row != nil {\n"},
			},
			proof: bySeeds(), want: `breaks P4 .*`,
		},
		{
			name: "a sweeper does not fence",
			edits: []edit{{
				"garbage.go", "\t\tif _, err := c.fence(ctx, k, j.owner, j.base, j.since); err != nil {\n\t\t\treturn false, err\n\t\t}\n" +
					"\t\tif j, err = c.judge(ctx, k, x, s.row); err != nil {\n\t\t\treturn false, err\n\t\t}\n",
				"\t\tj.standing = dead\n",
			}},
			proof: byScenario("insert beside a sweep", 0, 3), want: `breaks P2 .*`,
		},
		{
			name:  "a pending claim is taken over without a fence",
			edits: []edit{{"claim.go", "\t_, err = c.fence(ctx, k, j.owner, j.base, j.since)\n\treturn err\n", "\tp.If, p.Rev = driver.AtRev, row.Rev\n\treturn nil\n"}},
			proof: bySeeds(), want: `breaks P4 .*`,
		},
		{
			name:  "the claim of an expired record is taken over",
			edits: []edit{{"claim.go", "\t\t_, err = c.reclaimRow(ctx, k, &j.row, j.since)\n\t\treturn err\n", "\t\tp.If, p.Rev = driver.AtRev, row.Rev\n\t\treturn nil\n"}},
			proof: byScenario("mail of one that expired, in vain", 0, 2), want: `breaks P4 .*`,
		},
		{
			name:  "what is pending is taken for dead",
			edits: []edit{{"judge.go", "\tcase j.row.Rev == j.base:\n\t\tj.standing = pending\n", ""}},
			proof: bySeeds(), want: `breaks P[24] .*`,
		},
		{
			name:  "all fences have one token",
			edits: []edit{{"judge.go", "\ttoken := driver.NewToken() // another one each time, or a late copy could bring it back\n", "\ttoken := driver.Token{1}\n"}},
			proof: bySeeds(), want: `breaks P[15] .*`,
		},
	}
}

// timeVariants are about how long what is old must stay, and by which clock.
func timeVariants() []variant {
	return []variant{
		{
			name:  "rows are dropped while a query may need them",
			edits: []edit{{"loose.go", "c.store.cleaner.add(b.drops[i].Op, !b.drops[i].x.Unique)", "c.store.cleaner.add(b.drops[i].Op, false)"}},
			proof: byRule("index tables/moved behind"), want: `rule index tables/moved behind\n`,
		},
		{
			name:  "a sweeper drops rows while a query may need them",
			edits: []edit{{"garbage.go", "\treturn row.Rev.IsZero() || c.age(row.Rev) > rowDelay+clockMargin\n", "\treturn row != nil\n"}},
			proof: byRule("index tables/moved behind"), want: `rule index tables/moved behind\n`,
		},
		{
			name:  "writes of any age are sent",
			edits: []edit{{"claim.go", "\tif age > c.maxAge() {\n", "\tif age > 1000*c.maxAge() {\n"}},
			proof: byScenario("insert as late as a tombstone lasts", 0, 3), want: `breaks P2 .*`,
		},
		{
			name:  "the clock is looked at after the answer",
			edits: []edit{{"expiry.go", "\tk.now = now\n", "\tk.now = now\n\tif now > 0 {\n\t\treturn nil\n\t}\n"}},
			proof: byScenario("get beside a renewal", 1, 3), want: `breaks P1 .*`,
		},
		{
			name:  "the clock is not looked at after the answer",
			edits: []edit{{"expiry.go", "\t\tif expires <= now {\n", "\t\tif expires < 0 {\n"}},
			proof: byScenario("get beside a late insert", 1, 3), want: `breaks P1 .*`,
		},
		{
			name:  "expiry is not looked at",
			edits: []edit{{"expiry.go", "return expires != 0 && expires <= k.now", "return expires < 0"}},
			proof: byRule("expiry/gone"), want: `rule expiry/gone\n`,
		},
	}
}

// answerVariants are about what Resolve says.
func answerVariants() []variant {
	return []variant{
		{
			name:  "Resolve says no without looking",
			edits: []edit{{"outcome.go", "\tif c.records.Ring == 0 {\n\t\treturn c.resolveNow(ctx, k, o)\n\t}\n", "\tif c.records.Ring > 0 {\n\t\treturn NotCommitted, nil\n\t}\n"}},
			proof: byRule("outcomes/resolve committed"), want: `rule outcomes/resolve committed\n`,
		},
		{
			name: "Resolve does not fence",
			edits: []edit{{
				"outcome.go", "\t\tif fenced, err = c.fence(ctx, k, o.key, row.Rev, since); err != nil {\n\t\t\treturn Unknown, err\n\t\t}\n",
				"\t\tif !since.IsZero() {\n\t\t\treturn NotCommitted, nil\n\t\t}\n",
			}},
			proof: byRule("outcomes/resolve not committed"), want: `rule outcomes/resolve not committed\n`,
		},
		{
			name:  "Resolve takes a delete for older that is younger by its clock",
			edits: []edit{{"outcome.go", "return o.token.Millis()-row.Ring[0].Millis() > clockMargin.Milliseconds()", "return o.token.Millis() > row.Ring[0].Millis()"}},
			proof: byRule("outcomes/resolve on a tombstone"), want: `rule outcomes/resolve on a tombstone\n`,
		},
		{
			name:  "Resolve does not fence a tombstone",
			edits: []edit{{"outcome.go", "return !c.loose && row.Dead && o.based && o.rev.IsZero()", "return c.loose && row.Dead && row.Rev.IsZero()"}},
			proof: byRule("outcomes/resolve on a tombstone"), want: `rule outcomes/resolve on a tombstone\n`,
		},
		{
			name:  "Resolve goes by the Rev alone",
			edits: []edit{{"outcome.go", "\t\tif t == o.token {\n", "\t\tif t == o.token && t == row.Rev {\n"}},
			proof: byRule("outcomes/resolve committed"), want: `rule outcomes/resolve committed\n`,
		},
		{
			name:  "patches do not read",
			edits: []edit{{"commit.go", "return c.isPlain(w) && (w.open || c.records.Ring == 0)", "return c.isPlain(w) && (w.open || w.asked != nil || c.records.Ring == 0)"}},
			proof: bySeeds(), want: `breaks P6 .* unknown, after .*`,
		},
		{
			name:  "a patch that read nothing is taken for one that found nothing",
			edits: []edit{{"outcome.go", "\tcase w.cond == driver.Absent:\n", "\tcase w.cond == driver.Absent, w.cond == driver.Present:\n"}},
			proof: bySeeds(), want: `breaks P[16] .*`,
		},
		{
			name:  "Resolve does not wait for replicas",
			edits: []edit{{"outcome.go", "\tif !c.store.facts.Waits {\n", "\tif row != nil {\n"}},
			proof: byRule("outcomes/not yet durable"), want: `rule outcomes/not yet durable\n`,
		},
	}
}

// catalogVariants are about which programs may write.
func catalogVariants() []variant {
	return []variant{
		{
			name:  "an index is kept in two ways at once",
			edits: []edit{{"catalog.go", "x.State == now.State && x.Mode == now.Mode && ", "x.State == now.State && "}},
			proof: byRule("catalog and schema/another way"), want: `rule catalog and schema/another way\n`,
		},
		{
			name: "writers go on with an old schema",
			edits: []edit{
				{"gate.go", "\tif c.shared.epoch != c.epoch {\n", "\tif c.shared.epoch == \"none\" {\n"},
				{"lease.go", "\tif c.drops != c.shared.drops.Load() {\n", "\tif c.drops < 0 {\n"},
			},
			proof: byRule("catalog and schema/lacking index"), want: `rule catalog and schema/lacking index\n`,
		},
		{
			name:  "nobody waits until other programs know that an index goes",
			edits: []edit{{"lease.go", "\tif s.facts.OneProcess {\n\t\treturn nil\n\t}\n\tt :=", "\tif s.facts.Name != \"\" {\n\t\treturn nil\n\t}\n\tt :="}},
			proof: byOthers("catalog and schema/index dropped"), want: `rule catalog and schema/index dropped by another program\n`,
		},
		{
			name: "nobody asks whether another program changed the schema",
			edits: []edit{
				{"lease.go", "!c.lease.isOver(leaseTime) {\n", "c.lease.isOver(0) {\n"},
				{"lease.go", "c.lease.isOver(leaseTime/2) {\n", "c.lease.isOver(1000*leaseTime) {\n"},
			},
			proof: byOthers("catalog and schema/index dropped"), want: `rule catalog and schema/index dropped by another program\n`,
		},
		{
			name:  "the store counts what another program lets expire",
			edits: []edit{{"count.go", "\treturn c.shared.expires.Load()\n", "\treturn c.expires\n"}},
			proof: byOthers("catalog and schema/expiry of another"), want: `rule catalog and schema/expiry of another program\n`,
		},
	}
}

package mutate_test

import "slices"

// variants returns the broken ones: the steps of the portable protocol first (W, C, R, S
// and so on as in docs/explanation/protocol.md), then what keeps a commit together, then what Resolve
// and the catalog decide.
func variants() []variant {
	return slices.Concat(orderVariants(), conditionVariants(), judgeVariants(), timeVariants(), answerVariants(), catalogVariants(), addingVariants(), fillingVariants(), droppingVariants())
}

// apart replaces the beginning of commitAll by one that puts rows, or claims, when the
// record is committed.
func apart(late string) []edit {
	return []edit{
		{
			"internal/commit/commit.go", "\tif w, err := putAll(ctx, k, b, writes); err != nil {\n\t\tc.DropOwn(b)\n",
			"\tall := b.Puts\n\tb.Puts = nil\n\tvar afterwards []change.RemoteOp\n\tfor _, p := range all {\n\t\tif p.X.Unique == " + late +
				" {\n\t\t\tafterwards = append(afterwards, p)\n\t\t} else {\n\t\t\tb.Puts = append(b.Puts, p)\n\t\t}\n\t}\n" +
				"\tif w, err := putAll(ctx, k, b, writes); err != nil {\n\t\tc.DropOwn(b)\n",
		},
		{
			"internal/commit/commit.go", "\tcase err == nil && refusal == nil:\n\t\tc.DropOld(b)\n", "\tcase err == nil && refusal == nil:\n\t\tb.Puts = afterwards\n\t\t_, _ = putAll(ctx, k, b, writes)\n\t\tc.DropOld(b)\n",
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
				"internal/commit/outcome.go", "\trefusal, err := c.Store.Commit(ctx, k, token, ops)\n", "\trefusal, err := c.Store.Commit(ctx, k, token, ops[:1])\n\tif err == nil && refusal == nil && len(ops) > 1 {\n\t\trefusal, err = c.Store.Commit(ctx, k, driver.NewToken(), ops[1:])\n\t}\n",
			}},
			proof: bySeeds(), want: `breaks P[1-5] .*`,
		},
		{
			name: "old rows go before the record is committed",
			edits: []edit{
				{"internal/commit/commit.go", "\trefusal, err := c.send(ctx,", "\tc.DropOld(b)\n\trefusal, err := c.send(ctx,"},
				{"internal/commit/commit.go", "\tcase err == nil && refusal == nil:\n\t\tc.DropOld(b)\n", "\tcase err == nil && refusal == nil:\n"},
			},
			proof: bySeeds(), want: `breaks P[245] .*`,
		},
		{
			name: "rows are kept without a token",
			edits: []edit{
				{"internal/layout/token.go", "driver.BytesValue(string(token[:]))", "driver.BytesValue(string(make([]byte, len(token))))"},
				{"internal/layout/token.go", "\t\t\tcopy(token[:], vals[0].Str())\n", "\t\t\ttoken = row.Rev\n"},
			},
			proof: bySeeds(), want: `breaks P[25] .*`,
		},
		{
			name:  "claims are dropped whoever has them",
			edits: []edit{{"internal/layout/token.go", "\tif x.Unique {\n\t\top.If, op.Rev = driver.AtRev, token\n\t}\n", ""}},
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
				"internal/commit/remote/claim.go", "\t\tif err != nil || refusal == nil {\n",
				"\t\tif err != nil || refusal == nil || refusal != nil {\n",
			}},
			proof: byRule("unique/taken"), want: `rule unique/taken\n`,
		},
		{
			name: "a record is written whatever its Rev",
			edits: []edit{{
				"internal/change/builder.go", "= driver.AtRev, ch.Old.Rev, ch.Old.Ring, ch.Old.Hint\n", "= driver.AtRev, ch.Old.Rev, ch.Old.Ring, ch.Old.Hint\n\t\tif ch.Old.Live {\n\t\t\top.If = driver.Present\n\t\t}\n",
			}},
			proof: bySeeds(), want: `breaks (P1|client).*`,
		},
		{
			name:  "a group does not look at what it checks",
			edits: []edit{{"internal/commit/group.go", "\t\tif w := &writes[i]; !w.changes() {\n", "\t\tif w := &writes[i]; w.isGone() {\n"}},
			proof: byScenario("a key is closed or taken", 0, 3), want: `breaks P1.* is closed, and there is a record`,
		},
		{
			name:  "a group claims as its first collection",
			edits: []edit{{"internal/commit/commit.go", "errs[i] = writes[p.Owner].By.Put(", "errs[i] = writes[b.Owner[0]].By.Put("}},
			proof: byScenario("a key is opened for the mail of another", 0, 3), want: `(breaks P4 .*|panic: .*)`,
		},
		{
			name: "a group asks what it checks for its outcome",
			edits: []edit{
				{"internal/commit/commit.go", "first.By.CommitAll(", "writes[0].By.CommitAll("},
				{"internal/commit/outcome.go", "b.Token, b.Ops, &writes[b.Owner[0]]\n", "b.Token, b.Ops, &writes[0]\n"},
			},
			proof: byScenario("a key is closed or taken", 1, 3), want: `breaks (P6|client) .*`,
		},
		{
			name:  "what has expired passes a check",
			edits: []edit{{"internal/commit/attempt.go", "return w.Absent || !c.MayExpire() && (w.Expect.IsZero() || c.Records.Ring == 0)", "return w.Absent || w.Expect.IsZero()"}},
			proof: byRule("groups/checks of expired"), want: `rule groups/checks of expired\n`,
		},
		{
			name:  "versions are not compared",
			edits: []edit{{"internal/commit/write.go", "\t\tif !w.Expect.IsZero() && w.Expect != w.Old.Version {\n", "\t\tif w.Expect != w.Old.Version && false {\n"}},
			proof: byRule("conditions/replace stale"), want: `rule conditions/replace stale\n`,
		},
		{
			name: "a write without an answer is taken for one that failed",
			edits: []edit{{
				"internal/commit/outcome.go", "\tif !errors.Is(err, driver.ErrUnknownOutcome) {\n\t\treturn refusal, err\n\t}\n\to := c.outcomeOf(token, first)\n", "\tif errors.Is(err, driver.ErrUnknownOutcome) {\n\t\terr = fmt.Errorf(\"no answer: %w\", driver.ErrUnavailable)\n\t}\n\tif err != nil || refusal != nil || k != nil {\n\t\treturn refusal, err\n\t}\n\to := c.outcomeOf(token, first)\n",
			}},
			proof: byRule("outcomes/answer lost"), want: `rule outcomes/answer lost\n`,
		},
		{
			name:  "a write without an answer takes its rows away",
			edits: []edit{{"internal/commit/commit.go", "\tcase !errors.Is(err, driver.ErrUnknownOutcome):\n\t\tc.DropOwn(b)\n", "\tdefault:\n\t\tc.DropOwn(b)\n"}},
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
				{"internal/scan/match.go", "\t\tif !p.Matches(rec.Vals) {\n", "\t\tif p.X == nil && !p.Matches(rec.Vals) {\n"},
				{"internal/scan/match.go", "\t\t\thas, err = m.belongs(rows, i, &rec)\n", "\t\t\thas = true\n"},
			},
			proof: bySeeds(), want: `breaks P[34] .*`,
		},
		{
			name: "lookups trust claims",
			edits: []edit{
				{"internal/scan/match.go", "\t\tif !p.Matches(rec.Vals) {\n", "\t\tif p.Claim.IsZero() && !p.Matches(rec.Vals) {\n"},
				{"internal/scan/owner.go", "\tif p.Claim.IsZero() {\n", "\tif row != nil {\n"},
			},
			proof: bySeeds(), want: `breaks P4 .*`,
		},
		{
			name: "a sweeper does not fence",
			edits: []edit{{
				"internal/upkeep/remote.go", "\t\tif _, err := c.Fence(ctx, k, j.Owner, j.Base, j.Since); err != nil {\n\t\t\treturn false, err\n\t\t}\n\t\tif j, err = c.Judge(ctx, k, x, s.row); err != nil {\n\t\t\treturn false, err\n\t\t}\n", "\t\tj.Standing = remote.Dead\n",
			}},
			proof: byScenario("insert beside a sweep", 0, 3), want: `breaks P2 .*`,
		},
		{
			name:  "a pending claim is taken over without a fence",
			edits: []edit{{"internal/commit/remote/claim.go", "\t_, err = c.Fence(ctx, k, j.Owner, j.Base, j.Since)\n\treturn err\n", "\tp.If, p.Rev = driver.AtRev, row.Rev\n\treturn nil\n"}},
			proof: bySeeds(), want: `breaks P4 .*`,
		},
		{
			name:  "the claim of an expired record is taken over",
			edits: []edit{{"internal/commit/remote/claim.go", "\t\t_, err = c.Expire(ctx, k, &j.Row, j.Since)\n\t\treturn err\n", "\t\tp.If, p.Rev = driver.AtRev, row.Rev\n\t\treturn nil\n"}},
			proof: byScenario("mail of one that expired, in vain", 0, 2), want: `breaks P4 .*`,
		},
		{
			name:  "what is pending is taken for dead",
			edits: []edit{{"internal/commit/remote/judge.go", "\tcase j.Row.Rev == j.Base:\n\t\tj.Standing = Pending\n", ""}},
			proof: bySeeds(), want: `breaks P[24] .*`,
		},
		{
			name:  "all fences have one token",
			edits: []edit{{"internal/commit/remote/judge.go", "\ttoken := driver.NewToken() // another one each time, or a late copy could bring it back\n", "\ttoken := driver.Token{1}\n"}},
			proof: bySeeds(), want: `breaks P[15] .*`,
		},
	}
}

// timeVariants are about how long what is old must stay, and by which clock.
func timeVariants() []variant {
	return []variant{
		{
			name:  "rows are dropped while a query may need them",
			edits: []edit{{"internal/commit/remote/put.go", "c.Cleaner.add(b.Drops[i].Op, !b.Drops[i].X.Unique)", "c.Cleaner.add(b.Drops[i].Op, false)"}},
			proof: byRule("index tables/moved behind"), want: `rule index tables/moved behind\n`,
		},
		{
			name:  "a sweeper drops rows while a query may need them",
			edits: []edit{{"internal/upkeep/remote.go", "\treturn row.Rev.IsZero() || c.Age(row.Rev) > remote.RowDelay+limit.ClockMargin\n", "\treturn row != nil\n"}},
			proof: byRule("index tables/moved behind"), want: `rule index tables/moved behind\n`,
		},
		{
			name:  "writes of any age are sent",
			edits: []edit{{"internal/commit/remote/age.go", "\tif age > c.maxAge() {\n", "\tif age > 1000*c.maxAge() {\n"}},
			proof: byScenario("insert as late as a tombstone lasts", 0, 3), want: `breaks P2 .*`,
		},
		{
			name:  "the clock is looked at after the answer",
			edits: []edit{{"internal/store/expiry.go", "\tk.Now = now\n", "\tk.Now = now\n\tif now > 0 {\n\t\treturn nil\n\t}\n"}},
			proof: byScenario("get beside a renewal", 1, 3), want: `breaks P1 .*`,
		},
		{
			name:  "the clock is not looked at after the answer",
			edits: []edit{{"internal/store/expiry.go", "\t\tif expires <= now {\n", "\t\tif expires < 0 {\n"}},
			proof: byScenario("get beside a late insert", 1, 3), want: `breaks P1 .*`,
		},
		{
			name:  "expiry is not looked at",
			edits: []edit{{"internal/store/expiry.go", "return expires != 0 && expires <= k.Now", "return expires < 0"}},
			proof: byRule("expiry/gone"), want: `rule expiry/gone\n`,
		},
	}
}

// answerVariants are about what Resolve says.
func answerVariants() []variant {
	return []variant{
		{
			name:  "Resolve says no without looking",
			edits: []edit{{"internal/commit/outcome.go", "\tif c.Records.Ring == 0 {\n\t\treturn c.resolveNow(ctx, k, o)\n\t}\n", "\tif c.Records.Ring > 0 {\n\t\treturn NotCommitted, nil\n\t}\n"}},
			proof: byRule("outcomes/resolve committed"), want: `rule outcomes/resolve committed\n`,
		},
		{
			name: "Resolve does not fence",
			edits: []edit{{
				"internal/commit/outcome.go", "\t\tif fenced, err = c.Fence(ctx, k, o.Key, row.Rev, since); err != nil {\n\t\t\treturn Unsettled, err\n\t\t}\n",
				"\t\tif !since.IsZero() {\n\t\t\treturn NotCommitted, nil\n\t\t}\n",
			}},
			proof: byRule("outcomes/resolve not committed"), want: `rule outcomes/resolve not committed\n`,
		},
		{
			name:  "Resolve takes a delete for older that is younger by its clock",
			edits: []edit{{"internal/commit/outcome.go", "return o.Token.Millis()-row.Ring[0].Millis() > limit.ClockMargin.Milliseconds()", "return o.Token.Millis() > row.Ring[0].Millis()"}},
			proof: byRule("outcomes/resolve on a tombstone"), want: `rule outcomes/resolve on a tombstone\n`,
		},
		{
			name:  "Resolve does not fence a tombstone",
			edits: []edit{{"internal/commit/outcome.go", "return !c.HasRemote && row.Dead && o.based && o.rev.IsZero()", "return c.HasRemote && row.Dead && row.Rev.IsZero()"}},
			proof: byRule("outcomes/resolve on a tombstone"), want: `rule outcomes/resolve on a tombstone\n`,
		},
		{
			name:  "Resolve goes by the Rev alone",
			edits: []edit{{"internal/commit/outcome.go", "\t\tif t == o.Token {\n", "\t\tif t == o.Token && t == row.Rev {\n"}},
			proof: byRule("outcomes/resolve committed"), want: `rule outcomes/resolve committed\n`,
		},
		{
			name:  "patches do not read",
			edits: []edit{{"internal/commit/attempt.go", "return c.isPlain(w) && (w.Open || c.Records.Ring == 0)", "return c.isPlain(w) && (w.Open || w.asked != nil || c.Records.Ring == 0)"}},
			proof: bySeeds(), want: `breaks P6 .* unknown, after .*`,
		},
		{
			name:  "a patch that read nothing is taken for one that found nothing",
			edits: []edit{{"internal/commit/outcome.go", "\tcase w.Cond == driver.Absent:\n", "\tcase w.Cond == driver.Absent, w.Cond == driver.Present:\n"}},
			proof: bySeeds(), want: `breaks P[16] .*`,
		},
		{
			name:  "Resolve does not wait for replicas",
			edits: []edit{{"internal/commit/outcome.go", "\tif !c.Store.Facts.Waits {\n", "\tif row != nil {\n"}},
			proof: byRule("outcomes/not yet durable"), want: `rule outcomes/not yet durable\n`,
		},
	}
}

// catalogVariants are about which programs may write.
func catalogVariants() []variant {
	return []variant{
		{
			name:  "an index is kept in two ways at once",
			edits: []edit{{"internal/catalog/index.go", "return x.Mode == now.Mode && ", "return "}},
			proof: byRule("catalog and schema/another way"), want: `rule catalog and schema/another way\n`,
		},
		{
			name: "writers go on with an old schema",
			edits: []edit{
				{"internal/catalog/lease.go", "last != nil && last.epoch != c.Epoch()\n", "last != nil && last.epoch == \"none\"\n"},
				{"internal/catalog/lease.go", "\tif c.drops != c.Shared.Drops.Load() {\n", "\tif c.drops < 0 {\n"},
			},
			proof: byRule("catalog and schema/lacking index"), want: `rule catalog and schema/lacking index\n`,
		},
		{
			name:  "nobody waits until other programs know that an index goes",
			edits: []edit{{"internal/catalog/lease.go", "time.Until(since.Add(over))", "time.Until(since)"}},
			proof: byOthers("catalog and schema/index dropped"), want: `rule catalog and schema/index dropped by another program\n`,
		},
		{
			name: "nobody asks whether another program changed the schema",
			edits: []edit{
				{"internal/catalog/lease.go", "OneProcess && c.Lease.isOver(leaseTime)\n", "OneProcess && c.Lease.isOver(1000*leaseTime)\n"},
				{"internal/catalog/lease.go", "c.Lease.isOver(leaseTime/2) {\n", "c.Lease.isOver(1000*leaseTime) {\n"},
			},
			proof: byOthers("catalog and schema/index dropped"), want: `rule catalog and schema/index dropped by another program\n`,
		},
		{
			name:  "the store counts what another program lets expire",
			edits: []edit{{"internal/catalog/collection.go", "\treturn c.Shared.expires.Load()\n", "\treturn c.Expires\n"}},
			proof: byOthers("catalog and schema/expiry of another"), want: `rule catalog and schema/expiry of another program\n`,
		},
	}
}

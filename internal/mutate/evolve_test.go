package mutate_test

// The variants of how an index is added, filled and dropped while programs write.

// wrongRows is what the scenarios say of an index that does not agree with the records.
const wrongRows = `(missing|false) row.*|verify: missing .*`

// addingVariants are about which rows a program keeps in step, and as of when.
func addingVariants() []variant {
	return []variant{
		{
			name:  "a program is blind to indexes that it does not declare",
			edits: []edit{{"internal/catalog/others.go", "case !there, other && old.Mode == modeNative:", "case !there, other:"}},
			proof: byLive("life, with the records"), want: wrongRows,
		},
		{
			name:  "a program is blind to the fields that an index of another one needs",
			edits: []edit{{"internal/layout/collection.go", "\t\tif c.hidden[at] {\n", "\t\tif c.hidden[at] && old == nil {\n"}},
			proof: byLive("life, with the records"), want: `a field is lost.*`,
		},
		{
			name:  "rows are added while the index is declared",
			edits: []edit{{"internal/change/builder.go", "\tremoves := x.Stage == layout.Declared\n", "\tremoves := x.Stage == layout.Declared && ch == nil\n"}},
			proof: byLive("life, with the records"), want: wrongRows,
		},
		{
			name:  "rows stay while the index is declared",
			edits: []edit{{"internal/change/builder.go", "\tremoves := x.Stage == layout.Declared\n", "\tremoves := x.Stage == layout.Declared\n\tif removes {\n\t\treturn nil\n\t}\n"}},
			proof: byLive("life, with the records"), want: wrongRows,
		},
		{
			name:  "an index is written at once",
			edits: []edit{{"internal/upkeep/fill.go", "\t\tif err := c.Shared.OutlastViews(", "\t\tif x.State == catalog.IndexDeclared {\n\t\t\tbegan = time.Time{}\n\t\t}\n\t\tif err := c.Shared.OutlastViews("}},
			proof: byLive("life, with the records"), want: `the index is "written" after a minute, and not "declared"`,
		},
		{
			name:  "a record that has expired is taken to have its claims",
			edits: []edit{{"internal/change/unsettled.go", "\tif !ch.isOfExpired() {\n", "\tif !ch.isOfExpired() || ch.Known {\n"}},
			proof: byLive("expired records, unique"), want: wrongRows,
		},
		{
			name:  "a record that has expired is taken to have its rows",
			edits: []edit{{"internal/change/builder.go", "\twhole := hasOld && ch.Next != nil && !ch.isOfExpired()", "\twhole := hasOld && ch.Next != nil"}},
			proof: byLive("expired records, in the partition"), want: wrongRows,
		},
		{
			name:  "an index is ready without being written",
			edits: []edit{{"internal/upkeep/fill.go", "c.advance(ctx, k, x, catalog.IndexWritten)", "c.advance(ctx, k, x, catalog.IndexReady)"}},
			proof: byLive("life, with the records"), want: wrongRows,
		},
		{
			name: "a writer does not look at its lease",
			edits: []edit{
				{"internal/catalog/collection.go", "\tif err := c.MayWrite(ctx); err != nil {\n", "\tif err := c.Gone(); err != nil {\n"},
				{"internal/catalog/collection.go", "\terr := c.ended()\n", "\terr := c.Gone()\n"},
			},
			proof: byLive("life, with the records"), want: wrongRows,
		},
	}
}

// fillingVariants are about who fills an index, and when.
func fillingVariants() []variant {
	return []variant{
		{
			name:  "an index is filled while some do not write it",
			edits: []edit{{"internal/upkeep/fill.go", "\t\tif err := c.Shared.OutlastViews(", "\t\tif x.State == catalog.IndexWritten {\n\t\t\tbegan = time.Time{}\n\t\t}\n\t\tif err := c.Shared.OutlastViews("}},
			proof: byLive("life, with the records"), want: wrongRows,
		},
		{
			name:  "a filler does not fence",
			edits: []edit{{"internal/upkeep/fill.go", "\tcase c.Store.Facts.OneProcess && !x.All:", "\tcase !x.All:"}},
			proof: byLive("life, with the records"), want: wrongRows,
		},
		{
			name: "a filler goes on with a view that is over",
			edits: []edit{
				{"internal/upkeep/fill.go", "\tif err := c.Enter(ctx, k); err != nil {", "\tif err := c.Gone(); err != nil {"},
				{"internal/upkeep/fill.go", "\tdefer c.Leave(k)\n\treturn", "\treturn"},
			},
			proof: byLive("filler of before at send, covering"), want: wrongRows,
		},
		{
			name:  "a filler writes records anew by a view that is over",
			edits: []edit{{"internal/upkeep/repair.go", "\t\tif err := c.MayWrite(ctx); err != nil {", "\t\tif err := c.Gone(); err != nil {"}},
			proof: byLive("filler of before at send, elsewhere"), want: wrongRows,
		},
		{
			name: "a filler does not look whether it was overtaken",
			edits: []edit{{
				"internal/upkeep/fill.go", "o == nil || o.Name != x.Name || o.Turn != x.Turn || o.State != x.State || o.By != x.By && o.By != me {", "o == nil {",
			}},
			proof: byLive("two fillers at a note, with the records"), want: wrongRows,
		},
		{
			name:  "a filler takes back the index that has come again",
			edits: []edit{{"internal/upkeep/drop.go", "return why != nil && x.Turn != c.turn", "return why != nil && x == nil"}},
			proof: byLive("the index is taken back late"), want: `index x, which answered .*, is being removed.*`,
		},
		{
			name:  "a filler waits for a view of before",
			edits: []edit{{"internal/upkeep/fill.go", "\t\treturn nil, nil, store.SleepUntil(ctx, time.Now().Add(50*time.Millisecond))\n", "\t\tif err := store.SleepUntil(ctx, time.Now().Add(50*time.Millisecond)); err != nil {\n\t\t\treturn nil, nil, err\n\t\t}\n\t\treturn viewOf(ctx, x, now)\n"}},
			proof: byLive("filler overtaken before it begins"), want: `another index: .*context deadline exceeded`,
		},
		{
			name:  "an upkeep does not look for what came late",
			edits: []edit{{"internal/upkeep/late.go", "if x.Since == 0 ||", "if x.Since >= 0 ||"}},
			proof: byLive("late, with the records"), want: `after an upkeep: verify: missing .*`,
		},
		{
			name:  "a row that stands for its record is put by a token that the store knows",
			edits: []edit{{"internal/upkeep/rows.go", "\tcase x.All && c.Records.Ring > 0:\n", "\tcase x.All && c.Records.Ring < 0:\n"}},
			proof: byLive("late, covering"), want: `after an upkeep: verify: missing .*`,
		},
	}
}

// droppingVariants are about an index that goes, and comes again.
func droppingVariants() []variant {
	return []variant{
		{
			name:  "an index that comes again is taken for the former one",
			edits: []edit{{"internal/catalog/entry.go", "\t\tif x.Other || i < 0 || e.Indexes[i].State == IndexGone {\n", "\t\tif x.Other || i < 0 || e.Indexes[i].Turn > 0 {\n"}},
			proof: byLive("another index of the name"), want: wrongRows,
		},
		{
			name:  "an index is gone at once",
			edits: []edit{{"internal/upkeep/drop.go", "\t\t\tx.To(catalog.IndexLeaving)\n", "\t\t\tx.To(catalog.IndexGone)\n"}},
			proof: byLive("life, with the records"), want: wrongRows,
		},
		{
			name:  "an index is gone while some still ask it",
			edits: []edit{{"internal/upkeep/drop.go", "\t\tif err = c.shared.OutlastViews(ctx, c.store, time.Now()); err == nil {\n", "\t\tif err = c.shared.OutlastViews(ctx, c.store, time.Time{}); err == nil {\n"}},
			proof: byLive("life, with the records"), want: wrongRows,
		},
		{
			name:  "a reader does not look at its view when it has read",
			edits: []edit{{"internal/catalog/lease.go", "\tif x == nil || now == c ||", "\tif x == nil || now == c || c != nil ||"}},
			proof: byLive("life, with the records"), want: `find.* finds \d of \d records`,
		},
		{
			name:  "an index that comes again has the table that it had",
			edits: []edit{{"internal/catalog/refusal.go", "e.Turns[name] = x.Turn + 1", "e.Turns[name] = x.Turn"}},
			proof: byLive("life, with the records"), want: wrongRows,
		},
	}
}

func byLive(name string) proof { return proof{"live", "-scenario=" + name} }

package main

import "fmt"

var roleText = [...]string{
	inserter: "insert", updater: "update", putter: "put", deleter: "delete", reaper: "reaper of", indexer: "index builder of",
	rowSweeper: "sweeper of rows", claimSweeper: "sweeper of claims", resolver: "resolver", mender: "mender of",
	patcher: "patch", finder: "lookup of", scanner: "scan from", uniqueFinder: "lookup of U",
}

// title names an actor as stories do: its number, and what it is there for.
func (a Actor) title(i int) string {
	text := fmt.Sprintf("%c: %s", 'P'+i, roleText[a.role])
	switch a.role {
	case finder, scanner:
		text += " " + valueText(a.value)
	case inserter, updater, putter:
		text += fmt.Sprintf(" r%d %s", a.id, valuesText(a.value, a.unique))
	case deleter, patcher, reaper, indexer, mender:
		text += fmt.Sprintf(" r%d", a.id)
	}
	return text
}

func valueText(v uint8) string { return [...]string{"-", "A", "B", "C"}[v] }

func valuesText(value, unique uint8) string {
	text := "(" + valueText(value)
	if unique != 0 {
		text += ", U"
	}
	return text + ")"
}

func tokenText(t uint8) string {
	if t == 0 {
		return "none"
	}
	return fmt.Sprintf("t%d", t)
}

// text says what is called, in the words of the protocol.
func (g Message) text() string {
	record := fmt.Sprintf("r%d", g.id)
	row := valueText(g.value) + " " + record + " " + tokenText(g.tok)
	guard := " if Rev is " + tokenText(g.when)
	switch g.verb {
	case doCommit:
		if g.next.status != live {
			return "commit: delete " + record + " as " + tokenText(g.tok) + guard
		}
		return "commit: " + record + " is " + valuesText(g.next.value, g.next.unique) + " as " + tokenText(g.tok) + guard
	case doPatch:
		return "patch " + record + " as " + tokenText(g.tok) + " if it is there"
	case doFence:
		return "fence " + record + " with " + tokenText(g.tok) + guard
	case doBury:
		return "delete the expired " + record + " as " + tokenText(g.tok) + guard
	case doReindex:
		return "give " + record + " its entry " + tokenText(g.tok) + guard
	case doPutRow:
		return "put row " + row + ", base " + tokenText(g.base)
	case doDropRow:
		if g.on == fading {
			return "put row " + row + " again with a TTL"
		}
		return "drop row " + row
	case doPutClaim:
		return "put claim U " + record + " " + tokenText(g.tok) + ", base " + tokenText(g.base) + " if its token is " + tokenText(g.when)
	case doDropClaim:
		return "drop claim U if its token is " + tokenText(g.when)
	}
	return ""
}

// tell writes a run as a story: a line a step, with who does what, and what comes
// of it.
func (sc *Scenario) tell(run []Event) []string {
	lines := make([]string, 0, len(run))
	for k, e := range run {
		who := "the world"
		switch {
		case e.who != world:
			who = sc.actors[e.who].title(e.who)
		case e.message.verb != doNothing && e.what == "LATE":
			who = "late, of " + sc.actors[e.message.by].title(int(e.message.by))
		}
		lines = append(lines, fmt.Sprintf("%3d  %-30s %-64s %s", k+1, who, e.text(), e.outcome))
	}
	return lines
}

// text says what is done in one step.
func (e Event) text() string {
	if e.what == "" || e.what == "LATE" {
		return e.message.text()
	}
	switch {
	case e.message.tok != 0:
		return fmt.Sprintf("%s: %s r%d %s", e.what, valueText(e.message.value), e.message.id, tokenText(e.message.tok))
	case e.message.value != 0 && e.id == 0 && e.outcome == "done":
		return e.what + " of " + valueText(e.message.value)
	case e.what == "reads the claim":
		return e.what
	}
	return fmt.Sprintf("%s r%d", e.what, e.id)
}

package oracle

import "github.com/polystore/polystore/loadtest/internal/limit"

// settle forgets what no read finds that begins after a time; and records, where these are too many: those that nothing
// wrote since the last time, and all if there are too many of the others. The data have a number of records.
func (w *written) settle(now int64, records int) {
	for _, rec := range w.records {
		for _, r := range rec.fields {
			r.settle(now)
		}
	}
	w.ended(now)
	for _, keep := range []bool{true, false} {
		if len(w.records) <= limit.CheckedWritten {
			break
		}
		for h, rec := range w.records {
			if !keep || !rec.touched {
				w.forget(rec.number, records)
				delete(w.records, h)
			}
		}
	}
	for _, rec := range w.touched {
		rec.touched = false
	}
	w.touched = nil
}

// forget notes that nothing is known of a record any more.
func (w *written) forget(number int32, records int) {
	if number < 0 {
		w.others = true
		return
	}
	if w.forgotten == nil {
		w.forgotten = make([]bool, records)
	}
	w.forgotten[number] = true
}

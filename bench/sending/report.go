package main

import (
	"fmt"
	"io"
	"time"
)

// print prints all figures, and the processor time of each by that of the client alone, the less of its two.
func print(w io.Writer, list []figure) error {
	least := min(list[0].cpu, list[len(list)-2].cpu)
	text := "| | a second | processor time of an operation | by the client's | clock lag p99 | processors used, the server's too | |\n|---|---|---|---|---|---|---|\n"
	for _, f := range list {
		lag, busy := "", ""
		if f.lag >= 0 {
			lag, busy = f.lag.Round(time.Microsecond).String(), fmt.Sprintf("%.0f %%", 100*f.busy)
		}
		text += fmt.Sprintf("| %s | %.0f | %s | %.2f | %s | %s | %s |\n", f.name, f.rate, f.cpu.Round(100*time.Nanosecond), float64(f.cpu)/float64(least), lag, busy, f.state)
	}
	_, err := io.WriteString(w, text)
	return err
}

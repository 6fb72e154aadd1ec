package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteText writes the text report with the name of the file that has the result, and the command that
// repeats the run.
func (r *Result) WriteText(w io.Writer, file string) error {
	_, err := fmt.Fprintf(w, "%s\n  result  %s\n  again   %s\n", r.Text, printable(file), printable(r.Again))
	return err
}

// WriteJSON writes the result.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Save writes the result into a new folder NAME-SEED below dir and returns the
// file. A folder that is there already keeps its name; the new one gets a number.
func (r *Result) Save(dir string) (string, error) {
	base := filepath.Join(dir, fmt.Sprintf("%s-%d", r.Workload, r.Seed))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("save result: %w", err)
	}
	folder := base
	for i := 2; ; i++ {
		err := os.Mkdir(folder, 0o755)
		if err == nil {
			break
		}
		if !os.IsExist(err) {
			return "", fmt.Errorf("save result: %w", err)
		}
		folder = fmt.Sprintf("%s.%d", base, i)
	}
	file := filepath.Join(folder, "result.json")
	return file, writeWhole(file, r.WriteJSON)
}

// writeWhole writes a file that is complete or not there.
func writeWhole(file string, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".result-")
	if err != nil {
		return fmt.Errorf("save result: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when all went well
	if err := errors.Join(write(tmp), tmp.Close()); err != nil {
		return fmt.Errorf("save result: %w", err)
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return fmt.Errorf("save result: %w", err)
	}
	return os.Chmod(file, 0o644)
}

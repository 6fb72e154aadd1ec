package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Files are those that a result was written to; the text names them.
type Files struct {
	Result string
	Page   string // "" is none
}

// WriteText writes the first screen of the result, or all of its text, with the names of its files and
// the command that repeats the run.
func (r *Result) WriteText(w io.Writer, f Files, all bool) error {
	var l lines
	l.empty()
	if !all {
		l = append(l, "  all     polystore report --all "+f.Result)
	}
	if f.Page != "" {
		l = append(l, "  page    "+f.Page)
	}
	l = append(l, "  result  "+f.Result, "  again   "+r.Again)
	text := r.Text
	if !all {
		text = r.Sheet().Screen(len(l))
	}
	_, err := io.WriteString(w, text+printable(l.String()))
	return err
}

// WriteJSON writes the result.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Save writes the result into a new folder NAME-SEED below dir, of a share NAME-SEED-share-2-of-3, and returns the
// file. A folder that is there already keeps its name; the new one gets a number.
func (r *Result) Save(dir string) (string, error) {
	base := filepath.Join(dir, fmt.Sprintf("%s-%d", r.Workload, r.Seed))
	if r.Share != nil {
		base += fmt.Sprintf("-share-%d-of-%d", r.Share.Number, r.Share.Of)
	}
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
	return file, WriteWhole(file, r.WriteJSON)
}

// WriteWhole writes a file that is complete or not there.
func WriteWhole(file string, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".result-")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when all went well
	if err := errors.Join(write(tmp), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.Chmod(file, 0o644)
}

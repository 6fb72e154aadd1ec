package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the result as Markdown: the verdict, why it can be believed, and the tables.
func (r *Result) WriteMarkdown(w io.Writer) error {
	s := r.Sheet()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s; %s\n", plainMark(s.Title), plainMark(s.About), plainMark(s.Pace))
	for _, v := range s.Verdicts {
		fmt.Fprintf(&b, "\n**%s**\n", plainMark(v.Text))
		for _, text := range v.Others {
			fmt.Fprintf(&b, "\n%s\n", plainMark(text))
		}
	}
	if s.Across != "" {
		fmt.Fprintf(&b, "\n%s\n", plainMark(s.Across))
	}
	b.WriteString("\n")
	for _, text := range s.Stores {
		fmt.Fprintf(&b, "- on %s\n", plainMark(text))
	}
	for _, list := range [][]Item{s.Checks, s.Findings, s.Caveats} {
		for _, x := range list {
			fmt.Fprintf(&b, "- %s: %s\n", plainMark(x.Name), plainMark(x.Text))
		}
	}
	for _, t := range append([]Table{s.Mix, s.Faults}, s.Queries...) {
		t.markdown(&b)
	}
	fmt.Fprintf(&b, "\n%s\n\nagain: `%s`\n", plainMark(s.Limits), strings.ReplaceAll(printable(r.Again), "`", "'"))
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Table) markdown(b *strings.Builder) {
	if len(t.Head) == 0 {
		return
	}
	b.WriteString("\n")
	row := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("| " + plainMark(cell) + " ")
		}
		b.WriteString("|\n")
	}
	row(t.Head)
	b.WriteString("|---|" + strings.Repeat("--:|", len(t.Head)-2) + "---|\n")
	for _, cells := range t.Rows {
		row(cells)
	}
	if t.Note != "" {
		fmt.Fprintf(b, "\n%s\n", plainMark(t.Note))
	}
}

// plainMark returns text in which nothing is a mark of Markdown, nor of HTML in it, on one line.
func plainMark(text string) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	return markdownMarks.Replace(text)
}

var markdownMarks = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "#", `\#`, "!", `\!`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "~", `\~`)

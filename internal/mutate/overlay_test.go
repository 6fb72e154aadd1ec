package mutate_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An edit replaces a text of a file of package repo, or of a package below it: repo/internal/….
type edit struct{ file, old, new string }

// apply replaces the text, which must be there once.
func (e edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.old); n != 1 {
		return "", fmt.Errorf("%s has a text %d times that it should have once: %q", e.file, n, e.old)
	}
	return strings.Replace(text, e.old, e.new, 1), nil
}

// A source is a file, and the parts of it that are functions.
type source struct {
	text  string
	funcs map[string]function // by receiver and name
	rest  string              // what is not in functions
}

// A function is where one stands in a file: from the word func to the end, the name, and
// the end of the brace that opens the body.
type function struct {
	from, to           int
	nameFrom, nameTo   int
	body               int
	receiver, argument string // as they are passed on
	returns            bool
}

func (s *source) of(f function) string { return s.text[f.from:f.to] }

// parse cuts a file into functions and the rest.
func parse(name, text string) (*source, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &source{text: text, funcs: map[string]function{}}
	at, rest := 0, ""
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.FuncDecl)
		if !ok || d.Body == nil {
			continue
		}
		f := function{from: offset(d.Pos()), to: offset(d.End()), nameFrom: offset(d.Name.Pos()), nameTo: offset(d.Name.End()),
			body: offset(d.Body.Lbrace) + 1, argument: namesOf(d.Type.Params), returns: d.Type.Results != nil}
		key := d.Name.Name
		if d.Recv != nil {
			f.receiver = namesOf(d.Recv) + "."
			key = text[offset(d.Recv.Pos()):offset(d.Recv.End())] + key
		}
		s.funcs[key] = f
		rest, at = rest+text[at:f.from], f.to
	}
	s.rest = rest + text[at:]
	return s, nil
}

// namesOf returns the names of parameters, as they are passed on. One that has none does
// not compile there.
func namesOf(list *ast.FieldList) string {
	var names []string
	for _, field := range list.List {
		dots := ""
		if _, ok := field.Type.(*ast.Ellipsis); ok {
			dots = "..."
		}
		for _, name := range field.Names {
			names = append(names, name.Name+dots)
		}
	}
	return strings.Join(names, ", ")
}

// A blend is a file with the functions of variants beside its own.
type blend struct {
	file   string
	own    *source
	others strings.Builder
	chosen map[string][]int // by function: the variants that have another one
}

// add adds the functions that a variant has instead of those of the file.
func (b *blend) add(number int, text string) error {
	s, err := parse(b.file, text)
	if err != nil {
		return err
	}
	if s.rest != b.own.rest {
		return fmt.Errorf("%s: a variant changes what is not in a function", b.file)
	}
	for _, key := range slices.Sorted(maps.Keys(b.own.funcs)) {
		f, ok := s.funcs[key]
		if !ok {
			return fmt.Errorf("%s: a variant lacks the function %s", b.file, key)
		}
		if s.of(f) == b.own.of(b.own.funcs[key]) {
			continue
		}
		fmt.Fprintf(&b.others, "\n%s%s\n", text[f.from:f.nameFrom], variantName(text[f.nameFrom:f.nameTo], number)+text[f.nameTo:f.to])
		b.chosen[key] = append(b.chosen[key], number)
	}
	return nil
}

func variantName(name string, number int) string { return fmt.Sprintf("%sVariant%d", name, number) }

// text returns the file, whose functions go on to those of the variant that is chosen.
func (b *blend) text() string {
	out := b.own.text
	keys := slices.SortedFunc(maps.Keys(b.chosen), func(p, q string) int { return b.own.funcs[q].body - b.own.funcs[p].body })
	for _, key := range keys { // the last first, so that places stay
		f := b.own.funcs[key]
		var choice strings.Builder
		for _, n := range b.chosen[key] {
			call := f.receiver + variantName(b.own.text[f.nameFrom:f.nameTo], n) + "(" + f.argument + ")"
			if f.returns {
				fmt.Fprintf(&choice, "\n\tif brokenVariant == %d {\n\t\treturn %s\n\t}", n, call)
			} else {
				fmt.Fprintf(&choice, "\n\tif brokenVariant == %d {\n\t\t%s\n\t\treturn\n\t}", n, call)
			}
		}
		out = out[:f.body] + choice.String() + out[f.body:]
	}
	return out + b.others.String()
}

// chooser is the file that a package which a variant changes gets beside its own.
const chooser = `package %s

import (
	"os"
	"strconv"
)

var brokenVariant, _ = strconv.Atoi(os.Getenv("` + variantVariable + `"))
`

// blended returns the files below package repo that some variant changes, by name, with all
// variants in them. The first is number 1.
func blended(folder string, list []variant) (map[string]string, error) {
	blends := map[string]*blend{}
	for i, v := range list {
		texts, err := v.texts(folder, blends)
		for file, text := range texts {
			if err == nil {
				err = blends[file].add(1+i, text)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("variant %q: %w", v.name, err)
		}
	}
	files := map[string]string{}
	for file, b := range blends {
		files[file] = b.text()
		inside := filepath.Dir(file)
		files[filepath.Join(inside, "brokenvariant.go")] = fmt.Sprintf(chooser, filepath.Base(inside))
	}
	return files, nil
}

// texts returns the files that v changes, as they are then. It adds those to blends that
// are not there yet.
func (v *variant) texts(folder string, blends map[string]*blend) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range v.edits {
		if blends[e.file] == nil {
			text, err := os.ReadFile(filepath.Join(folder, e.file))
			if err != nil {
				return nil, err
			}
			own, err := parse(e.file, string(text))
			if err != nil {
				return nil, err
			}
			blends[e.file] = &blend{file: e.file, own: own, chosen: map[string][]int{}}
		}
		text, ok := texts[e.file]
		if !ok {
			text = blends[e.file].own.text
		}
		var err error
		if texts[e.file], err = e.apply(text); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// overlay writes the files of all variants, and a description of them for the go command.
func overlay(root, dir string, list []variant) (string, error) {
	files, err := blended(filepath.Join(root, "repo"), list)
	if err != nil {
		return "", err
	}
	replaced := map[string]string{}
	for file, text := range files {
		to := filepath.Join(dir, strings.ReplaceAll(file, string(filepath.Separator), "_"))
		replaced[filepath.Join(root, "repo", file)] = to
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}

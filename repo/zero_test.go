package repo_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

// zeroes are the zero values of all exported types with methods, and nil pointers to them.
func zeroes() map[string][]any {
	return map[string][]any{
		"Repo":       {new(repo.Repo[post]), (*repo.Repo[post])(nil), new(repo.Repo[map[string]any]), new(repo.Repo[int])},
		"View":       {new(repo.View[postView]), (*repo.View[postView])(nil), new(repo.View[map[string]any])},
		"Store":      {new(repo.Store), (*repo.Store)(nil)},
		"Group":      {new(repo.Group), (*repo.Group)(nil), new(repo.Store).Group(), (*repo.Store)(nil).Group()},
		"Writes":     {repo.Writes[post]{}, repo.Writes[map[string]any]{}, new(repo.Repo[post]).In(nil), new(repo.Repo[post]).In(new(repo.Group))},
		"Groups":     {repo.Groups[post]{}, new(repo.Repo[post]).GroupBy("id"), repo.Groups[map[string]any]{}.Sum("n")},
		"Query":      {repo.Query{}},
		"Plan":       {repo.Plan{}},
		"WritePlan":  {repo.WritePlan{}},
		"Index":      {repo.Index{}},
		"Key":        {repo.Key(nil)},
		"Report":     {repo.Report{}},
		"Sizes":      {repo.Sizes{}},
		"Verdict":    {repo.Verdict(0), repo.Verdict(7)},
		"Event":      {repo.Event{}},
		"Version":    {new(repo.Version)},
		"Outcome":    {new(repo.Outcome)},
		"Error":      {new(repo.Error)},
		"BatchError": {new(repo.BatchError)},
	}
}

// good are arguments of methods, by their type; any other is the zero value.
func good() map[reflect.Type]any {
	return map[reflect.Type]any{
		reflect.TypeFor[context.Context]():       context.Background(),
		reflect.TypeFor[repo.Key]():              repo.Key{"ann"},
		reflect.TypeFor[[]repo.Key]():            []repo.Key{{"ann"}},
		reflect.TypeFor[*post]():                 &post{Author: "ann", ID: "P1"},
		reflect.TypeFor[*map[string]any]():       &map[string]any{"id": "ann"},
		reflect.TypeFor[*int]():                  new(int),
		reflect.TypeFor[repo.Query]():            repo.Where("id", "ann"),
		reflect.TypeFor[func(*post) error]():     func(*post) error { return nil },
		reflect.TypeFor[[]repo.Edit]():           []repo.Edit{repo.Set("title", "x")},
		reflect.TypeFor[*repo.Outcome]():         new(repo.Outcome),
		reflect.TypeFor[*repo.MaintainOptions](): &repo.MaintainOptions{Every: time.Hour},
		reflect.TypeFor[*repo.Group]():           new(repo.Group),
	}
}

// called calls a method, and returns its last result if that is an error, or the error of the loop that it is.
func called(m reflect.Value, args []reflect.Value) error {
	call := m.Call
	if m.Type().IsVariadic() {
		call = m.CallSlice
	}
	out := call(args)
	if len(out) == 0 {
		return nil
	}
	last := out[len(out)-1]
	if !isLoop(last.Type()) {
		err, _ := last.Interface().(error)
		return err
	}
	var err error
	for _, e := range last.Seq2() {
		err, _ = e.Interface().(error)
	}
	return err
}

// isLoop reports whether a method returns a sequence of pairs.
func isLoop(t reflect.Type) bool { return t.Kind() == reflect.Func && t.CanSeq2() }

// fails reports whether a method returns an error, by itself or in its loop.
func fails(m reflect.Type) bool {
	if m.NumOut() == 0 {
		return false
	}
	last, failure := m.Out(m.NumOut()-1), reflect.TypeFor[error]()
	return last == failure || isLoop(last) && last.In(0).In(1) == failure
}

// Every exported method of a zero value, or of a nil pointer, answers ErrInvalid if it can fail, and none panics.
// Where Go itself would panic, nil pointers are none of ours: nil in an error, and nil to be unmarshalled into.
func TestZeroValues(t *testing.T) {
	good := good()
	texts := []string{"MarshalText", "Redact", "UnmarshalText", "Unwrap"} // succeed on zero values
	for name, values := range zeroes() {
		for _, x := range values {
			v := reflect.ValueOf(x)
			for i := range v.NumMethod() {
				method, m := v.Type().Method(i).Name, v.Method(i)
				for _, args := range [][]reflect.Value{argsOf(m.Type(), good), argsOf(m.Type(), nil)} {
					err := unpanicked(func() error { return called(m, args) })
					if fails(m.Type()) && !slices.Contains(texts, method) && !errors.Is(err, repo.ErrInvalid) || strings.HasPrefix(textOf(err), "a panic") {
						t.Errorf("%T %v . %s: %v, want ErrInvalid", x, v.IsZero(), method, err)
					}
					_, ours := errors.AsType[*repo.Error](err)
					if handle := slices.Contains([]string{"Repo", "View", "Store", "Group"}, name); handle && err != nil && !ours {
						t.Errorf("%T.%s: %v, want a *repo.Error", x, method, err)
					}
				}
			}
		}
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// argsOf returns arguments for a method: some by their type, zero values for all others.
func argsOf(m reflect.Type, some map[reflect.Type]any) (args []reflect.Value) {
	for i := range m.NumIn() {
		if x := some[m.In(i)]; x != nil {
			args = append(args, reflect.ValueOf(x).Convert(m.In(i)))
		} else {
			args = append(args, reflect.Zero(m.In(i)))
		}
	}
	return args
}

// No exported type with methods is left out of the test above.
func TestZeroValuesOfAllTypes(t *testing.T) {
	tried := zeroes()
	for name := range typesWithMethods(t) {
		if len(tried[name]) == 0 {
			t.Errorf("no zero value of type %s is tried", name)
		}
		delete(tried, name)
	}
	if len(tried) > 0 {
		t.Errorf("no methods are found of %v", tried)
	}
}

// typesWithMethods are the exported types of package repo that have exported methods.
func typesWithMethods(t *testing.T) map[string]bool {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.IsExported() {
				if of := receiver(fn.Recv.List[0].Type); ast.IsExported(of) {
					found[of] = true
				}
			}
		}
	}
	return found
}

// receiver returns the name of the type of a receiver.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

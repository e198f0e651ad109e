package compile

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	ctyjson "github.com/zclconf/go-cty/cty/json"
	"golang.org/x/sync/semaphore"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// ChildCommand is the argument that makes a program call ChildMain.
const ChildCommand = "compile-child"

// Child compiles configuration in a separate process, with a time limit and a memory limit, because
// a commit may be written to hang or crash its reader.
//
// The process is this program, started again to run ChildMain. It gets a directory and values for
// variables, and returns objects, guards and diagnostics. It gets neither an environment nor
// credentials. Package isolate documents what it cannot access.
type Child struct {
	Program []string            // the command line that calls ChildMain; empty: this program with ChildCommand
	Timeout time.Duration       // the time limit of one compilation
	Memory  int64               // the memory limit of the process, in bytes
	Budget  *semaphore.Weighted // the memory of all children, in bytes; nil: no limit
}

// The default limits of a compilation. A fleet of 5,000 pools needs 4 s and 300 MiB.
const (
	DefaultTimeout       = 30 * time.Second
	DefaultMemory  int64 = 1 << 30
)

// Request is what to compile.
type Request struct {
	Root    string       `json:"root"` // a directory, outside of which nothing is read
	Dir     string       `json:"dir"`  // the directory to compile, in Root
	Vars    []config.Var `json:"vars"`
	Version string       `json:"version"`
	// IgnoreUndeclared drops values for variables that the directory does not declare, because
	// they were set for a later revision. Otherwise they are an error.
	IgnoreUndeclared bool `json:"ignore_undeclared,omitempty"`
	// Plan is a plan for the policies to evaluate: as Plan.PolicyJSON writes it; nil if there
	// is none.
	Plan json.RawMessage `json:"plan,omitempty"`
	// Nulls are the plan's NullReasons.
	Nulls map[string]string `json:"nulls,omitempty"`
}

// Answer is the result of a request. The policies stay in the child.
type Answer struct {
	Result
	// Read lists the files in Request.Root that were read, sorted. Without all other files they
	// compile to the same result.
	Read        []string          `json:"read"`
	PolicyCount int               `json:"policies"`
	Verdicts    []plan.Verdict    `json:"verdicts"` // of the policies, on Request.Plan
	Diagnostics []diag.Diagnostic `json:"diagnostics"`
	Failed      bool              `json:"failed"` // a diagnostic is an error
}

// Errors returns the diagnostics that are errors, each on one line with its location.
func (a Answer) Errors() []string {
	var lines []string
	for _, d := range a.Diagnostics {
		if d.Severity != "error" {
			continue
		}
		line := d.Summary
		if d.Range != nil {
			line = fmt.Sprintf("%s:%d: %s", d.Range.Filename, d.Range.Start.Line, d.Summary)
		}
		if d.Detail != "" {
			line += ": " + d.Detail
		}
		lines = append(lines, line)
	}
	return lines
}

// The errors of a compilation that exceeds its limits.
var (
	ErrTimeout = isolate.ErrTimeout
	ErrMemory  = isolate.ErrMemory
)

// Compile runs one compilation. The error is ErrTimeout or ErrMemory if the configuration caused it.
// Diagnostics are in the result.
func (c Child) Compile(ctx context.Context, req Request) (Answer, error) {
	child := isolate.Child{
		Program: c.Program, Command: ChildCommand, Time: cmp.Or(c.Timeout, DefaultTimeout),
		Memory: cmp.Or(c.Memory, DefaultMemory), Budget: c.Budget, Read: req.Root,
	}
	var answer Answer
	if err := child.Ask(ctx, req, &answer); err != nil {
		return Answer{}, fmt.Errorf("compiling %w", err)
	}
	return answer, nil
}

// ChildMain compiles what stdin requests and writes the answer to stdout. It returns the exit code.
func ChildMain(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	return isolate.Answer(stdin, stdout, stderr, func(req Request) (Answer, error) { return compile(ctx, req) })
}

func compile(ctx context.Context, req Request) (Answer, error) {
	root, err := os.OpenRoot(req.Root)
	if err != nil {
		return Answer{}, err
	}
	defer root.Close()
	if req.IgnoreUndeclared {
		req.Vars = declaredValues(root.FS(), req)
	}
	files := observe(root.FS())
	compiled, diags := observedDir(ctx, files, Options{
		Options: config.Options{Dir: req.Dir, Vars: req.Vars, Version: req.Version},
	})
	answer := Answer{
		Result: compiled, Read: slices.Sorted(maps.Keys(files.read)), PolicyCount: len(compiled.Policies),
		Diagnostics: diag.New(diags, compiled.Files), Failed: diags.HasErrors(),
	}
	if req.Plan == nil || answer.Failed {
		return answer, nil
	}
	value, err := ctyjson.Unmarshal(req.Plan, config.Type())
	if err != nil {
		return answer, fmt.Errorf("read the plan for the policies: %w", err)
	}
	answer.Verdicts = plan.JudgePolicies(compiled.Policies, compiled.Guards, value, req.Nulls)
	return answer, nil
}

// declaredValues returns the values of the variables that a directory declares. Compiling it reports other
// mistakes.
func declaredValues(fsys fs.FS, req Request) []config.Var {
	module, diags := config.Load(fsys, config.Options{Dir: req.Dir})
	if diags.HasErrors() {
		return req.Vars
	}
	variables, _ := module.Variables()
	return slices.DeleteFunc(slices.Clone(req.Vars), func(value config.Var) bool {
		return !slices.ContainsFunc(variables, func(v config.Variable) bool { return v.Name == value.Name })
	})
}

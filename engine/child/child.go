// Package child compiles configuration in a process of its own, with a deadline
// and a bound on its memory: what a commit holds may have been written to hang
// or to kill whoever reads it.
//
// The process is this program, started again: Main is what it does then. It
// gets a directory and values for variables, and gives back objects, guards and
// diagnostics; it gets no environment, and no credentials of anything.
package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// Command is the argument that makes a program call Main.
const Command = "compile-child"

// Compiler starts processes.
type Compiler struct {
	Program []string      // the command line that calls Main; empty: this program with Command
	Timeout time.Duration // of one compilation
	Memory  int64         // bytes that the process may have
}

// The bounds of a compilation, where a Compiler has none. A fleet of 5,000 pools
// takes 4 s and 400 MiB.
const (
	DefaultTimeout       = 30 * time.Second
	DefaultMemory  int64 = 1 << 30
)

// Request is what to compile.
type Request struct {
	Root    string       `json:"root"` // a directory; nothing outside of it is read
	Dir     string       `json:"dir"`  // in it
	Vars    []config.Var `json:"vars"`
	Version string       `json:"version"`
	// Spare has values for variables that are not declared be no error: they were
	// set for a later revision of the directory.
	Spare bool `json:"spare,omitempty"`
	// Plan is a change of what is compiled, for its policies to judge: a value of
	// config.PolicyInputType as JSON; nil where there is none.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// Result is what came out.
type Result struct {
	Cluster     config.Cluster    `json:"cluster"`
	Resources   []config.Object   `json:"resources"`
	Removed     []config.Removal  `json:"removed"`
	Imports     []config.Import   `json:"imports"`
	Guards      config.Guards     `json:"guards"`
	Policies    int               `json:"policies"` // how many there are
	Verdicts    []plan.Verdict    `json:"verdicts"` // of the policies, on Request.Plan
	Diagnostics []diag.Diagnostic `json:"diagnostics"`
	Failed      bool              `json:"failed"` // a diagnostic is an error
}

// Compiled is the result as the engine knows it. Its policies have judged
// already.
func (r Result) Compiled() engine.Compiled {
	saved := engine.Saved{Cluster: r.Cluster, Resources: r.Resources, Removed: r.Removed, Guards: r.Guards}
	return saved.Compiled()
}

// Errors are the diagnostics that are errors, each on a line with its place.
func (r Result) Errors() []string {
	var lines []string
	for _, d := range r.Diagnostics {
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

// The ends that a process may come to which are no fault of whoever started it.
var (
	ErrTimeout = errors.New("compiling took too long")
	ErrMemory  = errors.New("compiling took too much memory")
)

// Compile runs one compilation. The error is ErrTimeout or ErrMemory where the
// configuration is to blame; diagnostics are in the result.
func (c Compiler) Compile(ctx context.Context, req Request) (Result, error) {
	program, timeout, memory := c.Program, c.Timeout, c.Memory
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return Result{}, fmt.Errorf("find this program: %w", err)
		}
		program = []string{self, Command}
	}
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	if memory == 0 {
		memory = DefaultMemory
	}
	input, err := json.Marshal(req)
	if err != nil {
		return Result{}, fmt.Errorf("ask for a compilation: %w", err)
	}
	deadline, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(deadline, program[0], program[1:]...)
	cmd.Env = []string{fmt.Sprintf("GOMEMLIMIT=%d", memory*3/4), fmt.Sprintf("%s=%d", memoryVar, memory), "GOTRACEBACK=none"}
	cmd.Stdin = bytes.NewReader(input)
	stdout, stderr := &bounded{most: maxOutput}, &bounded{most: 64 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return Result{}, ended(ctx, deadline, err, timeout, memory, stderr.String())
	}
	var result Result
	if err := utiljson.Unmarshal(stdout.Bytes(), &result); err != nil {
		return Result{}, fmt.Errorf("read the compilation's answer: %w", err)
	}
	return result, nil
}

// ended words how a process ended that gave no answer.
func ended(ctx, deadline context.Context, err error, timeout time.Duration, memory int64, stderr string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case deadline.Err() != nil:
		return fmt.Errorf("%w: more than %s", ErrTimeout, timeout)
	case strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "cannot allocate memory"):
		return fmt.Errorf("%w: more than %d MiB", ErrMemory, memory>>20)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return fmt.Errorf("the compiling process ended without an answer: %w: %s", err, first)
}

// maxOutput bounds an answer, in bytes.
const maxOutput = 64 << 20

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room < len(p) {
		b.Buffer.Write(p[:max(room, 0)])
		return 0, errors.New("too long an answer")
	}
	return b.Buffer.Write(p)
}

// memoryVar tells the process how much memory it may have.
const memoryVar = "LKEPLAN_CHILD_MEMORY"

// Main compiles what stdin asks for and writes the answer to stdout. It returns
// the exit code.
func Main(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := limitMemory(os.Getenv(memoryVar)); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	var req Request
	if err := json.NewDecoder(stdin).Decode(&req); err != nil {
		fmt.Fprintln(stderr, "read what to compile:", err)
		return 1
	}
	result, err := compile(ctx, req)
	if err == nil {
		err = json.NewEncoder(stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func compile(ctx context.Context, req Request) (Result, error) {
	root, err := os.OpenRoot(req.Root)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	if req.Spare {
		req.Vars = declared(root.FS(), req)
	}
	compiled, diags := engine.Compile(ctx, root.FS(), engine.CompileOptions{
		Options: config.Options{Dir: req.Dir, Vars: req.Vars, Version: req.Version},
	})
	result := Result{
		Cluster: compiled.Cluster, Resources: compiled.Resources, Removed: compiled.Removed, Imports: compiled.Imports, Guards: compiled.Guards, Policies: len(compiled.Policies),
		Diagnostics: diag.New(diags, compiled.Files), Failed: diags.HasErrors(),
	}
	result.Guards.Origins = nil // they are of the process
	if req.Plan == nil || result.Failed {
		return result, nil
	}
	value, err := planOf(req.Plan)
	if err != nil {
		return result, err
	}
	result.Verdicts = engine.JudgePolicies(compiled, value)
	return result, nil
}

// declared are the values of the variables that a directory declares. What else is
// wrong with it is for its compilation to say.
func declared(fsys fs.FS, req Request) []config.Var {
	module, diags := config.Load(fsys, config.Options{Dir: req.Dir})
	if diags.HasErrors() {
		return req.Vars
	}
	variables, _ := module.Variables()
	return slices.DeleteFunc(slices.Clone(req.Vars), func(value config.Var) bool {
		return !slices.ContainsFunc(variables, func(v config.Variable) bool { return v.Name == value.Name })
	})
}

// planOf reads a plan as policies see it.
func planOf(raw json.RawMessage) (cty.Value, error) {
	value, err := ctyjson.Unmarshal(raw, config.PolicyInputType())
	if err != nil {
		return cty.NilVal, fmt.Errorf("read the plan that policies judge: %w", err)
	}
	return value, nil
}

// PlanJSON writes a plan as Request.Plan wants it. Everything in it must be
// known: it was made against a cluster.
func PlanJSON(p plan.Plan) (json.RawMessage, error) {
	raw, err := ctyjson.Marshal(engine.PolicyValue(p), config.PolicyInputType())
	if err != nil {
		return nil, fmt.Errorf("write the plan that policies judge: %w", err)
	}
	return raw, nil
}

package compile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	ctyjson "github.com/zclconf/go-cty/cty/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// ChildCommand is the argument that makes a program call ChildMain.
const ChildCommand = "compile-child"

// Child compiles configuration in a process of its own, with a deadline and a
// bound on its memory: a commit may have been written to hang or to kill
// whoever reads it.
//
// The process is this program, started again: ChildMain is what it does then. It
// gets a directory and values for variables, and gives back objects, guards and
// diagnostics; it gets no environment, and no credentials of anything.
type Child struct {
	Program []string      // the command line that calls ChildMain; empty: this program with ChildCommand
	Timeout time.Duration // of one compilation
	Memory  int64         // bytes that the process may have
}

// The bounds of a compilation, where a Child has none. A fleet of 5,000 pools
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
	// IgnoreUndeclared drops values for variables that the directory does not declare,
	// which are an error otherwise: they were set for a later revision.
	IgnoreUndeclared bool `json:"ignore_undeclared,omitempty"`
	// Plan is a change of what is compiled, for its policies to judge: a value of
	// config.PolicyInputType as JSON; nil where there is none.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// Answer is what came out. Its policies stayed in the child.
type Answer struct {
	Result
	// Read are the files of Request.Root that were read, sorted. They compile to the
	// same result without the others.
	Read        []string          `json:"read"`
	PolicyCount int               `json:"policies"`
	Verdicts    []plan.Verdict    `json:"verdicts"` // of the policies, on Request.Plan
	Diagnostics []diag.Diagnostic `json:"diagnostics"`
	Failed      bool              `json:"failed"` // a diagnostic is an error
}

// Errors are the diagnostics that are errors, each on a line with its place.
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

// How a process may end because of what it compiled.
var (
	ErrTimeout = errors.New("compiling took too long")
	ErrMemory  = errors.New("compiling took too much memory")
)

// Compile runs one compilation. The error is ErrTimeout or ErrMemory where the
// configuration is to blame; diagnostics are in the result.
func (c Child) Compile(ctx context.Context, req Request) (Answer, error) {
	timeout, memory := cmp.Or(c.Timeout, DefaultTimeout), cmp.Or(c.Memory, DefaultMemory)
	program := c.Program
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return Answer{}, fmt.Errorf("find this program: %w", err)
		}
		program = []string{self, ChildCommand}
	}
	input, err := json.Marshal(req)
	if err != nil {
		return Answer{}, fmt.Errorf("ask for a compilation: %w", err)
	}
	deadline, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(deadline, program[0], program[1:]...)
	cmd.Env = []string{fmt.Sprintf("GOMEMLIMIT=%d", memory*3/4), fmt.Sprintf("%s=%d", memoryVar, memory),
		"GOTRACEBACK=none"}
	cmd.Stdin = bytes.NewReader(input)
	stdout, stderr := &bounded{most: maxOutput}, &bounded{most: 64 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return Answer{}, ended(ctx, deadline, err, timeout, memory, stderr.String())
	}
	var result Answer
	if err := utiljson.Unmarshal(stdout.Bytes(), &result); err != nil {
		return Answer{}, fmt.Errorf("read the compilation's answer: %w", err)
	}
	return result, nil
}

// ended explains how a process ended that gave no answer.
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

// ChildMain compiles what stdin asks for and writes the answer to stdout. It returns
// the exit code.
func ChildMain(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
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

func compile(ctx context.Context, req Request) (Answer, error) {
	root, err := os.OpenRoot(req.Root)
	if err != nil {
		return Answer{}, err
	}
	defer root.Close()
	if req.IgnoreUndeclared {
		req.Vars = declared(root.FS(), req)
	}
	files := &observed{FS: root.FS(), read: map[string]bool{}}
	compiled, diags := Dir(ctx, files, Options{
		Options: config.Options{Dir: req.Dir, Vars: req.Vars, Version: req.Version},
	})
	answer := Answer{
		Result: compiled, Read: slices.Sorted(maps.Keys(files.read)), PolicyCount: len(compiled.Policies),
		Diagnostics: diag.New(diags, compiled.Files), Failed: diags.HasErrors(),
	}
	if req.Plan == nil || answer.Failed {
		return answer, nil
	}
	value, err := ctyjson.Unmarshal(req.Plan, config.PolicyInputType())
	if err != nil {
		return answer, fmt.Errorf("read the plan that policies judge: %w", err)
	}
	answer.Verdicts = JudgePolicies(compiled, value)
	return answer, nil
}

// declared are the values of the variables that a directory declares. Other
// mistakes in it are found when it is compiled.
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

// limitMemory bounds what this process may write to. RLIMIT_DATA counts what is
// mapped for writing, and not the address space that Go's runtime reserves.
func limitMemory(text string) error {
	if text == "" {
		return nil
	}
	most, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", memoryVar, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	return nil
}

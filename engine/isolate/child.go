// Package isolate takes in what others wrote: it downloads and unpacks artifacts of Flux's
// source-controller, and runs a program as a child process that its input may compromise.
//
// An archive becomes only regular files that a configuration can read, of limited number and size,
// because their author may want to exhaust the disk, the memory or the time of the reader.
//
// A Child has limits on its time and memory, and no environment. If the kernel has Landlock, it can
// open no files but those that it is given, start no programs, and reach no network and no other
// process, as far as the version of Landlock can restrict that. Without Landlock it can do what the
// user of its parent can, for example read the service account token. Question and answer are JSON,
// on stdin and stdout. Children run only on Linux, because other systems cannot confine them.
//
// The package depends neither on Kubernetes objects nor on the content of the files.
package isolate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// A Child is a program and its limits.
type Child struct {
	Program []string            // the command line, which calls Answer; empty: this program with Command
	Command string              // an argument
	Time    time.Duration       // the time limit, after which it is killed
	Memory  int64               // the memory limit, in bytes
	Budget  *semaphore.Weighted // the memory of several children, in bytes; nil: no limit
	Read    string              // the directory that it can read
}

// The errors of a child that exceeded its limits because of its input.
var (
	ErrTimeout = errors.New("took too long")
	ErrMemory  = errors.New("took too much memory")
)

// Ask starts the child, sends it a question and reads its answer. It waits until the budget has
// enough memory. The error is ErrTimeout or ErrMemory if the child exceeded its limits.
func (c Child) Ask(ctx context.Context, question, answer any) error {
	input, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("send a question to a child process: %w", err)
	}
	program := c.Program
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		program = []string{self, c.Command}
	}
	if c.Budget != nil {
		if err := c.Budget.Acquire(ctx, c.Memory); err != nil {
			return err
		}
		defer c.Budget.Release(c.Memory)
	}
	limited, cancel := context.WithTimeout(ctx, c.Time)
	defer cancel()
	cmd := exec.CommandContext(limited, program[0], program[1:]...)
	cmd.Env = []string{
		fmt.Sprintf("GOMEMLIMIT=%d", c.Memory*3/4), "GOTRACEBACK=none",
		fmt.Sprintf("%s=%d", memoryVar, c.Memory), readVar + "=" + c.Read,
	}
	cmd.Stdin = bytes.NewReader(input)
	stdout, stderr := &bounded{most: maxOutput}, &bounded{most: 64 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = childAttributes()
	cmd.WaitDelay = time.Second
	if err := run(cmd); err != nil {
		return c.ended(ctx, limited, err, stderr.String())
	}
	if err := utiljson.Unmarshal(stdout.Bytes(), answer); err != nil {
		return fmt.Errorf("read the answer of a child process: %w", err)
	}
	return nil
}

// run runs the child from a thread that lives as long: the kernel ends the child with the thread that
// started it.
func run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

// ended explains why a child ended without an answer.
func (c Child) ended(ctx, limited context.Context, err error, stderr string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("%w: more than %s", ErrTimeout, c.Time)
	case slices.ContainsFunc(noMemory, func(words string) bool { return strings.Contains(stderr, words) }):
		return fmt.Errorf("%w: more than %d MiB", ErrMemory, c.Memory>>20)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return fmt.Errorf("a child process ended without an answer: %w: %s", err, cmp.Or(first, "no output"))
}

// noMemory are the messages of the Go runtime and the C library if a child has no memory left. The
// stack of a thread needs memory as well.
var noMemory = []string{
	"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread",
}

// maxOutput is the maximum length of an answer, in bytes.
const maxOutput = 64 << 20

// bounded keeps the start of what is written.
type bounded struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room < len(p) {
		b.Buffer.Write(p[:max(room, 0)])
		return 0, errors.New("the answer is too long")
	}
	return b.Buffer.Write(p)
}

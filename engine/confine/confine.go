// Package confine runs a program as a child process that its input may compromise: with limits on
// its time, memory and files, and without an environment. A system call filter prevents it from
// starting programs, from reaching other processes, and from using the network if it needs none. If
// the kernel has Landlock, the child can open only the files that it is given, and connect only to
// the given TCP ports. Question and answer are JSON, on stdin and stdout.
//
// Without Landlock the child can open what the user of its parent can, including the service account
// token. A child with network access could exfiltrate it.
//
// Children run only on Linux, because other systems cannot confine them.
//
// The package does not depend on what children do.
package confine

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
	Env     []string            // the whole environment, except for internal variables

	Read  []string // files and directories that it can read
	Write []string // directories that it can write to
	// Ports are the TCP ports that it can connect to.
	Ports []uint16
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
	cmd.Env = append([]string{fmt.Sprintf("GOMEMLIMIT=%d", c.Memory*3/4), fmt.Sprintf("%s=%d", memoryVar, c.Memory),
		"GOTRACEBACK=none"}, c.Env...)
	if len(c.Ports) > 0 {
		cmd.Env = append(cmd.Env, networkVar+"=1")
	}
	cmd.Stdin = bytes.NewReader(input)
	stdout, stderr := &bounded{most: maxOutput}, &bounded{most: 64 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = apart()
	cmd.WaitDelay = time.Second
	if err := c.run(cmd); err != nil {
		return c.ended(ctx, limited, err, stderr.String())
	}
	if err := utiljson.Unmarshal(stdout.Bytes(), answer); err != nil {
		return fmt.Errorf("read the answer of a child process: %w", err)
	}
	return nil
}

// run starts the child from a thread with the child's restrictions, which the child inherits, and
// waits for it. The thread ends with the goroutine because it stays locked, and the child ends with
// the thread.
func (c Child) run(cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := c.restrictThread(cmd.Path); err != nil {
			ended <- err
			return
		}
		ended <- cmd.Run()
	}()
	return <-ended
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

// Package confine runs a program as a child that may be taken over by what it reads:
// with bounds on its time, memory and files, and without an environment. By a filter
// of system calls it starts no program, reaches no other process, and has no network
// where it needs none. By Landlock, where the kernel has it, it opens no files but
// those that it is given, and connects to no TCP ports but those. Question and answer
// are JSON, on stdin and stdout.
//
// Without Landlock the child can open what the user of its parent can: the token of
// its service account. One that has a network could send it away.
//
// Children run on Linux only: elsewhere nothing would hold them.
//
// The package does not know what children do.
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

// A Child is a program and its bounds.
type Child struct {
	Program []string            // the command line; its child calls Enter first
	Time    time.Duration       // after which it is killed
	Memory  int64               // bytes that it may have
	Budget  *semaphore.Weighted // of the memory of several children, in bytes; nil: no bound
	Env     []string            // besides that, the environment is empty

	Read  []string // files and directories that it may read
	Write []string // directories that it may write to
	// Ports are the TCP ports that it may connect to.
	Ports []uint16
}

// How a child may end because of what it was given.
var (
	ErrTimeout = errors.New("took too long")
	ErrMemory  = errors.New("took too much memory")
)

// Self returns the command line that starts this program with an argument.
func Self(command string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return []string{self, command}, nil
}

// Ask starts the child, hands it a question and reads its answer. It waits until the
// budget has room. The error is ErrTimeout or ErrMemory where the child went beyond
// its bounds.
func (c Child) Ask(ctx context.Context, question, answer any) error {
	input, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("ask a child: %w", err)
	}
	if c.Budget != nil {
		if err := c.Budget.Acquire(ctx, c.Memory); err != nil {
			return err
		}
		defer c.Budget.Release(c.Memory)
	}
	limited, cancel := context.WithTimeout(ctx, c.Time)
	defer cancel()
	cmd := exec.CommandContext(limited, c.Program[0], c.Program[1:]...)
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
		return fmt.Errorf("read the answer of a child: %w", err)
	}
	return nil
}

// run starts the child from a thread that has its restrictions, which it inherits,
// and waits for it. The thread ends with the goroutine, as it is not unlocked, and
// the child with the thread.
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

// ended explains how a child ended that gave no answer.
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
	return fmt.Errorf("a child ended without an answer: %w: %s", err, cmp.Or(first, "it said nothing"))
}

// noMemory is what the Go runtime says, and the C library for it, where a child has no
// memory left: the stack of a thread needs some as well.
var noMemory = []string{
	"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread",
}

// maxOutput bounds an answer, in bytes.
const maxOutput = 64 << 20

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room < len(p) {
		b.Buffer.Write(p[:max(room, 0)])
		return 0, errors.New("too long an answer")
	}
	return b.Buffer.Write(p)
}

package isolate

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// The child's memory limit, and the directory that it can read.
const (
	memoryVar = "LKEPLAN_CHILD_MEMORY"
	readVar   = "LKEPLAN_CHILD_READ"
)

// Answer runs in a child: it applies the limits, reads the question, and writes the answer of a
// function. It returns the exit code.
func Answer[Question, Result any](
	stdin io.Reader, stdout, stderr io.Writer, answer func(Question) (Result, error),
) int {
	err := enterConfinement()
	var question Question
	if err == nil {
		err = json.NewDecoder(stdin).Decode(&question)
	}
	var result Result
	if err == nil {
		result, err = answer(question)
	}
	if err == nil {
		err = json.NewEncoder(stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// enterConfinement limits the resources of this process, and what it can access. It does nothing in a process
// that no Child has started.
func enterConfinement() error {
	text := os.Getenv(memoryVar)
	if text == "" {
		return nil
	}
	memory, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", memoryVar, err)
	}
	if err := limitResources(memory); err != nil {
		return err
	}
	return restrictToDir(os.Getenv(readVar))
}

// restrictToDir leaves this process nothing but reading a directory, as far as the kernel's Landlock can
// restrict it.
func restrictToDir(dir string) error {
	var rules []landlock.Rule
	if dir != "" {
		rules = append(rules, landlock.PathAccess(llsyscall.AccessFSReadFile|llsyscall.AccessFSReadDir, dir))
	}
	if err := landlock.V11.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("restrict a child process: %w", err)
	}
	return nil
}

// Landlock returns the version of the kernel's Landlock; 0 if it has none, or does not allow this
// process to use it. It can restrict files since version 1, TCP since 4, other processes since 6, and
// UDP since 10.
//
// Unverified: that the nodes of LKE have it, and that the seccomp profile of their container runtime
// allows its system calls.
func Landlock() int {
	version, err := llsyscall.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

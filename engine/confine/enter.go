package confine

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
)

// memoryVar is the child's memory limit.
const memoryVar = "LKEPLAN_CHILD_MEMORY"

// networkVar allows the child to use the network, if it is set.
const networkVar = "LKEPLAN_CHILD_NETWORK"

// maxFile is the maximum size of each file that a child writes, in bytes.
const maxFile = 256 << 20

// Answer runs in a child: it applies the limits, reads the question, and writes the answer of a
// function. It returns the exit code.
func Answer[Question, Result any](
	stdin io.Reader, stdout, stderr io.Writer, answer func(Question) (Result, error),
) int {
	err := enter()
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

// enter limits the resources of this process, and its system calls.
func enter() error {
	text := os.Getenv(memoryVar)
	if text == "" {
		return nil
	}
	memory, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", memoryVar, err)
	}
	if err := limit(memory); err != nil {
		return err
	}
	return filterCalls(os.Getenv(networkVar) != "")
}

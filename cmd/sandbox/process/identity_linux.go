package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// startTime returns field 22 of /proc/PID/stat: the number of clock ticks between boot and the start of the
// process.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return "", ErrGone
	case err != nil:
		return "", fmt.Errorf("read the start time of process %d: %w", pid, err)
	}
	state, start, err := parseStat(stat)
	if err != nil {
		return "", fmt.Errorf("read the start time of process %d: %w", pid, err)
	}
	if state == "Z" || state == "X" {
		return "", ErrGone
	}
	return start, nil
}

// parseStat returns the state and the start time in a stat line. The second field is the command's name in
// parentheses, which may contain spaces and parentheses, so fields are counted from the last parenthesis.
func parseStat(stat []byte) (state, start string, err error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", "", errors.New("no command in the stat line")
	}
	const stateField, startField = 3, 22
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) <= startField-stateField {
		return "", "", fmt.Errorf("stat line has %d fields after the command, want %d", len(fields), startField-stateField+1)
	}
	return fields[0], fields[startField-stateField], nil
}

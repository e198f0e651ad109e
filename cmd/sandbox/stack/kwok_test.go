package stack

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// TestDirectoriesMayHaveCommas: KWOK reads --config as a list that is separated by commas.
func TestDirectoriesMayHaveCommas(t *testing.T) {
	stages := []string{`/tmp/one, "two"/pods.yaml`, "/tmp/nodes.yaml"}
	args := kwokArgs(wiring{stages: stages, port: func(string, string) int { return 1 }})
	read := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	read.ParseErrorsAllowlist.UnknownFlags = true
	got := read.StringSlice("config", nil, "")
	if err := read.Parse(args); err != nil || !slices.Equal(*got, stages) {
		t.Errorf("KWOK reads %q, %v; want %q", *got, err, stages)
	}
}

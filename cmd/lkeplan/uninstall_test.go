package main

import (
	"testing"

	"github.com/spf13/pflag"
)

// TestToWaitAgain: the command that is printed is the one that was given, as a shell takes
// it.
func TestToWaitAgain(t *testing.T) {
	for _, tt := range []struct {
		given []string
		want  string
	}{
		{[]string{"--drain"}, "lkeplan uninstall --drain"},
		{[]string{"--without-lease", "--drain", "--timeout=5m", "-y"},
			"lkeplan uninstall --drain --timeout=5m0s --without-lease --yes"},
		{[]string{"--drain", "--context", "a b's", "--kubeconfig=/tmp/k.yaml"},
			`lkeplan uninstall --drain '--context=a b'\''s' --kubeconfig=/tmp/k.yaml`},
	} {
		given := pflag.NewFlagSet("uninstall", pflag.ContinueOnError)
		for _, name := range []string{"drain", "without-lease"} {
			given.Bool(name, false, "")
		}
		given.BoolP("yes", "y", false, "")
		given.Duration("timeout", 0, "")
		given.String("context", "", "")
		given.String("kubeconfig", "", "")
		if err := given.Parse(tt.given); err != nil {
			t.Fatal(err)
		}
		if got := uninstallAgain(given); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.given, got, tt.want)
		}
	}
}

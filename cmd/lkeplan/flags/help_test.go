package flags

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpFillsLines: each word that fits into the 80 columns of a line is on that line, in texts and in descriptions of
// flags, also after a quoted command. Lists and examples are not changed.
func TestHelpFillsLines(t *testing.T) {
	const list = "  live           the cluster\n  snapshot:FILE  a file"
	cmd := &cobra.Command{Use: "plan", Run: func(*cobra.Command, []string) {}}
	cmd.Long = "Compare a directory with a cluster, and save the result with --out. \"lkeplan apply FILE\"\nthen applies exactly " +
		"this\nplan, or nothing if the cluster has changed since.\n\n" + list
	for i, words := 0, ""; i < 40; i++ {
		words += strings.Repeat("x", i%7+1) + " "
		cmd.Flags().String(fmt.Sprintf("flag-%02d", i), "", words+"`FILE` of \"lkeplan snapshot\"")
	}
	SetHelp(cmd, "  0  success")
	cmd.SetOut(io.Discard)
	if err := cmd.Help(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(cmd.Long, "\n\n"+list) {
		t.Errorf("the list has changed:\n%s", cmd.Long)
	}
	before := ""
	for line := range strings.Lines(strings.TrimSuffix(cmd.Long, list) + flagUsages(cmd.Flags())) {
		line = strings.TrimSuffix(line, "\n")
		text := strings.TrimSpace(line)
		word, _, _ := strings.Cut(text, " ")
		starts := before == "" || strings.HasPrefix(text, "-")
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
		if n := utf8.RuneCountInString(before + " " + word); !starts && text != "" && n <= 80 {
			t.Errorf("%q fits into the line before, which is %q", word, before)
		}
		before = line
	}
	if got := flagUsages(new(pflag.FlagSet)); got != "" {
		t.Errorf("no flags: %q", got)
	}
}

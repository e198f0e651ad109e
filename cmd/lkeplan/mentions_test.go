package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// A command line in a text: lkeplan, its command, and the rest of the line or of
	// the quotation.
	mentioned     = regexp.MustCompile(`\b(?:bin/)?lkeplan ([a-z]+)((?: [^\n\x60"',;|\\]*)?)`)
	mentionedFlag = regexp.MustCompile(`(?:^|[\s\[(])--([a-z][a-z-]*)`)
)

// TestMentionedCommandsExist: each command line in messages, comments, documents
// and examples names a command and flags of this program. If the word after lkeplan
// is not a command, it is prose, unless flags follow.
func TestMentionedCommandsExist(t *testing.T) {
	const repository = "../.."
	list, err := exec.Command("git", "-C", repository, "ls-files", "-z", "--", "*.go", "*.md", "*.yaml", "*.yml", "*.hcl", "Dockerfile", "*/Dockerfile").Output()
	if err != nil {
		t.Fatalf("list the files of the repository: %v", err)
	}
	lines := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if strings.HasSuffix(name, "_test.go") {
			continue // tests also name commands that do not exist
		}
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mentioned.FindAllSubmatchIndex(text, -1) {
			known, why := mentions(string(text[m[2]:m[3]]), string(text[m[4]:m[5]]))
			if why != "" {
				t.Errorf("%s:%d: %s", name, 1+bytes.Count(text[:m[0]], []byte("\n")), why)
			}
			if known {
				lines++
			}
		}
	}
	if lines < 100 {
		t.Errorf("only %d command lines were found", lines)
	}
}

// mentions reports whether a word is a command, and which part of the line does not
// exist.
func mentions(word, rest string) (known bool, why string) {
	root := newRoot(&env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	flags := mentionedFlag.FindAllStringSubmatch(rest, -1)
	cmd, _, err := root.Find(append([]string{word}, strings.Fields(rest)...))
	if err != nil || cmd == root {
		if len(flags) > 0 {
			return false, fmt.Sprintf("unknown command %q with flags: %s", word, rest)
		}
		return false, ""
	}
	cmd.InitDefaultHelpFlag()
	for _, flag := range flags {
		if !has(cmd, flag[1]) {
			return true, fmt.Sprintf("%s has no flag --%s", cmd.CommandPath(), flag[1])
		}
	}
	return true, ""
}

func has(cmd *cobra.Command, flag string) bool {
	f := cmd.Flag(flag) // old spellings are hidden
	return f != nil && !f.Hidden
}

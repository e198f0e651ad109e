package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// severalMeanings are the flags whose description depends on the command, and why.
var severalMeanings = map[string]string{
	"all":       "each command lists another kind of thing; as in kubectl, --all leaves nothing out",
	"for":       "an approval and a stop end after it",
	"namespace": "the description names the kind of object that is in the namespace",
	"out":       "only plan has a plan to save; in the other form the flag is the same",
	"prune":     "only apply deletes; diff and plan show the deletions",
	"reason":    "status shows that of a stop, and the history that of an approval",
	"recursive": "fmt needs no cluster block in a directory",
}

// description is the part of a flag's description that all commands share: without values and defaults.
func description(f *pflag.Flag) string {
	text := regexp.MustCompile(` \(default.*|[:;].*`).ReplaceAllString(f.Usage, "")
	return fmt.Sprintf("-%s %s: %s", f.Shorthand, f.Value.Type(), text)
}

// TestOneMeaningPerFlag: a flag has the same shorthand, type and description in all commands.
func TestOneMeaningPerFlag(t *testing.T) {
	type use struct{ command, description string }
	first, differs := map[string]use{}, map[string]bool{}
	for _, cmd := range commands(newRoot(bareEnv())) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			is, was := use{cmd.CommandPath(), description(f)}, first[f.Name]
			switch {
			case f.Hidden:
			case was.command == "":
				first[f.Name] = is
			case was.description == is.description:
			case severalMeanings[f.Name] == "":
				t.Errorf("--%s\n  %s: %s\n  %s: %s", f.Name, was.command, was.description, is.command, is.description)
			default:
				differs[f.Name] = true
			}
		})
	}
	for name := range severalMeanings {
		if !differs[name] {
			t.Errorf("--%s has one meaning: remove it from severalMeanings", name)
		}
	}
}

// bareEnv is a process without environment variables, so that defaults are those of the program.
func bareEnv() *env {
	return &env{Stdin: new(bytes.Buffer), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer),
		Getenv: func(string) string { return "" }, Environ: func() []string { return nil }}
}

// TestCommandReference compares COMMANDS.md with the commands of the program. -update and make generate write it.
func TestCommandReference(t *testing.T) {
	const file = "COMMANDS.md"
	got := commandReference(newRoot(bareEnv()))
	if golden.Updating() {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the commands have changed; run make generate (-file +program)\n%s", diff)
	}
}

// commandReference describes all commands, arguments, flags and exit codes in Markdown.
func commandReference(root *cobra.Command) string {
	var b, chapters strings.Builder
	common := commonFlags(root)
	b.WriteString("# Commands of lkeplan\n\n<!-- Generated from the program by make generate. -->\n\n" +
		markdownOf(flags.Paragraphs(root.Long)) + "\n\n" +
		"`lkeplan COMMAND --help` prints the same text. A flag that would have no effect is an error. [README.md](README.md) " +
		"shows the commands at work.\n")
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "\n**%s**\n\n| command | what it does |\n|---|---|\n", strings.TrimSuffix(group.Title, ":"))
		for _, cmd := range commands(root) {
			if topCommand(cmd).GroupID == group.ID && !cmd.HasSubCommands() {
				fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", cmd.CommandPath(), strings.ReplaceAll(cmd.CommandPath(), " ", "-"), cmd.Short)
				describe(&chapters, cmd, common)
			}
		}
	}
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, strings.ReplaceAll(e.meaning, "\n", " "))
	}
	b.WriteString("\n## Common flags\n\nSeveral commands have these flags.\n\n| flag | what it does |\n|---|---|\n")
	for _, row := range slices.Sorted(maps.Keys(common)) {
		b.WriteString(row)
	}
	return b.String() + chapters.String()
}

// topCommand is the command below the root that a command belongs to.
func topCommand(cmd *cobra.Command) *cobra.Command {
	for cmd.Parent() != nil && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	return cmd
}

// describe writes the chapter of a command.
func describe(b *strings.Builder, cmd *cobra.Command, common map[string]bool) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n```text\n%s\n```\n", cmd.CommandPath(), cmd.Short, cmd.UseLine())
	if cmd.Long != "" {
		fmt.Fprintf(b, "\n%s\n", markdownOf(flags.Paragraphs(cmd.Long)))
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", regexp.MustCompile(`(?m)^  `).ReplaceAllString(cmd.Example, ""))
	}
	own, shared := "", []string{}
	eachFlag(cmd, func(name, row string) {
		if common[row] {
			shared = append(shared, "`--"+name+"`")
		} else {
			own += row
		}
	})
	if own != "" {
		b.WriteString("\n| flag | what it does |\n|---|---|\n" + own)
	}
	if len(shared) > 0 {
		fmt.Fprintf(b, "\n[Common flags](#common-flags): %s.\n", strings.Join(shared, ", "))
	}
}

// commonFlags are the rows of flags that several commands have, one of each name: the most frequent one.
func commonFlags(root *cobra.Command) map[string]bool {
	uses, best := map[string]int{}, map[string]string{}
	each := func(do func(name, row string)) {
		for _, cmd := range commands(root) {
			eachFlag(cmd, do)
		}
	}
	each(func(_, row string) { uses[row]++ })
	each(func(name, row string) {
		if uses[row] > max(1, uses[best[name]]) {
			best[name] = row
		}
	})
	common := map[string]bool{}
	for _, row := range best {
		common[row] = true
	}
	return common
}

// eachFlag calls a function with the name of each flag of a command, and its row of a table.
func eachFlag(cmd *cobra.Command, add func(name, row string)) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		name := "`" + strings.TrimSpace("--"+f.Name+" "+value) + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		if d := f.DefValue; !strings.Contains(text, "(default") && !slices.Contains([]string{"", "false", "0", "0s", "[]"}, d) {
			text += " (default " + d + ")"
		}
		add(f.Name, fmt.Sprintf("| %s | %s |\n", name, cell(text)))
	})
}

// flagName is the name of a flag in a text.
var flagName = regexp.MustCompile(`(--[a-z][a-z-]*[a-z])`)

// cell is text in a cell of a Markdown table.
func cell(text string) string {
	return flagName.ReplaceAllString(strings.NewReplacer("|", `\|`, "\n", " ", "<", `\<`, "*", `\*`).Replace(text), "`$1`")
}

// markdownOf is a help text in Markdown: indented lines are code.
func markdownOf(help string) string {
	var parts []string
	for part := range strings.SplitSeq(help, "\n\n") {
		if last := len(parts) - 1; strings.HasPrefix(part, "  ") {
			code := regexp.MustCompile(`(?m)^  `).ReplaceAllString(part, "")
			if last >= 0 && strings.HasSuffix(parts[last], "\n```") {
				parts[last] = strings.TrimSuffix(parts[last], "```") + "\n" + code + "\n```"
				continue
			}
			parts = append(parts, "```text\n"+code+"\n```")
			continue
		}
		parts = append(parts, flagName.ReplaceAllString(strings.NewReplacer("*", `\*`, "<", `\<`).Replace(part), "`$1`"))
	}
	return strings.Join(parts, "\n\n")
}

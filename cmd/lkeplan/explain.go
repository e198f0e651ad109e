package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/schemas"
)

const explainHelp = `Explain a rule that "lkeplan validate" checks, a block, an argument or a function of
the language. For a rule, explain prints what the rule finds, why that matters, and
what to do. If several blocks have an argument of the name, write the blocks around it
before its name: pool.disruption.budget.nodes. Without TOPIC, list all topics.

With -o markdown, print the whole reference of this version. With -o jsonschema,
print the JSON Schema (draft 2020-12) of *.lke.json files, for editors and for
programs that write these files.

To silence a warning, write a comment on the line above the block or argument:

  # lkeplan:ignore RULE reason`

func newExplain(env *env) *cobra.Command {
	output := flags.Choice{Value: "text", Of: []string{"text", "markdown", "jsonschema"}}
	cmd := &cobra.Command{
		Use:   "explain [TOPIC]",
		Short: "Explain a rule, a block, an argument or a function",
		Long:  explainHelp,
		Example: `  lkeplan explain matches-no-plan
  lkeplan explain pool.disruption.consolidate_after
  lkeplan explain -o jsonschema > lke.schema.json`,
		Args: flags.Arguments(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			topics, err := readTopics()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			var names []string
			for _, t := range topics {
				names = append(names, cobra.CompletionWithDesc(t.name, t.what))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && output.Value != "text" {
				return fmt.Errorf("-o %s prints everything and takes no topic: %s", output.Value, args[0])
			}
			functions, err := function.Reference()
			if err != nil {
				return err
			}
			switch {
			case output.Value == "jsonschema":
				return diag.JSON(env.Stdout, schemas.JSONSchema())
			case output.Value == "markdown":
				_, err = io.WriteString(env.Data(), schemas.Reference(functions, config.All()))
				return err
			case len(args) == 0:
				return listTopics(env.Stdout)
			}
			text, err := explanation(args[0], functions)
			if err != nil {
				return err
			}
			_, err = io.WriteString(env.Data(), text)
			return err
		},
	}
	output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	return cmd
}

// explanation returns the text about a topic, for a terminal of 80 columns.
func explanation(name string, functions []schemas.Function) (string, error) {
	if rule, ok := lint.Lookup(name); ok {
		return rule.Explanation(), nil
	}
	for _, f := range functions {
		if f.Name == name {
			return fmt.Sprintf("%s\n\n%s\n\n  %s is %s\n", f.Signature, paragraph(f.Doc), f.Example, f.Result), nil
		}
	}
	if text := ofLanguage(name); text != "" {
		return text, nil
	}
	known := schemas.Paths()
	inner := slices.DeleteFunc(slices.Clone(known), func(path string) bool { return !strings.HasSuffix(path, "."+name) })
	switch {
	case len(inner) == 1:
		return ofLanguage(inner[0]), nil
	case len(inner) > 1:
		return "", fmt.Errorf("%q is in several blocks; write one of: %s", name, strings.Join(inner, ", "))
	}
	topics, err := readTopics()
	if err != nil {
		return "", err
	}
	for _, t := range topics {
		known = append(known, t.name)
	}
	return "", fmt.Errorf("unknown topic %q.%s \"lkeplan explain\" lists all topics", name, eval.DidYouMean(name, known))
}

// ofLanguage explains a block, an argument, or a key of an argument that is a map; "" if there is none at the path.
func ofLanguage(path string) string {
	block, arg, ok := schemas.Find(path)
	switch {
	case arg != nil:
		return explainArg(path, *arg)
	case ok:
		return explainBlock(path, block)
	}
	end := strings.LastIndexByte(path, '.')
	if end < 0 {
		return ""
	}
	_, arg, _ = schemas.Find(path[:end])
	if arg == nil || !strings.HasPrefix(arg.Kind.String(), "map ") {
		return ""
	}
	for _, key := range schemas.Keys() {
		if arg.Kind == schemas.Requirements && key.Name == path[end+1:] {
			return fmt.Sprintf("%s (%s)\n\n%s\n", path, key.Label, paragraph(key.Doc))
		}
	}
	return explainArg(path[:end], *arg)
}

// paragraph returns a text of the reference without its marks, in lines of 80 columns.
func paragraph(text string) string {
	return strings.Join(diag.Wrap(strings.ReplaceAll(text, "`", ""), 80), "\n")
}

// entryText returns one name of a list, with a short note, if there is one, and what it means.
func entryText(name, note, doc string) string {
	if note != "" {
		name += " (" + note + ")"
	}
	text := "\n  " + name + "\n"
	for _, line := range diag.Wrap(strings.ReplaceAll(doc, "`", ""), 76) {
		text += "    " + line + "\n"
	}
	return text
}

func explainArg(name string, arg schemas.Arg) string {
	text := arg.About()
	if arg.Path != "" {
		text += " Field: " + arg.Path + "."
	}
	text = fmt.Sprintf("%s (%s)\n\n%s\n", name, valueOf(arg), paragraph(text))
	if arg.Kind != schemas.Requirements {
		return text
	}
	text += "\nKeys:\n"
	for _, key := range schemas.Keys() {
		text += entryText(key.Name, key.Label, key.Doc)
	}
	return text
}

// valueOf returns what an argument takes.
func valueOf(arg schemas.Arg) string {
	if arg.Required {
		return arg.Kind.String() + ", required"
	}
	return arg.Kind.String() + ", default: " + arg.DefaultText()
}

func explainBlock(name string, block schemas.Block) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", block.Header(), paragraph(block.About()))
	if len(block.Args) > 0 {
		b.WriteString("\nArguments:\n")
	}
	for _, arg := range block.Args {
		b.WriteString(entryText(arg.Name, valueOf(arg), arg.About()))
	}
	switch block.Type {
	case schemas.Policy.Type:
		b.WriteString("\nValues:\n")
		for _, a := range schemas.PlanAttributes() {
			b.WriteString(entryText("plan."+a.Group+"."+a.Name, string(a.Known), a.Doc))
		}
	case schemas.Run.Type:
		b.WriteString("\nValues in assertions:\n")
		for _, v := range schemas.TestValues() {
			b.WriteString(entryText(v.Name, "", v.Doc+" Requires: "+v.When+"."))
		}
	}
	if len(block.Blocks) > 0 {
		b.WriteString("\nBlocks:\n\n")
	}
	for _, nested := range block.Blocks {
		fmt.Fprintf(&b, "  lkeplan explain %s.%s\n", name, nested.Type)
	}
	return b.String()
}

// A topic is a name that explain knows. Arguments and nested blocks are below the topics of their blocks.
type topic struct{ name, kind, what string }

func readTopics() (all []topic, err error) {
	for _, block := range append(schemas.Document(), schemas.Run) {
		what, _, _ := strings.Cut(block.About(), ". ")
		all = append(all, topic{block.Type, "Blocks", strings.TrimSuffix(what, ".") + "."})
	}
	functions, err := function.Reference()
	if err != nil {
		return nil, err
	}
	for _, f := range functions {
		what, _, _ := strings.Cut(f.Doc, ". ")
		all = append(all, topic{f.Name, "Functions", strings.ReplaceAll(strings.TrimSuffix(what, "."), "`", "") + "."})
	}
	for _, fatal := range []bool{true, false} {
		kind := "Rules that report warnings"
		if fatal {
			kind = "Rules that report errors"
		}
		for _, rule := range lint.Rules() {
			if rule.Fatal == fatal {
				all = append(all, topic{rule.Name, kind, rule.What})
			}
		}
	}
	return all, nil
}

func listTopics(w io.Writer) error {
	topics, err := readTopics()
	if err != nil {
		return err
	}
	widths := map[string]int{}
	for _, t := range topics {
		widths[t.kind] = max(widths[t.kind], len(t.name))
	}
	kind := ""
	for _, t := range topics {
		if t.kind != kind {
			kind = t.kind
			fmt.Fprintf(w, "\n%s:\n", kind)
		}
		width := widths[kind] + 4
		lines := diag.Wrap(t.what, 80-width)
		fmt.Fprintf(w, "  %-*s%s\n", width-2, t.name, strings.Join(lines, "\n"+strings.Repeat(" ", width)))
	}
	_, err = fmt.Fprint(w, "\nArguments are below their blocks: lkeplan explain pool.weight\n")
	return err
}

package schemas

import (
	"fmt"
	"slices"
	"strings"
)

// A Function is the entry of a function in the reference.
type Function struct {
	Group     string // its heading
	Terraform bool   // whether Terraform has it, with the same meaning but for a few cases
	Name      string
	Signature string
	Doc       string
	Example   string
	Result    string // of the example
}

// A Bound is a limit of a configuration.
type Bound struct {
	What    string
	Most    string
	Instead string // what to do when it is exceeded
}

// Reference returns the reference of the language in Markdown, generated from the table.
func Reference(functions []Function, bounds []Bound) string {
	w := &reference{}
	w.line("# Reference")
	w.line("The blocks, arguments, requirements and functions of the language. This page is the output of " +
		"`lkeplan explain -o markdown`, generated from the table that lkeplan uses to read files. To update it, run `make " +
		"generate`.")
	w.line("lkeplan compiles all files of a directory together: `*.lke.hcl`, and `*.lke.json` in JSON. Files " +
		"named `*.auto.lkevars.hcl` or `*.auto.lkevars.json` set variables.")
	w.line("An argument whose value is null is treated as omitted. Null is an error for arguments that make a " +
		"decision or set a limit: `enabled`, `for_each`, conditions, arguments of `guards`, and required " +
		"arguments. A `for_each` with an empty map or set creates no object.")
	w.line("A `dynamic` block repeats a nested block: `dynamic \"budget\" { for_each = var.windows content { " +
		"nodes = budget.value } }` adds a `budget` for each element. Its `content` refers to the element as " +
		"`budget.key` and `budget.value`.")
	w.line("## Blocks")
	for _, block := range Document() {
		w.block(block, 3, "")
	}
	w.tests()
	w.requirements()
	w.functions(functions)
	w.bounds(bounds)
	return w.String()
}

func (w *reference) bounds(bounds []Bound) {
	w.line("## Limits")
	w.line("Anyone who can open a pull request can have lkeplan compile a configuration, so the cost of " +
		"compiling is limited: one second of CPU time and 300 MiB for a file of any content, plus half a " +
		"millisecond and 50 KiB for each object. A configuration that exceeds a limit is an error, which names " +
		"the place.")
	var rows [][]string
	for _, b := range bounds {
		rows = append(rows, []string{b.What, b.Most, b.Instead})
	}
	w.table([]string{"what", "at most", "instead"}, rows)
}

// A reference is a page under construction.
type reference struct {
	strings.Builder
	metadata string // the first block with a metadata block, which is the same in all of them
}

// line writes a paragraph or a heading.
func (w *reference) line(text string) {
	if w.Len() > 0 {
		w.WriteString("\n")
	}
	w.WriteString(text + "\n")
}

// table writes a table, with pipes escaped in its cells.
func (w *reference) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	w.line("| " + strings.Join(head, " | ") + " |")
	w.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		w.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
}

// plan documents the attributes of a change that policies can use.
func (w *reference) plan() {
	var rows [][]string
	for _, a := range PlanAttributes() {
		rows = append(rows, []string{"`plan." + a.Group + "." + a.Name + "`", string(a.Known), a.Doc})
	}
	w.table([]string{"value", "known", "meaning"}, rows)
}

// tests documents test files.
func (w *reference) tests() {
	w.line("## Tests")
	w.line("Files named `*" + TestSuffix + "` contain the tests of their directory, which `lkeplan test` runs. " +
		"They contain only `run` blocks, and no other command reads them.")
	w.block(Run, 3, "")
	var rows [][]string
	for _, v := range TestValues() {
		ofPolicies := slices.ContainsFunc(PlanAttributes(), func(a PlanAttribute) bool { return v.Name == "plan."+a.Group+"."+a.Name })
		if !ofPolicies {
			rows = append(rows, []string{"`" + v.Name + "`", v.When, v.Doc})
		}
	}
	w.line("Assertions can refer to `var`, `local`, `cluster`, `pool`, `node_class` and `module` as in the " +
		"directory, and to:")
	w.table([]string{"value", "requires", "meaning"}, rows)
	w.line("With `base`, `plan.objects`, `plan.nodes` and `plan.cost` have the values that [policies](#policy-name) use. " +
		"`plan.nodes.total` and `plan.cost.current` also require one of `snapshot`, `pods` and `workloads`. So do the other " +
		"values of `plan.nodes` if the nodes of a pool are replaced.")
}

// block documents a block, and below it its nested blocks.
func (w *reference) block(block Block, level int, around string) {
	title := "`" + block.Header() + "`"
	if around != "" {
		title += " in `" + around + "`"
	}
	w.line(strings.Repeat("#", level) + " " + title)
	if block.Type == Metadata.Type && w.metadata != "" {
		w.line("The same as in `" + w.metadata + "`.")
		return
	}
	if block.Type == Metadata.Type {
		w.metadata = around
	}
	w.line(block.About())
	var rows [][]string
	for _, arg := range block.Args {
		rows = append(rows, []string{"`" + arg.Name + "`", arg.Kind.String(), arg.DefaultText(), arg.About(),
			fieldOf(arg)})
	}
	w.table([]string{"argument", "value", "default", "meaning", "field"}, rows)
	switch block.Type {
	case Policy.Type:
		w.plan()
	case NodeClass.Type:
		w.modes(block)
	}
	for _, nested := range block.Blocks {
		within := block.Type
		if around != "" {
			within = around + "` `" + block.Type
		}
		w.block(nested, min(level+1, 6), within)
	}
}

// Header is the first line of a block in a file, with its labels in capitals.
func (b Block) Header() string {
	header := b.Type
	for _, label := range b.Labels {
		header += fmt.Sprintf(" %q", strings.ToUpper(label))
	}
	return header
}

// About describes a block, in Markdown.
func (b Block) About() string {
	text := b.Modes.prefix() + b.Doc
	if b.Object != nil {
		text += fmt.Sprintf(" API version: `%s`.", b.Object.APIVersion)
	}
	if b.List {
		text += " Can be repeated."
	}
	if b.Path != "" {
		text += fmt.Sprintf(" Field: `%s`.", b.Path)
	}
	return text
}

// DefaultText is what an omitted argument means.
func (a Arg) DefaultText() string {
	switch {
	case a.Required:
		return "required"
	case a.Default == "":
		return "none"
	}
	return a.Default
}

// Find returns the block, or the argument of a block, at a path of names, such as pool.disruption.consolidate_after.
func Find(path string) (block Block, arg *Arg, found bool) {
	blocks := append(Document(), Run)
	names := strings.Split(path, ".")
	for i, name := range names {
		at := slices.IndexFunc(blocks, func(b Block) bool { return b.Type == name })
		if at >= 0 {
			block, blocks = blocks[at], blocks[at].Blocks
			continue
		}
		at = slices.IndexFunc(block.Args, func(a Arg) bool { return a.Name == name })
		if at < 0 || i < len(names)-1 {
			return Block{}, nil, false
		}
		return block, &block.Args[at], true
	}
	return block, nil, true
}

// Paths are the paths of all blocks and arguments, for Find.
func Paths() []string {
	var all []string
	var add func(before string, blocks []Block)
	add = func(before string, blocks []Block) {
		for _, b := range blocks {
			all = append(all, before+b.Type)
			for _, arg := range b.Args {
				all = append(all, before+b.Type+"."+arg.Name)
			}
			add(before+b.Type+".", b.Blocks)
		}
	}
	add("", append(Document(), Run))
	return all
}

func fieldOf(arg Arg) string {
	if arg.Path == "" {
		return ""
	}
	return "`" + arg.Path + "`"
}

func (w *reference) requirements() {
	w.line("## Requirements")
	w.line("The argument `requirements` of a pool is a map. A plain value must match, a list allows any of its " +
		"values, and a function expresses any other condition. A key is one of these short names, or a full " +
		"label such as `\"example.com/tier\"`. Null removes a key that `merge` would add.")
	var rows [][]string
	for _, key := range Keys() {
		rows = append(rows, []string{"`" + key.Name + "`", "`" + key.Label + "`", key.Doc})
	}
	w.table([]string{"key", "label", "meaning"}, rows)
}

func (w *reference) functions(functions []Function) {
	w.line("## Functions")
	w.line("All functions are pure: they cannot read the time, random numbers, the environment or the network. " +
		"Results of requirement functions are shown in Kubernetes notation. `lkeplan explain NAME` describes each function.")
	var terraform []string
	for _, f := range functions {
		if f.Terraform {
			terraform = append(terraform, "`"+f.Name+"`")
		}
	}
	functions = slices.DeleteFunc(slices.Clone(functions), func(f Function) bool { return f.Terraform })
	for len(functions) > 0 {
		group := functions[0].Group
		w.line("### " + group)
		var rows [][]string
		for len(functions) > 0 && functions[0].Group == group {
			f := functions[0]
			rows = append(rows, []string{"`" + f.Signature + "`", f.Doc, "`" + f.Example + "`", "`" + f.Result + "`"})
			functions = functions[1:]
		}
		w.table([]string{"function", "meaning", "example", "result"}, rows)
	}
	w.line("### Functions of Terraform")
	w.line("These have the meaning of [Terraform's functions](https://developer.hashicorp.com/terraform/language/functions). " +
		"Exceptions: the sum of an empty list is 0, `merge` returns null if all arguments are null, `jsondecode` and " +
		"`yamldecode` refuse duplicate keys, and `yamldecode` refuses anchors and aliases.")
	w.line(strings.Join(terraform, ", "))
}

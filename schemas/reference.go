package schemas

import (
	"fmt"
	"strings"
)

// A Function is what the reference says of a function of the language.
type Function struct {
	Group     string // the heading it is under
	Name      string
	Signature string
	Doc       string
	Example   string
	Result    string // of the example
}

// A Bound is a limit of what a configuration may have.
type Bound struct {
	What    string
	Most    string
	Instead string // what to do about more
}

// Reference is the reference of the language in Markdown, made from the table.
func Reference(functions []Function, bounds []Bound) string {
	w := &reference{}
	w.line("# Reference")
	w.line("Every block, argument, requirement and function. This page is the output of `lkeplan docs`, which is " +
		"made from the table by which lkeplan reads files; `make generate` rewrites it.")
	w.line("A directory is compiled as a whole: all files named `*.lke.hcl`, or `*.lke.json` for the same in JSON. " +
		"Files named `*.auto.lkevars.hcl`, or `*.auto.lkevars.json`, set variables.")
	w.line("An argument that is null counts as left out, so that a value may be absent. Where something is decided, or " +
		"bounded by a `guards` block, null is an error: `enabled`, `for_each`, conditions, required arguments. An empty " +
		"map or set in `for_each` makes nothing.")
	w.line("Blocks inside of others can be repeated: `dynamic \"budget\" { for_each = var.windows content { nodes = " +
		"budget.value } }` writes a `budget` for each element, which `content` sees as `budget.key` and `budget.value`.")
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
	w.line("Whoever can open a pull request can have a configuration compiled. So what one may cost is bounded: " +
		"a second of processor time and 300 MiB for a file of any content, besides half a millisecond and 50 KiB for " +
		"each object. Work that is more than that ends with an error that says where.")
	var rows [][]string
	for _, b := range bounds {
		rows = append(rows, []string{b.What, b.Most, b.Instead})
	}
	w.table([]string{"what", "at most", "instead"}, rows)
}

// A reference is a page that is being written.
type reference struct {
	strings.Builder
}

// line writes a paragraph or a heading.
func (w *reference) line(text string) {
	if w.Len() > 0 {
		w.WriteString("\n")
	}
	w.WriteString(text + "\n")
}

// table writes a table. What is in its cells is text, and no end of them.
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

// plan describes what policies know of a change.
func (w *reference) plan() {
	var rows [][]string
	for _, a := range PlanAttributes() {
		rows = append(rows, []string{"`plan." + a.Group + "." + a.Name + "`", string(a.Known), a.Doc})
	}
	w.table([]string{"value", "known", "meaning"}, rows)
}

// tests describes the files of tests.
func (w *reference) tests() {
	w.line("## Tests")
	w.line("Files named `*" + TestSuffix + "` have the tests of the directory that they are in, which `lkeplan test` tries. " +
		"They have `run` blocks and nothing else, and no other command reads them.")
	w.block(Run, 3, "")
	var rows [][]string
	for _, v := range TestValues() {
		rows = append(rows, []string{"`" + v.Name + "`", v.When, v.Doc})
	}
	w.line("Assertions refer to `var`, `local`, `cluster`, `pool`, `node_class` and `module` as the directory does, and to:")
	w.table([]string{"value", "the run has", "meaning"}, rows)
}

// block describes a block, and below it the blocks inside it.
func (w *reference) block(block Block, level int, around string) {
	header := block.Type
	for _, label := range block.Labels {
		header += fmt.Sprintf(" %q", strings.ToUpper(label))
	}
	title := "`" + header + "`"
	if around != "" {
		title += " in `" + around + "`"
	}
	w.line(strings.Repeat("#", level) + " " + title)
	w.line(block.Modes.prefix() + block.Doc + occurrence(block))
	var rows [][]string
	for _, arg := range block.Args {
		rows = append(rows, []string{"`" + arg.Name + "`", arg.Kind.String(), defaultOf(arg), arg.says(), fieldOf(arg)})
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

func occurrence(block Block) (text string) {
	if block.Object != nil {
		text += fmt.Sprintf(" The object is a `%s` of `%s`.", block.Object.Kind, block.Object.APIVersion)
	}
	if block.List {
		text += " May be repeated."
	}
	if block.Path != "" {
		text += fmt.Sprintf(" Field: `%s`.", block.Path)
	}
	return text
}

func defaultOf(arg Arg) string {
	switch {
	case arg.Required:
		return "required"
	case arg.Default == "":
		return "none"
	}
	return arg.Default
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
		"values, and a function says anything else; `null` takes a key out that `merge` would bring in. A key is " +
		"one of these short names, or a label in full, such as `\"example.com/tier\"`.")
	var rows [][]string
	for _, key := range Keys() {
		rows = append(rows, []string{"`" + key.Name + "`", "`" + key.Label + "`", key.Doc})
	}
	w.table([]string{"key", "label", "meaning"}, rows)
}

func (w *reference) functions(functions []Function) {
	w.line("## Functions")
	w.line("All functions are pure: there is no time, no randomness, no environment and no network. The results of " +
		"requirement functions are shown as Kubernetes has them.")
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
}

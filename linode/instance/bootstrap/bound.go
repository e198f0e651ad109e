package bootstrap

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/lkeplan/lkeplan/linode/api"
)

// callable are the functions that a template may call. The other functions of text/template format without a
// bound or are for HTML.
var callable = map[string]bool{
	"json": true, "base64": true, "sh": true,
	"and": true, "or": true, "not": true, "eq": true, "ne": true, "len": true, "index": true,
}

const (
	// maxTemplate is the largest size of a template in bytes.
	maxTemplate = 64 << 10
	// maxWork bounds the work of a template: executed parts plus bytes that functions return. A template reaches
	// it within a moment.
	maxWork = 200_000
	// calling is how many parts a part counts for that runs a template: each such template
	// within another takes memory.
	calling = 50
)

// limited is a writer that accepts as much as Linode does.
type limited []byte

var (
	errTooLarge = errors.New("too large")
	errTooMuch  = errors.New("the template exceeds its limit of operations here; avoid nested ranges")
)

func (l *limited) Write(p []byte) (int, error) {
	if len(*l)+len(p) > api.MaxUserData {
		return 0, errTooLarge
	}
	*l = append(*l, p...)
	return len(p), nil
}

// budget counts what a template has done so far.
type budget int

func (b *budget) spend(n int) error {
	if *b += budget(n); *b > maxWork {
		return errTooMuch
	}
	return nil
}

// made passes a function's result on, if it is not too large.
func (b *budget) made(text string) (string, error) {
	if len(text) > api.MaxUserData {
		return "", errTooLarge
	}
	return text, b.spend(len(text))
}

// workFunction is called in each list of a template. A template cannot call it itself.
const workFunction = "work"

func (b *budget) functions() template.FuncMap {
	return template.FuncMap{
		workFunction: func(n int) (string, error) { return "", b.spend(n) },
		"json": func(value any) (string, error) {
			text, err := json.Marshal(value)
			if err != nil {
				return "", err
			}
			return b.made(string(text))
		},
		"base64": func(text string) (string, error) { return b.made(base64.StdEncoding.EncodeToString([]byte(text))) },
		"sh": func(text string) (string, error) {
			return b.made("'" + strings.ReplaceAll(text, "'", `'\''`) + "'")
		},
	}
}

// bound refuses functions that templates may not call, and inserts counters of the work into each part.
func bound(t *template.Template) error {
	for _, part := range t.Templates() {
		if part.Tree == nil || part.Root == nil {
			continue
		}
		w := walker{tree: part.Tree}
		if w.list(part.Root, 1); w.err != nil {
			return w.err
		}
	}
	return nil
}

// walker visits the parts of a template.
type walker struct {
	tree *parse.Tree
	err  error
}

// list visits parts that run in sequence and inserts a counter before them. It returns the number of parts.
func (w *walker) list(l *parse.ListNode, line int) (parts int) {
	if l == nil {
		return 0
	}
	for _, n := range l.Nodes {
		parts += w.node(n)
	}
	l.Nodes = append([]parse.Node{w.count(parts+1, line)}, l.Nodes...)
	return parts + 1
}

func (w *walker) node(n parse.Node) (parts int) {
	switch n := n.(type) {
	case *parse.ActionNode:
		return w.pipe(n.Pipe)
	case *parse.TemplateNode:
		return w.pipe(n.Pipe) + calling
	case *parse.IfNode:
		return w.branch(&n.BranchNode)
	case *parse.WithNode:
		return w.branch(&n.BranchNode)
	case *parse.RangeNode:
		return w.branch(&n.BranchNode)
	case *parse.PipeNode:
		return w.pipe(n)
	case *parse.ChainNode:
		return w.node(n.Node)
	case *parse.IdentifierNode:
		if !callable[n.Ident] && w.err == nil {
			at, _ := w.tree.ErrorContext(n)
			w.err = fmt.Errorf("template: %s: function %q not defined", at, n.Ident)
		}
	}
	return 1
}

func (w *walker) branch(b *parse.BranchNode) int {
	w.list(b.List, b.Line) // they count themselves
	w.list(b.ElseList, b.Line)
	return w.pipe(b.Pipe)
}

func (w *walker) pipe(p *parse.PipeNode) (parts int) {
	if p == nil {
		return 1
	}
	for _, command := range p.Cmds {
		for _, argument := range command.Args {
			parts += w.node(argument)
		}
	}
	return parts + 1
}

// count is an action that spends. Its place is that of what it counts, for the error.
func (w *walker) count(parts, line int) parse.Node {
	text := fmt.Sprintf("%s{{%s %d}}", strings.Repeat("\n", line-1), workFunction, parts)
	trees, err := parse.Parse(w.tree.ParseName, text, "", "", map[string]any{workFunction: func() {}})
	if err != nil {
		w.err = errors.Join(w.err, err)
		return &parse.TextNode{NodeType: parse.NodeText}
	}
	nodes := trees[w.tree.ParseName].Root.Nodes
	return nodes[len(nodes)-1]
}

// Package schemas is the language as data: each block and each argument is one row of a table.
// Decoding, compiled objects, the reference and the schema for editors are all derived from it, so
// a new argument is one new row.
//
// The package contains no HCL, no Kubernetes client and no cloud. It defines how a thing is spelled
// and which field it sets, never how it is read or written. It also embeds the CRDs.
package schemas

import "strings"

// A Block is one block type: its header, its arguments and its nested blocks.
type Block struct {
	Type   string
	Labels []string // the names of the labels in the header, for messages and documentation
	Doc    string

	// Object is what each block of this type compiles to; nil if it compiles to no object of its
	// own.
	Object *Object

	// Path is the field that a nested block sets, relative to the block around it. A block with a
	// label is an entry of a map, with the label as its key. A List block is an element of a list.
	// Any other block is the object at Path.
	Path string
	List bool

	Args   []Arg
	Blocks []Block
	Modes  Modes // in which it has an effect

	// Open blocks accept additional arguments, whose names the user chooses.
	Open bool
}

// An Object is a kind of Kubernetes object.
type Object struct {
	APIVersion string
	Kind       string
}

// An Arg is one argument of a block.
type Arg struct {
	Name     string
	Path     string // the Kubernetes field, relative to the block's Path, see Steps; empty if there is none
	Kind     Kind
	Required bool
	NotNull  bool     // null is an error, and does not mean that the argument is omitted: that would lift a bound
	Meta     bool     // read by lkeplan before it builds the object, and not part of it
	OneOf    []string // the possible values, if no CRD lists them
	Numeric  bool     // of String: a number can be written without quotes
	Keys     []string // of Quantities: the possible names, in addition to names with a slash
	Modes    Modes
	Doc      string
	Default  string // what an omitted argument means, for readers only
}

// Document lists the blocks that can stand at the top of a file.
func Document() []Block {
	return []Block{Lkeplan, Cluster, Variable, Locals, NodeClass, Pool, Limits, Overlay, Buffer, Module, Moved,
		Import, Removed, Check, Guards, Policy}
}

// Metadata is the block for the labels and annotations of the object itself, not of its nodes.
var Metadata = Block{
	Type: "metadata",
	Doc:  "Labels and annotations of the Kubernetes object itself, not of its nodes.",
	Path: "metadata",
	Args: []Arg{
		{Name: "labels", Path: "labels", Kind: StringMap, Doc: "Labels of the object."},
		{Name: "annotations", Path: "annotations", Kind: StringMap, Doc: "Annotations of the object."},
	},
}

// objectName, forEach, enabled and manifest are the same in each block that compiles to objects.
var (
	objectName = Arg{
		Name: "name", Path: "metadata.name", Kind: String, Default: "the block's label, with dashes for underscores",
		Doc: "The name of the object in the cluster.",
	}
	forEach = Arg{
		Name: "for_each", Kind: Any, Meta: true,
		Doc: "A map or a set of strings. The block is compiled once for each element, which is available as " +
			"each.key and each.value.",
	}
	enabled = Arg{
		Name: "enabled", Kind: Bool, Meta: true, Default: "true",
		Doc: "Whether the block is compiled. If false, the block is ignored.",
	}
	manifest = Arg{
		Name: "manifest", Kind: Any, Meta: true,
		Doc: "Fields of spec that no argument covers, and labels and annotations of the object. They are merged " +
			"over the compiled object and validated with it.",
	}
)

// Steps splits the path of an argument into the keys of the maps that lead to the field. They are joined by dots; a key with
// dots is in brackets at the end.
func Steps(path string) []string {
	path, last, bracketed := strings.Cut(path, "[")
	steps := strings.Split(path, ".")
	if bracketed {
		steps = append(steps, strings.TrimSuffix(last, "]"))
	}
	return steps
}

// Package schemas is the language as data: every block and every argument is
// one row of a table. Decoding, the compiled objects, the reference and the
// editors' schema are all read from it, so a new argument is one new row.
//
// The package knows no HCL, no Kubernetes client and no cloud: it says how a
// thing is spelled and where it goes, never how it is read or written.
package schemas

// A Block is one block type: its header, its arguments, the blocks inside it.
type Block struct {
	Type   string
	Labels []string // the names of the labels in the header, for messages and documentation
	Doc    string

	// Object is what each block of this type compiles to; nil for blocks that
	// compile to nothing of their own.
	Object *Object

	// Path is where a nested block's fields go, relative to the block around
	// it. A block with a label is an entry of a map, keyed by that label; a
	// List block is an element of a list; any other is the object at Path.
	Path string
	List bool

	Args   []Arg
	Blocks []Block
	Modes  Modes // in which it has an effect

	// Open blocks take arguments besides those listed, of names that the user
	// chooses.
	Open bool
}

// An Object names a kind of Kubernetes object.
type Object struct {
	APIVersion string
	Kind       string
}

// An Arg is one argument of a block.
type Arg struct {
	Name     string
	Path     string // the Kubernetes field, relative to the block's Path; empty if there is none
	Kind     Kind
	Required bool
	NotNull  bool     // null is an error, and not as if the argument were left out: it would lift a bound
	Meta     bool     // read by lkeplan before the object is made, and no part of it
	OneOf    []string // the values that are possible, where no CRD lists them
	Keys     []string // of Quantities: the names that are possible, besides those with a slash
	Modes    Modes    // in which it has an effect
	Doc      string
	Default  string // what an omitted argument means, for readers; nothing is derived from it
}

// Document lists the blocks that may stand at the top of a file.
func Document() []Block {
	return []Block{Lkeplan, Cluster, Variable, Locals, NodeClass, Pool, Limits, Overlay, Buffer, Module, Moved,
		Import, Removed, Check, Guards, Policy}
}

// Metadata is the block for the labels and annotations of the object itself,
// as opposed to those of the nodes made from it.
var Metadata = Block{
	Type: "metadata",
	Doc:  "Labels and annotations of the Kubernetes object itself.",
	Path: "metadata",
	Args: []Arg{
		{Name: "labels", Path: "labels", Kind: StringMap, Doc: "Labels of the object."},
		{Name: "annotations", Path: "annotations", Kind: StringMap, Doc: "Annotations of the object."},
	},
}

// objectName, forEach, enabled and manifest are the same in every block that
// compiles to objects.
var (
	objectName = Arg{
		Name: "name", Path: "metadata.name", Kind: String, Default: "the block's label, with dashes for underscores",
		Doc: "The object's name in the cluster.",
	}
	forEach = Arg{
		Name: "for_each", Kind: Any, Meta: true,
		Doc: "A map, or a set of strings: the block is compiled once for each element, which it sees as each.key " +
			"and each.value.",
	}
	enabled = Arg{
		Name: "enabled", Kind: Bool, Meta: true, Default: "true",
		Doc: "False leaves the block out, as if it were not written.",
	}
	manifest = Arg{
		Name: "manifest", Kind: Any, Meta: true,
		Doc: "Fields of spec that no argument covers, and labels and annotations of the object, merged over the " +
			"compiled object and validated with it.",
	}
)

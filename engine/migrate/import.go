// Package migrate moves clusters to lkeplan and away from it. Import writes objects of other tools as HCL that compiles
// to the same, and ImportLKE makes pools from the LKE pools of a cluster, as Linode lists them or as Terraform has them.
//
// UninstallByDrain and UninstallAndKeep remove lkeplan from a cluster: nodes are drained and deleted, or they stay with
// nothing on them that only lkeplan removes. They read live objects, and no configuration.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/encode"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Imported is a directory made from objects.
type Imported struct {
	Files    []config.File // in the order to read them
	Blocks   []encode.Block
	Compiled compile.Result  // what the files compile to
	Diags    hcl.Diagnostics // of compiling them
	// Remainder is how the files differ from the objects: applying them
	// would change it.
	Remainder []Difference
	Owners    Owners
}

// Owned are the objects of one owner.
type Owned struct {
	kube.Owner
	Objects []string // as manifest.Key writes them
}

// Exact reports whether applying the files changes nothing.
func (i Imported) Exact() bool { return len(i.Remainder) == 0 && !i.Diags.HasErrors() }

type original struct {
	live      map[string]any // as it is in the cluster, in the version that compiles
	authored  map[string]any // without what other tools write on it
	defaulted map[string]any // the same, as the API server stores it
	class     string         // the node class of another kind that it refers to; "" if there is none
}

// targetOf returns the block that an object compiles from. Versions of a group have the
// same fields, but for those of Karpenter before version 1.
func targetOf(obj map[string]any) (schemas.Object, bool) {
	group, version, _ := strings.Cut(manifest.APIVersion(obj), "/")
	object, known := ofKind(manifest.Kind(obj))
	if !known || !strings.HasPrefix(object.APIVersion, group+"/") || object == *schemas.Pool.Object && version != "v1" {
		return schemas.Object{}, false
	}
	return object, true
}

// ofKind returns the object of a kind that has a block; kinds of other groups can have the same name.
func ofKind(kind string) (schemas.Object, bool) {
	for _, table := range schemas.Document() {
		if table.Object != nil && table.Object.Kind == kind {
			return *table.Object, true
		}
	}
	return schemas.Object{}, false
}

// Import writes objects as files of a directory for a cluster, and checks what
// it wrote: the files are compiled, and each object is compared with what would
// be applied to it. The objects must be importable. Comments are put before the
// block of the cluster.
func Import(ctx context.Context, objects []map[string]any, cluster config.Cluster, comments string) (Imported, error) {
	return write(ctx, objects, cluster, comments, encode.Import)
}

// Write is Import for objects that do not exist yet: there is nothing to take over.
func Write(ctx context.Context, objects []map[string]any, cluster config.Cluster) (Imported, error) {
	return write(ctx, objects, cluster, "", nil)
}

func write(ctx context.Context, objects []map[string]any, cluster config.Cluster, comments string,
	permit func(encode.Block) string) (Imported, error) {
	linode.Register()
	validator := kube.BuiltinValidator()
	originals, toEncode, err := prepare(validator, objects)
	if err != nil {
		return Imported{}, err
	}
	var result Imported
	if result.Blocks, err = encode.Blocks(toEncode); err != nil {
		return Imported{}, err
	}
	written := []byte(comments + encode.Cluster(cluster))
	if cluster.Name == schemas.PlaceholderName {
		cluster.Name = "imported" // everything but the name is checked
	}
	result.Files = filesOf(result.Blocks, encode.Cluster(cluster), permit)
	if result.Compiled, result.Diags, err = compile.Files(ctx, result.Files); err != nil {
		return Imported{}, err
	}
	result.Files[0].Data = written
	for _, live := range objects {
		result.Owners.Add(manifest.KeyOf(live).String(), kube.Owners(live))
	}
	result.Remainder, err = remainder(validator, originals, result.Compiled)
	return result, err
}

// prepare returns objects in the form to compare, and in the form to write.
func prepare(validator *kube.Validator,
	objects []map[string]any) (originals []original, toEncode []config.Object, err error) {
	for _, live := range objects {
		object, ok := targetOf(live)
		if !ok {
			return nil, nil, fmt.Errorf("lkeplan has no block for a %s", manifest.Kind(live))
		}
		authored := kube.Authored(live)
		authored["apiVersion"] = object.APIVersion
		metadata := manifest.Ensure(authored, "metadata")
		if object == *schemas.Buffer.Object && metadata["namespace"] == nil {
			metadata["namespace"] = "default" // as kubectl does
		}
		withoutEmpty(authored)
		class := ""
		if object == *schemas.Pool.Object {
			if class = foreignClass(live); class != "" {
				live = runtime.DeepCopyJSON(live)
				referHere(live)
				referHere(authored)
			}
		}
		defaulted, err := validator.Defaulted(authored)
		if err != nil {
			return nil, nil, err
		}
		least, err := validator.Minimal(authored)
		if err != nil {
			return nil, nil, err
		}
		originals = append(originals, original{live: live, authored: authored, defaulted: defaulted, class: class})
		toEncode = append(toEncode, config.Object{Manifest: least, Defaulted: defaulted})
	}
	return originals, toEncode, nil
}

// foreignClass is the node class of another kind that a NodePool refers to, in words; "" if it refers to one of Linode.
func foreignClass(pool map[string]any) string {
	ref := manifest.Map(pool, "spec", "template", "spec", "nodeClassRef")
	group, kind := manifest.Text(ref, "group"), manifest.Text(ref, "kind")
	if group == "" || kind == "" || group == schemas.NodeClassGroup && kind == schemas.NodeClass.Object.Kind {
		return ""
	}
	class := fmt.Sprintf("%s %s of %s", kind, manifest.Text(ref, "name"), group)
	if cloud := lint.Cloud(group); cloud != "" {
		class += " (" + cloud + ")"
	}
	return class
}

// referHere makes a NodePool refer to the LinodeNodeClass of the name that its class has.
func referHere(pool map[string]any) {
	ref := manifest.Map(pool, "spec", "template", "spec", "nodeClassRef")
	ref["group"], ref["kind"] = schemas.NodeClassGroup, schemas.NodeClass.Object.Kind
}

// withoutEmpty removes empty maps from an object.
func withoutEmpty(obj map[string]any) {
	for _, in := range [][]string{{"spec", "template", "metadata", "labels"}, {"spec", "template", "metadata", "annotations"},
		{"spec", "template", "metadata"}, {"spec", "limits"}} {
		above := manifest.Map(obj, in[:len(in)-1]...)
		if inner, ok := above[in[len(in)-1]].(map[string]any); ok && len(inner) == 0 {
			delete(above, in[len(in)-1])
		}
	}
}

// perFile keeps files below the size that can be read.
const perFile = 100

// filesOf puts blocks into files by their type, with the permission to take each over that
// permit writes, if any.
func filesOf(blocks []encode.Block, cluster string, permit func(encode.Block) string) []config.File {
	list := []config.File{{Name: "cluster.lke.hcl", Data: []byte(cluster)}}
	names := map[string]string{
		schemas.NodeClass.Type: "node_classes", schemas.Pool.Type: "pools", schemas.Limits.Type: "limits",
		schemas.Overlay.Type: "overlays", schemas.Buffer.Type: "buffers",
	}
	var imports []string
	for len(blocks) > 0 {
		chunk := blocks[:sameType(blocks)]
		blocks = blocks[len(chunk):]
		name := names[chunk[0].Addr.Type]
		for n := 2; slices.ContainsFunc(list, func(f config.File) bool { return f.Name == name+".lke.hcl" }); n++ {
			name = fmt.Sprintf("%s_%d", names[chunk[0].Addr.Type], n)
		}
		var texts []string
		for _, b := range chunk {
			texts = append(texts, b.HCL)
			if permit != nil {
				imports = append(imports, permit(b))
			}
		}
		list = append(list, config.File{Name: name + ".lke.hcl", Data: []byte(strings.Join(texts, "\n"))})
	}
	if len(imports) > 0 && len(imports) <= config.MaxImports {
		list = append(list, config.File{Name: "imports.lke.hcl", Data: []byte(importsComment + strings.Join(imports, "\n"))})
	}
	return list
}

// sameType is how many of the first blocks go into one file.
func sameType(blocks []encode.Block) int {
	n := slices.IndexFunc(blocks, func(b encode.Block) bool { return b.Addr.Type != blocks[0].Addr.Type })
	if n < 0 {
		n = len(blocks)
	}
	return min(n, perFile)
}

const importsComment = `# Permission to take these objects over from their current owners. Once that is
# done, this file can be deleted.

`

// Owners lists owners once, with all their objects.
type Owners []Owned

// Add notes the owners of an object.
func (all *Owners) Add(object string, owners []kube.Owner) {
	for _, owner := range owners {
		at := slices.IndexFunc(*all, func(o Owned) bool { return o.Tool == owner.Tool && o.What == owner.What })
		if at < 0 {
			at = len(*all)
			*all = append(*all, Owned{Owner: owner})
		}
		(*all)[at].Objects = append((*all)[at].Objects, object)
	}
}

// Choose returns the objects that are named by KIND/NAME, KIND or NAME as for
// kubectl, and that a label selector selects; all of them if neither is given.
// Each name must be that of an object, and at least one object must be left.
func Choose(objects []manifests.Object, names []string, selector string) ([]manifests.Object, error) {
	selects, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("--selector %s: %w", selector, err)
	}
	found := map[string]bool{}
	const kinds = "NodePool, LinodeNodeClass, NodeOverlay, CapacityBuffer or CapacityLimit"
	var chosen []manifests.Object
	for _, object := range objects {
		named := len(names) == 0
		for _, name := range names {
			if means(name, object.Fields) {
				named, found[name] = true, true
			}
		}
		if named && selects.Matches(labels.Set((&unstructured.Unstructured{Object: object.Fields}).GetLabels())) {
			chosen = append(chosen, object)
		}
	}
	for _, name := range names {
		if !found[name] {
			return nil, fmt.Errorf("there is no %s; the objects are: %s", name, diag.OneLine(objectNames(objects)))
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("there is nothing to import: no " + kinds)
	}
	return chosen, nil
}

// means reports whether an argument names an object. Kinds can be written in
// lower case and in the plural.
func means(argument string, object map[string]any) bool {
	isKind := func(text string) bool {
		kind := strings.ToLower(manifest.Kind(object))
		return slices.Contains([]string{kind, kind + "s", kind + "es"}, strings.ToLower(text))
	}
	if kind, name, both := strings.Cut(argument, "/"); both {
		return isKind(kind) && name == manifest.Name(object)
	}
	return isKind(argument) || argument == manifest.Name(object)
}

func objectNames(objects []manifests.Object) string {
	names := map[string]bool{}
	for _, object := range objects {
		names[manifest.Kind(object.Fields)+"/"+manifest.Name(object.Fields)] = true
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

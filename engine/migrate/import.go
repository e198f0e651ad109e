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
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/instancetype"
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
	Remainder   []Difference
	Owners      Owners
	OfNodePlans int      // objects that NodePlans apply: lkeplan apply refuses them
	Commented   []string // blocks that do not compile, with the reason; they are comments in the files
	Dropped     []string // labels and annotations that belong to programs
}

// Owned are the objects of one owner.
type Owned struct {
	kube.Owner
	Objects []string // as manifest.Key writes them
}

// Exact reports whether applying the files changes nothing.
func (i Imported) Exact() bool {
	return len(i.Remainder) == 0 && !i.Diags.HasErrors() && len(i.Commented) == 0
}

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
// be applied to it. A block that does not compile becomes a comment. The objects must be importable. Comments are put before the
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
	instancetype.Register()
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
	commented := map[config.Addr]bool{}
	for more := true; more; {
		var places []place
		result.Files, places = filesOf(result.Blocks, commented, encode.Cluster(cluster), permit)
		if result.Compiled, result.Diags, err = compile.Files(ctx, result.Files); err != nil {
			return Imported{}, err
		}
		before := len(commented)
		for i, place := range places {
			b := &result.Blocks[i]
			if problems := place.problems(result.Diags); len(problems) > 0 && !commented[b.Addr] {
				commented[b.Addr] = true
				if permit != nil {
					b.HCL += "\n" + permit(*b)
				}
				b.HCL = comment(b.HCL, problems)
				result.Commented = append(result.Commented, fmt.Sprintf("%s: %s", b.Addr, problems[0]))
			}
		}
		more = len(commented) > before
	}
	result.Files[0].Data = written
	for _, live := range objects {
		owners := kube.Owners(live)
		if plan, applied := nodePlanOf(live); applied {
			owners = append([]kube.Owner{plan}, slices.DeleteFunc(owners, func(o kube.Owner) bool { return o.Tool == "kubectl" })...)
			result.OfNodePlans++
		}
		result.Owners.Add(manifest.KeyOf(live).String(), owners)
		result.Dropped = append(result.Dropped, kube.Dropped(live)...)
	}
	result.Remainder, err = remainder(validator, originals, result.Compiled)
	if len(commented) > 0 { // their blocks have the reason
		result.Remainder = slices.DeleteFunc(result.Remainder, func(d Difference) bool { return d.Why == notCompiled })
	}
	return result, err
}

// A place is where the text of a block is.
type place struct {
	file        string
	first, last int // lines
}

// problems are the errors in a block, and then its warnings; none if there is no error.
func (p place) problems(diags hcl.Diagnostics) []string {
	texts := map[hcl.DiagnosticSeverity][]string{}
	for _, d := range diags {
		if s := d.Subject; s != nil && s.Filename == p.file && p.first <= s.Start.Line && s.Start.Line <= p.last {
			texts[d.Severity] = append(texts[d.Severity], d.Summary+": "+d.Detail)
		}
	}
	if len(texts[hcl.DiagError]) == 0 {
		return nil
	}
	return append(texts[hcl.DiagError], texts[hcl.DiagWarning]...)
}

// comment makes a comment of a block, with the reasons.
func comment(block string, reasons []string) string {
	lines := []string{"This block does not compile. Correct it, and uncomment it."}
	for _, reason := range reasons {
		lines = append(lines, diag.Wrap(diag.OneLine(reason), 76)...)
	}
	lines = append(lines, "")
	lines = append(lines, strings.Split(strings.TrimSuffix(block, "\n"), "\n")...)
	for i, line := range lines {
		lines[i] = strings.TrimRight("# "+line, " ")
	}
	return strings.Join(lines, "\n") + "\n"
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
		live = runtime.DeepCopyJSON(live)
		// The API server stores no empty map there.
		maps.DeleteFunc(manifest.Map(live, "metadata"), func(_ string, v any) bool { return isEmpty(v) })
		withoutEmpty(authored)
		class := ""
		if object == *schemas.Pool.Object {
			if class = foreignClass(live); class != "" {
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
		if object == *schemas.Pool.Object {
			keepEmpty(authored, least)
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

// withoutEmpty removes empty maps without effect from an object.
func withoutEmpty(obj map[string]any) {
	for _, in := range [][]string{{"spec", "template", "metadata"}, {"spec", "limits"}} {
		above := manifest.Map(obj, in[:len(in)-1]...)
		if inner, ok := above[in[len(in)-1]].(map[string]any); ok && len(inner) == 0 {
			delete(above, in[len(in)-1])
		}
	}
}

// keepEmpty keeps empty lists and maps of a NodePool's template: by Karpenter's hash, a pool without them is another pool.
func keepEmpty(authored, least map[string]any) {
	for _, in := range [][]string{{"spec", "taints"}, {"spec", "startupTaints"}, {"metadata", "labels"}, {"metadata", "annotations"}} {
		path := []string{"spec", "template", in[0]}
		if value := manifest.Map(authored, path...)[in[1]]; isEmpty(value) {
			manifest.Ensure(least, path...)[in[1]] = value
		}
	}
}

func isEmpty(v any) bool {
	list, isList := v.([]any)
	fields, isMap := v.(map[string]any)
	return isList && len(list) == 0 || isMap && len(fields) == 0
}

// perFile keeps files below the size that can be read.
const perFile = 100

// filesOf puts blocks into files by their type, with the permission to take each over that
// permit writes, if any. A commented block needs none. The places are those of the blocks.
func filesOf(blocks []encode.Block, commented map[config.Addr]bool, cluster string,
	permit func(encode.Block) string) (list []config.File, places []place) {
	list = []config.File{{Name: "cluster.lke.hcl", Data: []byte(cluster)}}
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
		line := 1
		for _, b := range chunk {
			texts = append(texts, b.HCL)
			next := line + strings.Count(b.HCL, "\n") + 1
			places = append(places, place{file: name + ".lke.hcl", first: line, last: next - 1})
			line = next
			if permit != nil && !commented[b.Addr] {
				imports = append(imports, permit(b))
			}
		}
		list = append(list, config.File{Name: name + ".lke.hcl", Data: []byte(strings.Join(texts, "\n"))})
	}
	if len(imports) > 0 && len(imports) <= config.MaxImports {
		list = append(list, config.File{Name: "imports.lke.hcl", Data: []byte(importsComment + strings.Join(imports, "\n"))})
	}
	return list, places
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

// nodePlanOf returns the NodePlan that applies an object, by the same label as a comparison. It reverts what kubectl does.
func nodePlanOf(live map[string]any) (owner kube.Owner, applied bool) {
	if !strings.HasPrefix(manifest.Label(live, kube.InventoryLabel), kube.NodePlanOwner+".") {
		return kube.Owner{}, false
	}
	name := nodeplan.HolderOf(live)
	return kube.Owner{Tool: "lkeplan", What: "NodePlan " + name, Steps: []string{
		"to change the object, commit to the source of the NodePlan: only the NodePlan can apply it",
		"to move it to another directory, replace its block there with a removed block, and wait until the NodePlan has applied that; then " +
			"apply the other directory",
	}}, true
}

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

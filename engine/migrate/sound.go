package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Sound are the objects that can be imported. For each other one, left has its place, and what is wrong with it. Other
// mistakes are found when the HCL is compiled.
func Sound(objects []manifests.Object) (sound []map[string]any, left []string) {
	validator := kube.BuiltinValidator()
	first := map[manifest.Key]manifests.Object{}
	for _, o := range objects {
		problem := unsound(validator, o.Fields)
		if before, again := first[identity(o.Fields)]; problem == "" && again {
			problem = "it is given twice"
			if before.Place() != o.Place() {
				problem = "it is in " + before.Place() + " already"
			}
		}
		if problem == "" {
			first[identity(o.Fields)] = o
			sound = append(sound, o.Fields)
			continue
		}
		text := fmt.Sprintf("%s: %s", manifest.KeyOf(o.Fields), problem)
		if o.File != "" {
			text = o.Place() + ": " + text
		}
		left = append(left, text)
	}
	return sound, left
}

// identity is the key of an object, with its default namespace.
func identity(obj map[string]any) manifest.Key {
	key := manifest.KeyOf(obj)
	if key.Kind == schemas.Buffer.Object.Kind {
		key.Namespace = cmp.Or(key.Namespace, "default")
	}
	return key
}

// maxName is the length limit of a name: it becomes the value of a label.
const maxName = 63

// unsound is why an object cannot be written as a block; "" if it can.
func unsound(validator *kube.Validator, live map[string]any) string {
	object, ok := targetOf(live)
	switch name := manifest.Name(live); {
	case !ok:
		return otherVersion(live)
	case name == "":
		return "it has no name: an object with only generateName cannot be imported"
	case len(name) > maxName:
		return fmt.Sprintf("its name has %d characters, and the label of its nodes holds %d: give it a shorter one", len(name), maxName)
	}
	obj := maps.Clone(live)
	obj["apiVersion"] = object.APIVersion
	_, errs := validator.Validate(obj, nil)
	if !slices.ContainsFunc(errs, unwritable) { // compiling the HCL reports the other mistakes
		err := comparable(validator, obj)
		if err == nil {
			return ""
		}
		if len(errs) == 0 {
			return err.Error()
		}
	}
	var texts []string
	for _, err := range errs {
		text := err.Error()
		if err.Detail == kube.NoSuchField && object == *schemas.Pool.Object {
			text += moved(err.Field)
		}
		texts = append(texts, text)
	}
	return strings.Join(slices.Compact(texts), "; ")
}

// unwritable reports whether no HCL can have what a mistake is about.
func unwritable(err *field.Error) bool {
	return err.Type == field.ErrorTypeTypeInvalid || err.Type == field.ErrorTypeForbidden && err.Detail == kube.NoSuchField ||
		strings.HasPrefix(err.Field, "metadata") && err.Field != "metadata.namespace"
}

// moved is where a NodePool has a field of another version's; "" if it has none of that name.
func moved(path string) string {
	name := path[strings.LastIndex(path, ".")+1:]
	for _, arg := range schemas.Pool.Args {
		if strings.HasPrefix(arg.Path, "spec.") && strings.HasSuffix(arg.Path, "."+name) {
			return "; write it as " + arg.Path
		}
	}
	return ""
}

// comparable returns why an object cannot be compared with what its HCL compiles to.
func comparable(validator *kube.Validator, obj map[string]any) error {
	defaulted, err := validator.Defaulted(obj)
	if err != nil {
		return err
	}
	if _, err := differences(defaulted, defaulted); err != nil {
		return err
	}
	desired := runtime.DeepCopyJSON(defaulted)
	delete(manifest.Map(desired, "metadata"), "managedFields") // an apply has none, but a live object has
	if _, _, err := validator.Predict(defaulted, desired); err != nil {
		return err
	}
	_, err = plan.TemplateHash(defaulted)
	return err
}

// otherVersion is what is wrong with an object that has no block, or another apiVersion than its block.
func otherVersion(obj map[string]any) string {
	object, known := ofKind(manifest.Kind(obj))
	if !known {
		return fmt.Sprintf("lkeplan has no block for a %s", manifest.Kind(obj))
	}
	return fmt.Sprintf("its apiVersion is %q: read it from a cluster with the kinds of %s, or convert it", manifest.APIVersion(obj), object.APIVersion)
}

// Meant reports whether an object has a kind with a block, in any version. Other projects have kinds of the same names.
func Meant(obj map[string]any) bool {
	if _, ok := targetOf(obj); ok {
		return true
	}
	group, _, grouped := strings.Cut(manifest.APIVersion(obj), "/")
	if grouped && !strings.Contains(group, "karpenter") {
		return false
	}
	_, known := ofKind(manifest.Kind(obj))
	return known
}

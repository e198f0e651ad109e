package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Sound are the objects that can be imported. For each other one, left has its place, what is wrong with it, and what to
// write. Other mistakes are found when the HCL is compiled.
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
	if before := beforeV1(live); before != "" {
		return before
	}
	if wrong := notText(live); wrong != "" {
		return wrong
	}
	obj := maps.Clone(live)
	obj["apiVersion"] = object.APIVersion
	_, errs := validator.Validate(obj, nil)
	var wrong field.ErrorList
	for _, err := range errs {
		if err.Type == field.ErrorTypeTypeInvalid || err.Type == field.ErrorTypeForbidden && err.Detail == kube.NoSuchField ||
			strings.HasPrefix(err.Field, "metadata") && err.Field != "metadata.namespace" {
			wrong = append(wrong, err)
		}
	}
	if len(wrong) == 0 {
		err := comparable(validator, obj)
		if err == nil {
			return ""
		}
		if wrong = errs; len(wrong) == 0 {
			return err.Error()
		}
	}
	var texts []string
	for _, err := range wrong {
		texts = append(texts, explained(err))
	}
	return strings.Join(slices.Compact(texts), "; ")
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

// otherVersion is what is wrong with an object that has the kind of a block, but another apiVersion.
func otherVersion(obj map[string]any) string {
	version := manifest.APIVersion(obj)
	if manifest.Kind(obj) == "Provisioner" {
		return "a Provisioner is older than Karpenter 1, and has no block: write it as a NodePool"
	}
	switch object, known := ofKind(manifest.Kind(obj)); {
	case !known:
		return fmt.Sprintf("lkeplan has no block for a %s", manifest.Kind(obj))
	case version == "":
		return "it has no apiVersion: write apiVersion: " + object.APIVersion
	default:
		return fmt.Sprintf("its apiVersion is %s: write apiVersion: %s", version, object.APIVersion)
	}
}

// Meant reports whether an object has a kind with a block, in any version, or had one before
// Karpenter 1. Other projects have kinds of the same names.
func Meant(obj map[string]any) bool {
	if _, ok := targetOf(obj); ok {
		return true
	}
	group, _, grouped := strings.Cut(manifest.APIVersion(obj), "/")
	if grouped && !strings.Contains(group, "karpenter") {
		return false
	}
	_, known := ofKind(manifest.Kind(obj))
	return known || manifest.Kind(obj) == "Provisioner"
}

// beforeV1 is what to do about objects of Karpenter before version 1, whose fields differ: read as v1, they would have
// another meaning.
func beforeV1(obj map[string]any) string {
	group, version, _ := strings.Cut(manifest.APIVersion(obj), "/")
	if group != "karpenter.sh" || !strings.HasPrefix(version, "v1alpha5") && !strings.HasPrefix(version, "v1beta") {
		return ""
	}
	const renamed = "in v1, the policy WhenUnderutilized is WhenEmptyOrUnderutilized and needs consolidateAfter, " +
		"spec.disruption.expireAfter is spec.template.spec.expireAfter, nodeClassRef has a group in place of its " +
		"apiVersion, and kubelet is in the node class"
	return fmt.Sprintf("the fields of %s differ from v1: read it from a cluster with Karpenter 1, or convert it (%s)",
		manifest.APIVersion(obj), renamed)
}

// notText finds labels and annotations of an object that are not strings: in YAML true and 1 are not.
func notText(obj map[string]any) string {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return "metadata: this is not a map"
	}
	for _, part := range []string{"labels", "annotations"} {
		entries, isMap := metadata[part].(map[string]any)
		if !isMap && metadata[part] != nil {
			return fmt.Sprintf("metadata.%s: this is not a map of strings", part)
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if _, text := entries[key].(string); !text {
				return fmt.Sprintf("metadata.%s[%s]: %s is not a string: write it in quotes", part, key, said(entries[key]))
			}
		}
	}
	return ""
}

var days = regexp.MustCompile(`^([0-9]{1,5})d$`)

// explained is an error about a field, with what to write.
func explained(err *field.Error) string {
	text := err.Error()
	last := err.Field[strings.LastIndex(err.Field, ".")+1:]
	switch value := fmt.Sprint(err.BadValue); {
	case strings.HasSuffix(err.Field, "spec.template.spec.kubelet"):
		text += ": delete it, LKE sets up the kubelet; in instance mode, kubelet is an argument of node_class"
	case strings.HasSuffix(err.Field, "nodeClassRef.apiVersion"):
		text += ": write group: " + schemas.NodeClassGroup
	case days.MatchString(value):
		n, _ := strconv.Atoi(days.FindStringSubmatch(value)[1])
		text += fmt.Sprintf(": write %dh, which is as long", 24*n)
	case slices.Contains([]string{"expireAfter", "consolidateAfter", "terminationGracePeriod", "duration"}, last):
		text += ": write hours, minutes and seconds, such as 720h"
	case strings.HasPrefix(err.Field, "spec.limits"):
		text += ": write an amount such as 100 or 64Gi"
	case err.Type == field.ErrorTypeTypeInvalid && (strings.Contains(err.Field, "labels") || strings.Contains(err.Field, "annotations") ||
		strings.HasPrefix(last, "values")):
		text += ": write it in quotes"
	}
	return text
}

package workload

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Hashed returns the shapes with a hash in place of each word that users have chosen: names of owners and
// namespaces, keys and values of labels and taints, resources, claims and scheduling gates. Equal words have equal
// hashes, so that pods get the same nodes. Kinds, amounts, ports, and well-known labels and resources stay.
//
// A hash hides a word from a reader who does not know it, but a reader can guess a word and compare its hash.
func (s Shapes) Hashed(salt string) Shapes {
	return s.translated(func(word string) string { return Hash(salt, word) })
}

// Readable returns hashed shapes in which the hashes of known words are replaced by the words, such as labels and
// taints of the pools for which the pods are simulated.
func (s Shapes) Readable(salt string, words []string) Shapes {
	known := map[string]string{}
	for _, word := range slices.Concat(words, s.Namespaces, s.knownWords()) {
		known[Hash(salt, word)] = word
	}
	return s.translated(func(hash string) string {
		if word, ok := known[hash]; ok {
			return word
		}
		return hash
	})
}

// Hash returns the hash that replaces a word of users, such as the name of a workload, in a snapshot.
func Hash(salt, word string) string {
	if word == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(word))
	return "h" + hex.EncodeToString(mac.Sum(nil))[:15] // valid as a label value and in a label key
}

// translated replaces words. It keeps the order, because pods of the same size are planned in it.
func (s Shapes) translated(word func(string) string) Shapes {
	known := map[string]string{} // a cache, because most words are in many shapes
	t := translator(func(from string) string {
		to, seen := known[from]
		if !seen {
			to = word(from)
			known[from] = to
		}
		return to
	})
	set := Shapes{
		Pods: t.shapes(s.Pods), DaemonSets: t.shapes(s.DaemonSets), Fixed: t.shapes(s.Fixed), Machines: t.machines(s.Machines),
		Budgets: []Budget{}, Notes: append([]string{}, s.Notes...),
	}
	if len(s.Templates) > 0 {
		set.Templates = t.shapes(s.Templates)
	}
	set.Namespaces = s.Namespaces
	for _, b := range s.Budgets {
		b.Name, b.Namespace, b.Spec.Selector = t(b.Name), t(b.Namespace), translate(t, b.Spec.Selector)
		set.Budgets = append(set.Budgets, b)
	}
	return set
}

// translator returns the replacement of a word; "" for "".
type translator func(word string) string

func (t translator) shapes(from []Shape) []Shape {
	list := make([]Shape, 0, len(from))
	for _, s := range from {
		kind, name, _ := strings.Cut(s.Owner, " ")
		s.Owner, s.Namespace = kind+" "+t(name), t(s.Namespace)
		s.Labels = translate(t, &metav1.LabelSelector{MatchLabels: s.Labels}).MatchLabels
		s.Annotations = plainAnnotations(s.Annotations)
		s.Spec = *translate(t, &s.Spec)
		s.Volumes.Shared = slices.Clone(s.Volumes.Shared)
		for i := range s.Volumes.Shared {
			s.Volumes.Shared[i] = t(s.Volumes.Shared[i])
		}
		slices.Sort(s.Volumes.Shared)
		if s.Waits != nil {
			s.Waits = &simulate.ClaimWait{Why: s.Waits.Why, Name: t(s.Waits.Name)}
		}
		list = append(list, s)
	}
	return list
}

// translate returns a value with words replaced in the fields in which users choose them.
func translate[T any](t translator, value *T) *T {
	if value == nil {
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	if err == nil {
		value = new(T)
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(t.fields("", fields), value)
	}
	if err != nil {
		panic(err) // it is a Kubernetes type, which can be converted to JSON and back
	}
	return value
}

// fields translates an object. of is the name of the field that has it.
func (t translator) fields(of string, from map[string]any) map[string]any {
	to := make(map[string]any, len(from))
	for name, value := range from {
		switch of {
		case "nodeSelector", "matchLabels":
			to[t.key(name)] = t(value.(string))
		case "requests", "limits", "overhead":
			to[t.resource(name)] = value
		default:
			to[name] = t.field(from, of, name, value)
		}
	}
	return to
}

// field translates a field of an object.
func (t translator) field(from map[string]any, of, name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		return t.fields(name, v)
	case string:
		switch {
		case name == "key", name == "topologyKey":
			return t.key(v)
		case name == "value", name == "name" && of == "schedulingGates":
			return t(v)
		}
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			switch text, _ := e.(string); {
			case name == "matchLabelKeys", name == "mismatchLabelKeys":
				list[i] = t.key(text)
			case name == "namespaces", name == "values" && from["operator"] != "Gt" && from["operator"] != "Lt": // Gt compares numbers
				list[i] = t(text)
			default:
				list[i] = t.field(nil, name, name, e)
			}
		}
		if name == "namespaces" {
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		}
		return list
	}
	return value
}

// resource translates the name of a resource, except those of Kubernetes and of Linode's plan types.
func (t translator) resource(name string) string {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods, schemas.GPU, schemas.VPU:
		return name
	}
	if strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) {
		return name
	}
	return t(name)
}

// key translates the key of a label, unless it is well known.
func (t translator) key(key string) string {
	if everybodyHas(key) {
		return key
	}
	return t(key)
}

func everybodyHas(key string) bool {
	_, alias := karpv1.NormalizedLabels[key]
	return alias || karpv1.WellKnownLabels.Has(key) || slices.Contains(linodev1alpha1.PlanLabels(), key) ||
		key == corev1.LabelHostname || key == "metadata.name"
}

// plainAnnotations returns the annotations whose value is a number, a time or a boolean.
func plainAnnotations(from map[string]string) map[string]string {
	kept := maps.Clone(from)
	maps.DeleteFunc(kept, func(_, value string) bool {
		_, noBool := strconv.ParseBool(value)
		_, noNumber := strconv.Atoi(value)
		_, noTime := time.ParseDuration(value)
		return noBool != nil && noNumber != nil && noTime != nil
	})
	return kept
}

// KnownWords returns all words in objects by which pods may select nodes, and all values of the labels of plan
// types.
func KnownWords(objects []client.Object, types []*cloudprovider.InstanceType) []string {
	words := map[string]bool{}
	for _, obj := range objects {
		fields, err := manifest.Untyped(obj)
		if err != nil {
			panic(err) // it is a Kubernetes type, which can be converted to JSON
		}
		collectWords(words, fields)
		if buffer, ok := obj.(*autoscalingv1beta1.CapacityBuffer); ok {
			key := simulate.TemplateKey(buffer)
			words[key.Namespace+"/"+key.Name] = true // the name of a template
		}
	}
	for _, it := range types {
		for _, r := range it.Requirements {
			for _, value := range r.Values() {
				words[value] = true
			}
		}
		for _, o := range it.Offerings {
			for _, r := range o.Requirements {
				for _, value := range r.Values() {
					words[value] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(words))
}

func collectWords(words map[string]bool, value any) {
	switch v := value.(type) {
	case string:
		words[v] = true
	case map[string]any:
		for key, inner := range v {
			words[key] = true
			collectWords(words, inner)
		}
	case []any:
		for _, inner := range v {
			collectWords(words, inner)
		}
	}
}

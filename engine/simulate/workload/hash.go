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
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Hashed is the set without any word that people have chosen: names of owners and
// namespaces, keys and values of labels and taints, resources, claims and scheduling gates are
// hashes. Equal words have equal hashes, so that the pods still go where they went. Kinds,
// amounts and ports stay, and labels and resources that everybody has.
//
// A hash hides a word from who reads it, not from who guesses it.
func (s Shapes) Hashed(salt string) Shapes {
	return s.translated(func(word string) string { return Hash(salt, word) })
}

// Readable is a hashed set in which those hashes are words again whose words are known:
// labels and taints of the pools that the pods are to go to.
func (s Shapes) Readable(salt string, words []string) Shapes {
	known := map[string]string{}
	for _, word := range words {
		known[Hash(salt, word)] = word
	}
	return s.translated(func(hash string) string {
		if word, ok := known[hash]; ok {
			return word
		}
		return hash
	})
}

// Series has for each hash of the set, by a salt, the hash that the same word has by another;
// nil where there is no other.
func (s Shapes) Series(salt, other string) (of map[string]string) {
	s.translated(func(word string) string {
		if word == "" || other == "" {
			return word
		}
		if of == nil {
			of = map[string]string{}
		}
		of[Hash(salt, word)] = Hash(other, word)
		return word
	})
	return of
}

// Followed is a hashed set with those hashes for its own that a series has.
func (s Shapes) Followed(series map[string]string) Shapes {
	return s.translated(func(hash string) string {
		if other, ok := series[hash]; ok {
			return other
		}
		return hash
	})
}

// Hash is what a word is called in a hashed set.
func Hash(salt, word string) string {
	if word == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(word))
	return "h" + hex.EncodeToString(mac.Sum(nil))[:15] // a value of a label, and a key of one
}

// translated has another word for each. The order stays: equal pods are planned in it.
func (s Shapes) translated(word func(string) string) Shapes {
	t := translator{word}
	set := Shapes{
		Pods: t.shapes(s.Pods), DaemonSets: t.shapes(s.DaemonSets), Budgets: []Budget{},
		Notes: append([]string{}, s.Notes...),
	}
	for _, b := range s.Budgets {
		b.Name, b.Namespace, b.Spec.Selector = t.word(b.Name), t.word(b.Namespace), t.selector(b.Spec.Selector)
		set.Budgets = append(set.Budgets, b)
	}
	return set
}

type translator struct{ word func(string) string }

func (t translator) shapes(from []Shape) []Shape {
	list := make([]Shape, 0, len(from))
	for _, s := range from {
		kind, name, _ := strings.Cut(s.Owner, " ")
		s.Owner, s.Namespace = kind+" "+t.word(name), t.word(s.Namespace)
		s.Labels, s.Annotations = t.labels(s.Labels), numbers(s.Annotations)
		s.Spec = t.spec(*s.Spec.DeepCopy())
		s.Volumes.Shared = t.each(s.Volumes.Shared)
		slices.Sort(s.Volumes.Shared)
		if s.Waits != nil {
			s.Waits = &simulate.ClaimWait{Why: s.Waits.Why, Name: t.word(s.Waits.Name)}
		}
		list = append(list, s)
	}
	return list
}

// numbers are the annotations that say nothing but a number, a time or yes and no.
func numbers(from map[string]string) map[string]string {
	var kept map[string]string
	for key, value := range from {
		_, noBool := strconv.ParseBool(value)
		_, noNumber := strconv.Atoi(value)
		_, noTime := time.ParseDuration(value)
		if noBool != nil && noNumber != nil && noTime != nil {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = value
	}
	return kept
}

// spec changes a copy.
func (t translator) spec(spec corev1.PodSpec) corev1.PodSpec {
	spec.Overhead = t.amounts(spec.Overhead)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			t.resources(&containers[i].Resources)
		}
	}
	if spec.Resources != nil {
		t.resources(spec.Resources)
	}
	spec.NodeSelector = t.labels(spec.NodeSelector)
	for i := range spec.SchedulingGates {
		spec.SchedulingGates[i].Name = t.word(spec.SchedulingGates[i].Name)
	}
	for i := range spec.Tolerations {
		toleration := &spec.Tolerations[i]
		toleration.Key, toleration.Value = t.key(toleration.Key), t.word(toleration.Value)
	}
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		c.TopologyKey, c.LabelSelector = t.key(c.TopologyKey), t.selector(c.LabelSelector)
		c.MatchLabelKeys = t.keys(c.MatchLabelKeys)
	}
	for _, term := range terms(spec.Affinity) {
		term.TopologyKey, term.LabelSelector = t.key(term.TopologyKey), t.selector(term.LabelSelector)
		term.MatchLabelKeys, term.MismatchLabelKeys = t.keys(term.MatchLabelKeys), t.keys(term.MismatchLabelKeys)
		for i := range term.Namespaces {
			term.Namespaces[i] = t.word(term.Namespaces[i])
		}
		slices.Sort(term.Namespaces)
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
		t.nodes(a.NodeAffinity)
	}
	return spec
}

func (t translator) resources(r *corev1.ResourceRequirements) {
	r.Requests, r.Limits = t.amounts(r.Requests), t.amounts(r.Limits)
}

// amounts translates the names of resources, unless everybody has them.
func (t translator) amounts(from corev1.ResourceList) corev1.ResourceList {
	if from == nil {
		return nil
	}
	list := make(corev1.ResourceList, len(from))
	for name, q := range from {
		if !slices.Contains(everybodys, name) && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			name = corev1.ResourceName(t.word(string(name)))
		}
		list[name] = q
	}
	return list
}

// everybodys are the resources of Kubernetes, and those that plans of Linode have.
var everybodys = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods,
	schemas.GPU, schemas.VPU,
}

func (t translator) nodes(a *corev1.NodeAffinity) {
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		for i := range required.NodeSelectorTerms {
			t.term(&required.NodeSelectorTerms[i])
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		t.term(&a.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference)
	}
}

func (t translator) term(term *corev1.NodeSelectorTerm) {
	for _, list := range [][]corev1.NodeSelectorRequirement{term.MatchExpressions, term.MatchFields} {
		for i := range list {
			r := &list[i]
			if r.Key = t.key(r.Key); r.Operator == corev1.NodeSelectorOpGt || r.Operator == corev1.NodeSelectorOpLt {
				continue // than a number
			}
			for j := range r.Values {
				r.Values[j] = t.word(r.Values[j])
			}
		}
	}
}

func (t translator) selector(from *metav1.LabelSelector) *metav1.LabelSelector {
	if from == nil {
		return nil
	}
	s := &metav1.LabelSelector{MatchLabels: t.labels(from.MatchLabels)}
	for _, r := range from.MatchExpressions {
		r.Key, r.Values = t.key(r.Key), slices.Clone(r.Values)
		for i := range r.Values {
			r.Values[i] = t.word(r.Values[i])
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s
}

func (t translator) labels(from map[string]string) map[string]string {
	if from == nil {
		return nil
	}
	labels := make(map[string]string, len(from))
	for key, value := range from {
		labels[t.key(key)] = t.word(value)
	}
	return labels
}

func (t translator) each(from []string) (words []string) {
	for _, word := range from {
		words = append(words, t.word(word))
	}
	return words
}

func (t translator) keys(from []string) (keys []string) {
	for _, key := range from {
		keys = append(keys, t.key(key))
	}
	return keys
}

// key translates the key of a label, unless it is one that everybody has.
func (t translator) key(key string) string {
	if _, alias := karpv1.NormalizedLabels[key]; alias || karpv1.WellKnownLabels.Has(key) ||
		slices.Contains(linodev1alpha1.PlanLabels(), key) || key == corev1.LabelHostname || key == "metadata.name" {
		return key
	}
	return t.word(key)
}

// KnownWords are all that objects say, which pods may select nodes by, and all values of the
// labels that plan types have.
func KnownWords(objects []map[string]any, types []*cloudprovider.InstanceType) []string {
	words := map[string]bool{}
	for _, obj := range objects {
		collect(words, obj)
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

func collect(words map[string]bool, value any) {
	switch v := value.(type) {
	case string:
		words[v] = true
	case map[string]any:
		for key, inner := range v {
			words[key] = true
			collect(words, inner)
		}
	case []any:
		for _, inner := range v {
			collect(words, inner)
		}
	}
}

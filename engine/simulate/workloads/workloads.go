// Package workloads reads which pods there are to be: from manifests, as people write
// them for kubectl, and from a few characters.
//
// It knows neither files nor nodes.
package workloads

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An Object is one manifest, and where it is from.
type Object struct {
	File   string
	Fields map[string]any // as JSON has them
}

// Found is what manifests say of pods.
type Found struct {
	Workloads  []simulate.Workload
	DaemonSets []*appsv1.DaemonSet
	Budgets    []*policyv1.PodDisruptionBudget
	Notes      []string // what of them does not count
}

// Of reads manifests. What autoscalers scale has as many pods as they allow at least, or
// with most at most. An object of another that is there, such as the ReplicaSet of a
// Deployment, does not count again.
func Of(objects []Object, most bool) (Found, error) {
	r := reader{most: most, there: map[key]bool{}, scaled: map[key]*scale{}, others: map[string]int{}}
	for _, o := range objects {
		if what := title(o.Fields); strings.ContainsFunc(what, unprintable) {
			return Found{}, fmt.Errorf("%s: %q: no object of Kubernetes has such a name", o.File, what)
		}
		r.there[keyOf(o.Fields)] = true
	}
	for _, read := range []func(Object) error{r.scaler, r.object} {
		for _, o := range objects {
			if err := read(o); err != nil {
				return Found{}, fmt.Errorf("%s: %s: %w", o.File, title(o.Fields), err)
			}
		}
	}
	r.conclude()
	return r.found, nil
}

// reader reads the objects one by one.
type reader struct {
	most   bool
	found  Found
	there  map[key]bool
	scaled map[key]*scale
	others map[string]int // objects of kinds that have no pods
}

// key names an object; groups and versions do not matter.
type key struct{ kind, namespace, name string }

func keyOf(o map[string]any) key {
	return key{manifest.Kind(o), cmp.Or(manifest.Namespace(o), corev1.NamespaceDefault), manifest.Name(o)}
}

// title names an object for people.
func title(o map[string]any) string {
	name := manifest.Name(o)
	if ns := manifest.Namespace(o); ns != "" {
		name = ns + "/" + name
	}
	return manifest.Kind(o) + " " + name
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func (r *reader) note(format string, args ...any) {
	r.found.Notes = append(r.found.Notes, fmt.Sprintf(format, args...))
}

// object reads an object that has pods.
func (r *reader) object(o Object) error {
	if owner, ok := r.owned(o.Fields); ok && r.there[owner] {
		return nil // its owner counts
	}
	switch kind := manifest.Kind(o.Fields); kind {
	case "Pod":
		return r.pod(o)
	case "Deployment":
		d, err := typed[appsv1.Deployment](r, o)
		r.add(o, ptr.Deref(d.Spec.Replicas, 1), d.Spec.Template)
		return err
	case "StatefulSet":
		s, err := typed[appsv1.StatefulSet](r, o)
		r.add(o, ptr.Deref(s.Spec.Replicas, 1), s.Spec.Template)
		return err
	case "ReplicaSet":
		s, err := typed[appsv1.ReplicaSet](r, o)
		r.add(o, ptr.Deref(s.Spec.Replicas, 1), s.Spec.Template)
		return err
	case "DaemonSet":
		s, err := typed[appsv1.DaemonSet](r, o)
		s.Namespace = cmp.Or(s.Namespace, corev1.NamespaceDefault)
		r.found.DaemonSets = append(r.found.DaemonSets, &s)
		return err
	case "Job":
		j, err := typed[batchv1.Job](r, o)
		r.job(o, j.Spec, ptr.Deref(j.Spec.Suspend, false))
		return err
	case "CronJob":
		c, err := typed[batchv1.CronJob](r, o)
		r.job(o, c.Spec.JobTemplate.Spec, ptr.Deref(c.Spec.Suspend, false))
		return err
	case "PodDisruptionBudget":
		b, err := typed[policyv1.PodDisruptionBudget](r, o)
		b.Namespace = cmp.Or(b.Namespace, corev1.NamespaceDefault)
		r.found.Budgets = append(r.found.Budgets, &b)
		return err
	case "HorizontalPodAutoscaler":
	default:
		r.others[kind]++
	}
	return nil
}

// owned returns the object that controls another.
func (r *reader) owned(o map[string]any) (key, bool) {
	meta, _ := o["metadata"].(map[string]any)
	owners, _ := meta["ownerReferences"].([]any)
	for _, owner := range owners {
		ref, _ := owner.(map[string]any)
		if controls, _ := ref["controller"].(bool); controls {
			kind, _ := ref["kind"].(string)
			name, _ := ref["name"].(string)
			return key{kind, keyOf(o).namespace, name}, true
		}
	}
	return key{}, false
}

// pod reads a pod that is written down by itself.
func (r *reader) pod(o Object) error {
	pod, err := typed[corev1.Pod](r, o)
	owner, owned := r.owned(o.Fields)
	switch {
	case err != nil:
		return err
	case owned && (owner.kind == "DaemonSet" || owner.kind == "Node"):
		r.note("%s does not count: it is of %s %s, which is not given.", title(o.Fields), owner.kind, owner.name)
		return nil
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		r.note("%s does not count: it has ended.", title(o.Fields))
		return nil
	}
	r.add(o, 1, corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec})
	return nil
}

// job adds the pods that a Job has at a time at most.
func (r *reader) job(o Object, spec batchv1.JobSpec, suspended bool) {
	if suspended {
		r.note("%s does not count: it is suspended.", title(o.Fields))
		return
	}
	pods := ptr.Deref(spec.Parallelism, 1)
	if spec.Completions != nil {
		pods = min(pods, *spec.Completions)
	}
	r.add(o, pods, spec.Template)
}

// add adds so many pods of a template.
func (r *reader) add(o Object, pods int32, template corev1.PodTemplateSpec) {
	if s := r.scaled[keyOf(o.Fields)]; s != nil {
		pods, s.used = s.pods, true
	}
	r.found.Workloads = append(r.found.Workloads, simulate.Workload{
		Name: title(o.Fields), Pods: max(0, int(pods)),
		Pod: corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: keyOf(o.Fields).namespace, Labels: template.Labels, Annotations: template.Annotations,
			},
			Spec: template.Spec,
		},
	})
}

// typed reads an object as what its kind says. Fields that the kind does not have are
// noted.
func typed[T any](r *reader, o Object) (value T, err error) {
	fields := runtime.DeepCopyJSON(o.Fields)
	delete(fields, "status")
	if phase, ok := phaseOf(o.Fields); ok {
		fields["status"] = map[string]any{"phase": phase}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return value, err
	}
	strict := yaml.UnmarshalStrict(text, new(T))
	if err := yaml.Unmarshal(text, &value); err != nil {
		return value, plain(err)
	}
	if strict != nil {
		r.note("%s: %s: %v: ignored.", o.File, title(o.Fields), plain(strict))
	}
	return value, nil
}

// plain is an error without the path that it took through the decoder.
func plain(err error) error {
	text := err.Error()
	return errors.New(text[strings.LastIndex(text, "json: ")+len("json: "):])
}

func phaseOf(o map[string]any) (string, bool) {
	status, _ := o["status"].(map[string]any)
	phase, ok := status["phase"].(string)
	return phase, ok
}

// conclude notes what was given and does not count.
func (r *reader) conclude() {
	for _, k := range slices.SortedFunc(maps.Keys(r.scaled), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	}) {
		if s := r.scaled[k]; !s.used {
			r.note("%s does not count: it scales %s %s, which is not given.", s.by, k.kind, k.name)
		}
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(r.others)) {
		kinds = append(kinds, fmt.Sprintf("%s (%d)", kind, r.others[kind]))
	}
	if len(kinds) > 0 {
		r.note("Left out, having no pods that are known: %s.", strings.Join(kinds, ", "))
	}
}

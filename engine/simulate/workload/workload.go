// Package workload reads the pods for a simulation: from manifests that are meant for kubectl (workload.go,
// volumes.go), from a short text such as 200x1cpu,2Gi (ParsePods), and from the pods of a cluster, which a snapshot
// stores as shapes (shapes.go, hash.go).
//
// It opens no files, calls no cluster, and knows no nodes.
package workload

import (
	"cmp"
	"crypto/sha256"
	encodingjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/json"

	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// nameAndPlace returns the kind and name of an object with its place, for messages.
func nameAndPlace(o manifests.Object) string { return o.Place() + ": " + kindAndName(o.Fields) }

// Found is the result of reading manifests.
type Found struct {
	simulate.Pods
	Notes   []string // what was ignored
	Missing []string // objects that have pods, or change them, and could not be read
}

// Read reads manifests. A workload with an autoscaler has its minimum number of pods, or its maximum if most is
// set. An object whose controller is given as well, such as the ReplicaSet of a Deployment, does not count again.
// An invalid object is an error; if its file was found in a directory, it becomes a line of Missing instead.
func Read(objects []manifests.Object, most bool) (Found, error) {
	r := reader{
		most: most, there: map[key]manifests.Object{}, scaled: map[key]*scale{},
		others: map[string]int{}, told: map[string]bool{}, stored: stored{claims: map[key]*corev1.PersistentVolumeClaim{}},
	}
	objects, err := r.knownObjects(objects)
	if err != nil {
		return Found{}, err
	}
	for _, read := range []func(manifests.Object) error{r.rule, r.object} {
		for _, o := range objects {
			if err := read(o); err != nil {
				err = fmt.Errorf("%s: %w", nameAndPlace(o), err)
				if !o.Listed || r.asked > simulate.MaxPods {
					return Found{}, err
				}
				r.miss(err)
			}
		}
	}
	r.conclude()
	return r.found, nil
}

// reader reads manifests one by one.
type reader struct {
	most   bool
	found  Found
	there  map[key]manifests.Object // given objects of kinds that count
	scaled map[key]*scale
	others map[string]int // number of objects of kinds without pods
	makers []string       // objects of other kinds that have a pod template, or create pods
	stored stored
	told   map[string]bool // notes that exist already
	asked  int             // number of pods
}

// key identifies an object, without its group and version.
type key struct{ kind, namespace, name string }

func keyOf(o map[string]any) key {
	return key{manifest.Kind(o), cmp.Or(manifest.Namespace(o), corev1.NamespaceDefault), manifest.Name(o)}
}

func kindAndName(o map[string]any) string {
	name := manifest.Name(o)
	if name == "" {
		name = manifests.GenerateName(o) + "*"
	}
	if ns := manifest.Namespace(o); ns != "" {
		name = ns + "/" + name
	}
	return manifest.Kind(o) + " " + name
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func (r *reader) note(format string, args ...any) {
	r.found.Notes = append(r.found.Notes, fmt.Sprintf(format, args...))
}

// miss adds the error of an object that could not be read, so that pods may be missing.
func (r *reader) miss(err error) { r.found.Missing = append(r.found.Missing, err.Error()) }

// once adds a note, unless another object has already added it.
func (r *reader) once(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !r.told[text] {
		r.told[text] = true
		r.found.Notes = append(r.found.Notes, text)
	}
}

// rule reads an object that affects the pods of other objects.
func (r *reader) rule(o manifests.Object) error {
	if manifest.Kind(o.Fields) == "HorizontalPodAutoscaler" {
		return r.scaler(o)
	}
	return r.storage(o)
}

// object reads an object that has pods.
func (r *reader) object(o manifests.Object) error {
	if owner := ownerOf(o.Fields); r.there[owner].Fields != nil {
		return nil // the owner's pods count
	}
	if kind := manifest.Kind(o.Fields); kind != "Pod" && manifest.Deleted(o.Fields) && slices.Contains(withPods, kind) {
		r.note("%s is ignored: it is being deleted.", kindAndName(o.Fields))
		return nil
	}
	switch manifest.Kind(o.Fields) {
	case "Pod":
		return r.pod(o)
	case "Deployment":
		return readScalable(r, o, func(d appsv1.Deployment) (*int32, corev1.PodTemplateSpec) {
			return d.Spec.Replicas, hashed(d.Spec.Template)
		})
	case "StatefulSet":
		return readScalable(r, o, func(s appsv1.StatefulSet) (*int32, corev1.PodTemplateSpec) {
			return s.Spec.Replicas, s.Spec.Template
		})
	case "ReplicaSet":
		return readScalable(r, o, func(s appsv1.ReplicaSet) (*int32, corev1.PodTemplateSpec) {
			return s.Spec.Replicas, s.Spec.Template
		})
	case "DaemonSet":
		return r.daemons(o)
	case "Job":
		return r.job(o)
	case "CronJob":
		return r.cronJob(o)
	case "PodTemplate":
		t, err := typed[corev1.PodTemplate](r, o)
		if err != nil {
			return err
		}
		return r.template(o, 1, t.Template)
	case "PodDisruptionBudget":
		return r.budget(o)
	}
	return nil
}

func (r *reader) budget(o manifests.Object) error {
	b, err := typed[policyv1.PodDisruptionBudget](r, o)
	if err != nil {
		return err
	}
	if _, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err != nil {
		return fmt.Errorf("its selector: %w", err)
	}
	for _, bound := range []*intstr.IntOrString{b.Spec.MinAvailable, b.Spec.MaxUnavailable} {
		if bound == nil {
			continue
		}
		if n, err := intstr.GetScaledValueFromIntOrPercent(bound, 100, true); err != nil || n < 0 {
			return fmt.Errorf("minAvailable and maxUnavailable must be numbers or percentages, not %q", bound)
		}
	}
	b.Namespace = cmp.Or(b.Namespace, corev1.NamespaceDefault)
	r.found.Budgets = append(r.found.Budgets, &b)
	return nil
}

// template adds an object that a buffer can refer to.
func (r *reader) template(o manifests.Object, replicas int32, pods corev1.PodTemplateSpec) error {
	pods = *pods.DeepCopy()
	if err := r.complete(o, &pods.Spec); err != nil {
		return err
	}
	simulate.DefaultPod(&pods.Spec)
	k := keyOf(o.Fields)
	r.found.Templates = append(r.found.Templates, simulate.Template{
		Key: manifest.Key{Kind: k.kind, Namespace: k.namespace, Name: k.name}, Replicas: replicas, Pods: pods,
	})
	return nil
}

// readScalable reads an object with a number of pods from one template.
func readScalable[T any](r *reader, o manifests.Object, of func(T) (*int32, corev1.PodTemplateSpec)) error {
	object, err := typed[T](r, o)
	if err != nil {
		return err
	}
	replicas, template := of(object)
	if err := r.add(o, ptr.Deref(replicas, 1), template); err != nil {
		return err
	}
	return r.template(o, int32(r.found.Workloads[len(r.found.Workloads)-1].Pods), template)
}

// hashed returns the template of a Deployment. If its pods spread by the label pod-template-hash, it adds this
// label, as the controller does.
func hashed(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	if !slices.ContainsFunc(template.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return slices.Contains(c.MatchLabelKeys, appsv1.DefaultDeploymentUniqueLabelKey)
	}) {
		return template
	}
	text, err := encodingjson.Marshal(template)
	if err != nil { // it was read from JSON
		return template
	}
	labels := maps.Clone(template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appsv1.DefaultDeploymentUniqueLabelKey] = fmt.Sprintf("%x", sha256.Sum256(text))[:10]
	template.Labels = labels
	return template
}

var withPods = []string{"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Job", "CronJob"}

// daemons adds a DaemonSet, whose pods run on each new node.
func (r *reader) daemons(o manifests.Object) error {
	s, err := typed[appsv1.DaemonSet](r, o)
	if err == nil {
		err = r.complete(o, &s.Spec.Template.Spec)
	}
	if err != nil {
		return err
	}
	s.Namespace = cmp.Or(s.Namespace, corev1.NamespaceDefault)
	simulate.DefaultPod(&s.Spec.Template.Spec)
	r.found.DaemonSets = append(r.found.DaemonSets, &s)
	return nil
}

// ownerOf names the object that controls another; it is empty if none does.
func ownerOf(o map[string]any) key {
	owner := metav1.GetControllerOf(&unstructured.Unstructured{Object: o})
	if owner == nil {
		return key{}
	}
	return key{owner.Kind, keyOf(o).namespace, owner.Name}
}

// pod reads a separate pod.
func (r *reader) pod(o manifests.Object) error {
	pod, err := typed[corev1.Pod](r, o)
	owner := ownerOf(o.Fields)
	switch {
	case err != nil:
		return err
	case owner.kind == "DaemonSet" || owner.kind == "Node":
		r.note("%s is ignored: it belongs to %s %s, which is missing.", kindAndName(o.Fields), owner.kind, owner.name)
		return nil
	case simulate.IsMirror(&pod):
		r.note("%s is ignored: the kubelet of a node runs it itself.", kindAndName(o.Fields))
		return nil
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		r.note("%s is ignored: it has ended.", kindAndName(o.Fields))
		return nil
	case !simulate.NeedsNode(&pod):
		r.note("%s is ignored: it is being deleted.", kindAndName(o.Fields))
		return nil
	}
	return r.add(o, 1, corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec})
}

// add adds a number of pods of a template.
func (r *reader) add(o manifests.Object, pods int32, template corev1.PodTemplateSpec) error {
	if pods < 0 {
		return fmt.Errorf("it has %d pods, which is negative", pods)
	}
	if err := r.complete(o, &template.Spec); err != nil {
		return err
	}
	simulate.DefaultPod(&template.Spec)
	pods = r.scale(o, pods)
	r.asked += int(pods)
	if r.asked > simulate.MaxPods {
		return fmt.Errorf("with its %d pods there are more than the %d that can be simulated", pods, simulate.MaxPods)
	}
	r.found.Workloads = append(r.found.Workloads, simulate.Workload{
		Name: kindAndName(o.Fields), Pods: int(pods),
		Pod: corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: keyOf(o.Fields).namespace, Labels: template.Labels, Annotations: template.Annotations},
			Spec:       template.Spec,
		},
		Barred: r.waits(o, template.Spec), Volumes: r.attached(o, template.Spec),
	})
	return nil
}

// complete validates the amounts of a pod, and notes what a cluster would add.
func (r *reader) complete(o manifests.Object, spec *corev1.PodSpec) error {
	if len(spec.Containers) == 0 {
		return errNoContainers
	}
	if class := ptr.Deref(spec.RuntimeClassName, ""); class != "" && manifest.UID(o.Fields) == "" {
		r.miss(fmt.Errorf("%s names the RuntimeClass %s, which is not read: its overhead and its node selection are ignored; "+
			"use --workloads live or snapshot:FILE", kindAndName(o.Fields), class))
	}
	if r := spec.Resources; r != nil {
		if err := cmp.Or(positive("its pods request", r.Requests), positive("its pods are limited to", r.Limits)); err != nil {
			return err
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if err := cmp.Or(positive("container "+c.Name+" requests", c.Resources.Requests),
			positive("container "+c.Name+" is limited to", c.Resources.Limits)); err != nil {
			return err
		}
	}
	if err := simulate.CheckPod(*spec); err != nil {
		return err
	}
	return positive("the overhead of its pods is", spec.Overhead)
}

// positive returns an error if an amount is less than zero.
func positive(what string, list corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if q := list[name]; q.Sign() < 0 {
			return fmt.Errorf("%s %s of %s, but amounts cannot be negative", what, q.String(), name)
		}
	}
	return nil
}

// typed decodes an object into the Go type of its kind, and notes fields that the kind does not have.
func typed[T any](r *reader, o manifests.Object) (value T, err error) {
	fields := maps.Clone(o.Fields)
	delete(fields, "status")
	if phase := manifest.Text(o.Fields, "status", "phase"); phase != "" {
		fields["status"] = map[string]any{"phase": phase}
	}
	text, err := encodingjson.Marshal(fields)
	if err != nil {
		return value, err
	}
	unknown, err := json.UnmarshalStrict(text, &value, json.DisallowUnknownFields)
	if err != nil {
		return value, wrongField(fields, err)
	}
	var wrong []string
	for _, field := range unknown {
		wrong = append(wrong, field.Error())
	}
	if len(wrong) > 0 {
		r.note("%s: %s: ignored.", nameAndPlace(o), strings.Join(wrong, ", "))
	}
	return value, nil
}

// withoutPrefixes returns the text of a decoder's error without its prefixes.
func withoutPrefixes(err error) error {
	text := err.Error()
	if i := strings.LastIndex(text, "json: "); i >= 0 {
		text = text[i+len("json: "):]
	}
	return errors.New(text)
}

// conclude adds notes on what was ignored.
func (r *reader) conclude() {
	for _, k := range slices.SortedFunc(maps.Keys(r.scaled), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	}) {
		if s := r.scaled[k]; !s.used {
			r.note("%s is ignored: it scales %s %s, which is missing.", s.by, k.kind, k.name)
		}
	}
	if len(r.makers) > 0 {
		r.note("The pods of these objects are not counted, because their kinds are unknown: %s. To count them, use --workloads live "+
			"or snapshot:FILE.", strings.Join(r.makers, ", "))
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(r.others)) {
		kinds = append(kinds, fmt.Sprintf("%s (%d)", kind, r.others[kind]))
	}
	if len(kinds) > 0 {
		r.note("Ignored kinds: %s.", strings.Join(kinds, ", "))
	}
}

// Kinds returns the kinds that are read.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// kinds are the kinds that are read, with their API versions.
var kinds = map[string][]string{
	"Pod": {"v1"}, "Deployment": {"apps/v1"}, "StatefulSet": {"apps/v1"}, "ReplicaSet": {"apps/v1"},
	"DaemonSet": {"apps/v1"}, "Job": {"batch/v1"}, "CronJob": {"batch/v1"}, "PodDisruptionBudget": {"policy/v1"},
	"HorizontalPodAutoscaler": {"autoscaling/v1", "autoscaling/v2"},
	"PersistentVolumeClaim":   {"v1"}, "PodTemplate": {"v1"}, "StorageClass": {"storage.k8s.io/v1"},
}

// changesPods are kinds that are not read, but change the number of pods or their requests. Other kinds do not
// matter as much: a quota only rejects pods, and a volume or a RuntimeClass counts only if a pod names it.
var changesPods = []string{"LimitRange", "ScaledObject"}

// unread are the groups of the kinds that affect pods in a cluster and are not read. Pods that are the output of a
// cluster already have the changes.
var unread = map[string]string{
	"LimitRange": "", "ResourceQuota": "", "PersistentVolume": "", "RuntimeClass": "node.k8s.io", "ScaledObject": "keda.sh",
}

// knownObjects returns the objects of known kinds, each once, and adds notes on the others.
func (r *reader) knownObjects(objects []manifests.Object) (known []manifests.Object, err error) {
	for _, o := range objects {
		if what := kindAndName(o.Fields); strings.ContainsFunc(what, unprintable) {
			err := fmt.Errorf("%s: %q is not a valid name of a Kubernetes object", o.Place(), what)
			if !o.Listed {
				return nil, err
			}
			r.miss(err)
			continue
		}
		if !r.understands(o) {
			continue
		}
		if o.Listed && isPatch(o.Fields) { // before a patch replaces the object that it changes
			r.miss(fmt.Errorf("%s: %w", nameAndPlace(o), errNoContainers))
			continue
		}
		k := keyOf(o.Fields)
		switch other, twice := r.there[k]; {
		case k.name == "": // each time that it is applied, it creates another object
			known = append(known, o)
		case !twice:
			r.there[k] = o
			known = append(known, o)
		case !reflect.DeepEqual(declared(other.Fields), declared(o.Fields)):
			err := fmt.Errorf("%s: it is also in %s, with different content", nameAndPlace(o), other.Place())
			if !o.Listed {
				return nil, err
			}
			r.miss(err)
		default:
			r.note("%s counts once, but is also in %s.", nameAndPlace(o), other.Place())
		}
	}
	return known, nil
}

// isPatch reports whether an object has pods without containers, as a patch has.
func isPatch(o map[string]any) bool {
	path, ok := map[string]string{"Pod": "spec", "CronJob": "spec.jobTemplate.spec.template.spec"}[manifest.Kind(o)]
	if !ok && slices.Contains(withPods, manifest.Kind(o)) {
		path, ok = "spec.template.spec", true
	}
	containers, _ := manifest.Lookup(o, strings.Split(path+".containers", ".")...)
	list, _ := containers.([]any)
	return ok && len(list) == 0
}

var errNoContainers = errors.New("its pods have no containers; instead of a patch, use the output of kustomize build")

// declared returns an object without its status and the metadata that a cluster sets.
func declared(o map[string]any) map[string]any {
	fields := maps.Clone(o)
	delete(fields, "status")
	fields["metadata"] = manifest.Map(o, "metadata", "labels")
	return fields
}

// makesPods reports whether an object of an unknown kind has a pod template, or is known to create pods.
func makesPods(o map[string]any) bool {
	switch manifest.Kind(o) {
	case "HelmRelease", "HelmChart", "Application", "Kustomization":
		return manifest.Map(o, "spec") != nil
	case "CustomResourceDefinition":
		return false
	}
	return hasContainers(o["spec"])
}

func hasContainers(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		list, _ := v["containers"].([]any)
		if slices.ContainsFunc(list, func(c any) bool { fields, _ := c.(map[string]any); return fields["image"] != nil }) {
			return true
		}
		for _, inner := range v {
			if hasContainers(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasContainers)
	}
	return false
}

// understands reports whether the kind of an object is known in its API version.
func (r *reader) understands(o manifests.Object) bool {
	kind, version := manifest.Kind(o.Fields), manifest.APIVersion(o.Fields)
	versions, known := kinds[kind]
	of, isUnread := unread[kind]
	group, _, grouped := strings.Cut(version, "/")
	if !grouped {
		group = ""
	}
	switch {
	case isUnread && group == of && slices.Contains(changesPods, kind):
		r.miss(fmt.Errorf("%s in %s is not read; use --workloads live or snapshot:FILE", kindAndName(o.Fields), o.File))
	case isUnread && group == of:
		r.note("%s in %s is not read; use --workloads live or snapshot:FILE.", kindAndName(o.Fields), o.File)
	case !known && makesPods(o.Fields):
		r.makers = append(r.makers, fmt.Sprintf("%s of %s", kindAndName(o.Fields), cmp.Or(version, "no apiVersion")))
	case !known:
		r.others[kind]++
	case slices.Contains(versions, version):
		return true
	case version == "":
		r.note("%s is ignored: it has no apiVersion; the supported %s is of %s.", nameAndPlace(o), kind,
			strings.Join(versions, " and "))
	default:
		r.note("%s is ignored: it is of %s; the supported %s is of %s.", nameAndPlace(o), version, kind,
			strings.Join(versions, " and "))
	}
	return false
}

// scale has the bounds of an autoscaler.
type scale struct {
	by    string // name of the autoscaler
	least int32
	pods  int32
	used  bool
}

// scaler reads an autoscaler. Its bounds have the same fields in all versions.
func (r *reader) scaler(o manifests.Object) error {
	bounds := map[string]any{}
	if spec, ok := o.Fields["spec"].(map[string]any); ok {
		for _, name := range []string{"scaleTargetRef", "minReplicas", "maxReplicas"} {
			if value, ok := spec[name]; ok {
				bounds[name] = value
			}
		}
	}
	only := manifests.Object{File: o.File, Document: o.Document, Fields: map[string]any{
		"kind": manifest.Kind(o.Fields), "metadata": o.Fields["metadata"], "spec": bounds,
	}}
	hpa, err := typed[autoscalingv2.HorizontalPodAutoscaler](r, only)
	if err != nil {
		return err
	}
	target := hpa.Spec.ScaleTargetRef
	if target.Kind == "" || target.Name == "" || hpa.Spec.MaxReplicas < 1 {
		return errors.New("spec.scaleTargetRef and spec.maxReplicas are required")
	}
	s := &scale{by: kindAndName(o.Fields), pods: ptr.Deref(hpa.Spec.MinReplicas, 1)}
	s.least = s.pods
	k := key{target.Kind, keyOf(o.Fields).namespace, target.Name}
	switch other := r.scaled[k]; {
	case s.pods < 0, s.pods > hpa.Spec.MaxReplicas:
		return fmt.Errorf("minReplicas is %d and maxReplicas is %d, but minReplicas must be from 0 to maxReplicas", s.pods,
			hpa.Spec.MaxReplicas)
	case other != nil:
		return fmt.Errorf("%s %s is also scaled by %s", target.Kind, target.Name, other.by)
	}
	if r.most {
		s.pods = hpa.Spec.MaxReplicas
	}
	r.scaled[k] = s
	return nil
}

// scale returns how many pods an object has if an autoscaler scales it. An autoscaler with a minimum of at least
// one ignores objects with zero replicas.
func (r *reader) scale(o manifests.Object, pods int32) int32 {
	s := r.scaled[keyOf(o.Fields)]
	if s == nil {
		return pods
	}
	s.used = true
	if pods == 0 && s.least > 0 {
		r.note("%s has no effect: %s has replicas: 0, which disables an autoscaler.", s.by, kindAndName(o.Fields))
		return 0
	}
	return s.pods
}

func (r *reader) job(o manifests.Object) error {
	j, err := typed[batchv1.Job](r, o)
	if err != nil {
		return err
	}
	raw, err := encodingjson.Marshal(o.Fields["status"])
	if err != nil {
		return err
	}
	var status batchv1.JobStatus
	if err := encodingjson.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("read its status: %w", withoutPrefixes(err))
	}
	if slices.ContainsFunc(status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == "True" && slices.Contains(ending, c.Type)
	}) {
		r.note("%s is ignored: it has ended.", kindAndName(o.Fields))
		return nil
	}
	return r.runs(o, j.Spec, status)
}

// ending are the conditions of a Job that creates no more pods.
var ending = []batchv1.JobConditionType{
	batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget,
}

// cronJob reads a CronJob as if one of its Jobs were running.
func (r *reader) cronJob(o manifests.Object) error {
	c, err := typed[batchv1.CronJob](r, o)
	if err != nil {
		return err
	}
	c.Spec.JobTemplate.Spec.Suspend = c.Spec.Suspend
	return r.runs(o, c.Spec.JobTemplate.Spec, batchv1.JobStatus{})
}

// runs adds the largest number of pods that a Job has at a time.
func (r *reader) runs(o manifests.Object, spec batchv1.JobSpec, status batchv1.JobStatus) error {
	if ptr.Deref(spec.Suspend, false) {
		r.note("%s is ignored: it is suspended.", kindAndName(o.Fields))
		return nil
	}
	return r.add(o, atOnce(spec, status), spec.Template)
}

// atOnce returns the largest number of pods that a Job still has at a time, by the rules of its controller.
func atOnce(spec batchv1.JobSpec, status batchv1.JobStatus) int32 {
	most := ptr.Deref(spec.Parallelism, 1)
	switch {
	case spec.Completions == nil && status.Succeeded > 0:
		return min(most, status.Active) // one pod has succeeded, so no more are created
	case spec.Completions == nil, most < 0:
		return most
	case *spec.Completions < 0:
		return *spec.Completions
	}
	return max(0, min(most, *spec.Completions-status.Succeeded-countIndexes(ptr.Deref(status.FailedIndexes, ""))))
}

// countIndexes counts the numbers in a list such as 1,3-5.
func countIndexes(text string) (n int32) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, several := strings.Cut(part, "-")
		first, err := strconv.ParseInt(from, 10, 32)
		if err != nil {
			continue
		}
		last := first
		if several {
			if last, err = strconv.ParseInt(to, 10, 32); err != nil || last < first {
				continue
			}
		}
		n += int32(last - first + 1)
	}
	return n
}

var devices = map[string]corev1.ResourceName{
	"cpu": corev1.ResourceCPU, "memory": corev1.ResourceMemory, "gpu": schemas.GPU, "vpu": schemas.VPU,
	"storage": corev1.ResourceEphemeralStorage,
}

var shape = regexp.MustCompile(`^([0-9]+)x(.*)$`)

// ParsePods reads pods from a short text with their number and the requests of each, such as 200x1cpu,2Gi or
// 4x2cpu,8Gi,gpu=1.
func ParsePods(text string) (simulate.Workload, error) {
	load := simulate.Workload{Name: text}
	wrong := func(why string) (simulate.Workload, error) {
		return load, fmt.Errorf("%s: %s; write the number of pods and the requests of each pod, such as 200x1cpu,2Gi or 4x500mcpu,8Gi,gpu=1",
			text, why)
	}
	m := shape.FindStringSubmatch(text)
	if m == nil {
		return wrong("the number of pods, followed by the letter x, is missing")
	}
	if m[2] == "" {
		return wrong(fmt.Sprintf("the requests after %q are missing", text))
	}
	pods, err := strconv.Atoi(m[1])
	if err != nil || pods < 1 || pods > simulate.MaxPods {
		return wrong(fmt.Sprintf("the number of pods must be from 1 to %d", simulate.MaxPods))
	}
	requests := corev1.ResourceList{}
	for part := range strings.SplitSeq(m[2], ",") {
		name, amount := splitPart(part)
		q, err := resource.ParseQuantity(amount)
		switch _, twice := requests[name]; {
		case name == "":
			return wrong(fmt.Sprintf("%q is neither an amount of memory, such as 2Gi, nor of CPU, such as 2cpu", part))
		case err != nil || q.Sign() <= 0:
			return wrong(fmt.Sprintf("%q is not an amount", part))
		case twice:
			return wrong(fmt.Sprintf("%s appears twice", name))
		}
		requests[name] = q
	}
	load.Pods = pods
	load.Pod.Spec.Containers = []corev1.Container{{
		Name: "main", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limitsOf(requests)},
	}}
	return load, nil
}

// splitPart returns the resource and the amount of a part; the resource is "" if the part names none.
func splitPart(part string) (corev1.ResourceName, string) {
	if name, amount, named := strings.Cut(part, "="); named {
		if long, known := devices[name]; known {
			return long, amount
		}
		return corev1.ResourceName(name), amount
	}
	if amount, cpu := strings.CutSuffix(part, "cpu"); cpu {
		return corev1.ResourceCPU, amount
	}
	if strings.Trim(part, "0123456789.") == "" || strings.HasSuffix(part, "m") {
		return "", part
	}
	return corev1.ResourceMemory, part
}

// limitsOf returns the limits that Kubernetes requires for devices.
func limitsOf(requests corev1.ResourceList) corev1.ResourceList {
	limits := corev1.ResourceList{}
	for name, q := range requests {
		if strings.Contains(string(name), "/") {
			limits[name] = q
		}
	}
	return limits
}

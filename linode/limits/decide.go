package limits

// A NodePool that replaces nodes repeatedly without a change of its template is stopped.
// Karpenter replaces a node that has drifted from its NodePool by one that is made from the same
// template: if that drifts as well, this never ends, and each round costs a machine and an
// eviction of all pods. What counts and what is held is a function of objects
// (decideReplacements); the controller Replacements acts on it.

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

const (
	// AnnotationTemplate is on each NodeClaim: the Template that it was made from. A claim
	// whose replacement was checked no longer has it.
	AnnotationTemplate = "lkeplan.dev/template"
	// AnnotationRecord is on a NodePool whose nodes were replaced without a change: the
	// Record of that. Without it counting restarts.
	AnnotationReplacements = "lkeplan.dev/replacements"
	// AnnotationHeld is on a NodeClaim or Node if the controller itself has put Karpenter's
	// do-not-disrupt on it. On others that is never removed.
	AnnotationHeld = "lkeplan.dev/held"
)

// heldValue is the value of AnnotationHeld.
const heldValue = "replacements"

// young is the age up to which a node that drifts may be part of a loop: its replacement
// then drifts as soon. In a loop nodes drift at once, or within an hour: only then does
// Karpenter begin to look whether the plan type is still sold. Nodes that drift without a
// change of their NodePool for another reason, such as a plan type that Linode retires, are
// older as a rule.
const young = 2 * time.Hour

// Template returns a digest of all that nodes of a NodePool are created from and compared with:
// Karpenter's hash without the keys that change in place, the requirements, which that
// leaves out, and the class with its Kubernetes version.
func Template(pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) string {
	requirements := make([]karpv1.NodeSelectorRequirementWithMinValues, 0, len(pool.Spec.Template.Spec.Requirements))
	for _, r := range pool.Spec.Template.Spec.Requirements {
		r.Values = slices.Sorted(slices.Values(r.Values))
		requirements = append(requirements, r)
	}
	slices.SortStableFunc(requirements, func(a, b karpv1.NodeSelectorRequirementWithMinValues) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Operator, b.Operator), slices.Compare(a.Values, b.Values))
	})
	text := manifest.Line([]any{inplace.Reduced(pool), requirements, class.Name, class.Hash(), class.TargetVersion()})
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// StampTemplate adds the digest of the template from which a claim is made to the annotations of the claim. A claim
// that was made from another template than the current one gets no stamp, and a stamp never changes, because the
// claim may get its machine only after the template has changed.
func StampTemplate(add map[string]string, nc *karpv1.NodeClaim, pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) {
	_, stamped := nc.Annotations[AnnotationTemplate]
	if pool == nil || stamped || inplace.TemplateOf(pool).Drifted(nc.Labels, nc.Annotations) {
		return
	}
	add[AnnotationTemplate] = Template(pool, class)
}

// replacementRecord is what is known about the replacements of a NodePool, as stored in its annotation.
type replacementRecord struct {
	NodePool   types.UID   `json:"nodePool"`             // identifies the NodePool: a copy of it has a record that is not its own
	Template   string      `json:"template"`             // the template of the replaced nodes
	Replaced   []types.UID `json:"replaced"`             // the replaced NodeClaims, at most as many as stop the NodePool
	Why        string      `json:"why,omitempty"`        // why the last of them was replaced
	Unreadable bool        `json:"unreadable,omitempty"` // the number of replacements is unknown
}

// readReplacements reads the record of a NodePool. A record that cannot be read is not the same as none, because it
// may have stopped the NodePool.
func readReplacements(pool *karpv1.NodePool) (record replacementRecord, there bool) {
	text, there := pool.Annotations[AnnotationReplacements]
	if !there {
		return replacementRecord{}, false
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil || !record.complete() {
		return replacementRecord{NodePool: pool.UID, Unreadable: true}, true
	}
	return record, true
}

func (r replacementRecord) complete() bool {
	return r.NodePool != "" && r.Template != "" && (len(r.Replaced) > 0 || r.Unreadable)
}

func (r replacementRecord) encode() string { return manifest.Line(r) }

// replacementState is the input of a decision about a NodePool.
type replacementState struct {
	Pool   *karpv1.NodePool
	Class  *linodev1alpha1.LinodeNodeClass // nil if unknown
	Claims []karpv1.NodeClaim              // of the NodePool
	Nodes  []corev1.Node
	Most   int // number of replacements that stop the NodePool; 0 means never
}

// replacementDecision says what to do about a NodePool.
type replacementDecision struct {
	Record  string // the annotation; "" means none
	Stopped string // why nodes are not replaced for drift any more; "" if they are
	Reason  string // of the condition

	Looked  []*karpv1.NodeClaim // claims whose stamp is removed, because they are in the record or do not count
	Hold    []client.Object     // NodeClaims and Nodes that get do-not-disrupt
	Release []client.Object     // NodeClaims and Nodes that lose it
}

// The reasons of ConditionStopped.
const (
	ReasonRepeated   = "ReplacedRepeatedly"
	ReasonUnreadable = "RecordUnreadable"
)

// decideReplacements counts replacements, and decides which nodes are held. The decision about the same objects is
// the same, and contains nothing that is already done.
func decideReplacements(s replacementState) (d replacementDecision) {
	record, there := readReplacements(s.Pool)
	if s.Most == 0 || record.NodePool != s.Pool.UID {
		record, there = replacementRecord{}, false
	}
	template := record.Template
	if s.Class != nil {
		template = Template(s.Pool, s.Class)
	}
	switch {
	case record.Unreadable && record.Template == "":
		record.Template = template // "" if unknown: then nothing is written
	case record.Template != template:
		record, there = replacementRecord{}, false
	}
	if s.Class != nil && s.Most > 0 {
		for i := range s.Claims {
			there = s.count(&s.Claims[i], template, &record, &d) || there
		}
	}
	switch {
	case !there:
	case record.Template == "":
		d.Record = s.Pool.Annotations[AnnotationReplacements]
	default:
		d.Record = record.encode()
	}
	d.Reason, d.Stopped = record.stops(s.Most)
	s.hold(d.Stopped != "", &d)
	return d
}

// count checks a claim that Karpenter replaces, and reports whether it is in the record now.
func (s replacementState) count(nc *karpv1.NodeClaim, template string, record *replacementRecord, d *replacementDecision) bool {
	made, stamped := nc.Annotations[AnnotationTemplate]
	why := nc.StatusConditions(observed).Get(karpv1.ConditionTypeDisruptionReason)
	drifted := nc.StatusConditions(observed).Get(karpv1.ConditionTypeDrifted)
	if !stamped || !why.IsTrue() || why.Reason != string(karpv1.DisruptionReasonDrifted) || !drifted.IsTrue() || nodeclaim.DriftedByAge(nc) ||
		drifted.LastTransitionTime.Sub(nc.CreationTimestamp.Time) > young {
		return false
	}
	d.Looked = append(d.Looked, nc)
	// If a change is reverted after a claim was replaced for it, the claim must not count: its stamp is removed.
	if made != template || slices.Contains(record.Replaced, nc.UID) || len(record.Replaced) >= s.Most ||
		record.Unreadable {
		return false
	}
	record.NodePool, record.Template = s.Pool.UID, template
	record.Replaced = append(slices.Clip(record.Replaced), nc.UID)
	record.Why = drifted.Reason
	if conflict := conflictOf(s.Pool, nc); conflict != "" {
		record.Why += ": " + conflict
	}
	return true
}

// conflictOf returns the requirement of its NodePool that a claim does not meet; "" if it meets all.
func conflictOf(pool *karpv1.NodePool, nc *karpv1.NodeClaim) string {
	has := scheduling.NewLabelRequirements(nc.Labels)
	for _, r := range pool.Spec.Template.Spec.Requirements {
		wants := scheduling.NewNodeSelectorRequirementsWithMinValues(r)
		if err := has.Compatible(wants); err != nil {
			value, labelled := nc.Labels[r.Key]
			if !labelled {
				return fmt.Sprintf("nodes do not get the label %s, which a requirement of the NodePool needs", r.Key)
			}
			return fmt.Sprintf("nodes get the label %s=%s, and a requirement of the NodePool does not allow that", r.Key, value)
		}
	}
	return ""
}

// howToRelease is the end of each message about a stopped NodePool.
const howToRelease = "drifted nodes are kept until the template of the NodePool or its LinodeNodeClass changes, or its " +
	"annotation " + AnnotationReplacements + " is removed"

// stops says why a NodePool with this record is stopped; "" if it is not.
func (r replacementRecord) stops(most int) (reason, message string) {
	switch {
	case r.Unreadable:
		return ReasonUnreadable, "how many nodes were replaced without a change of the template is unknown: the " +
			"annotation " + AnnotationReplacements + " could not be read; " + howToRelease
	case most > 0 && len(r.Replaced) >= most:
		return ReasonRepeated, fmt.Sprintf("Karpenter has replaced %d of the nodes of the NodePool soon after their creation, "+
			"although the template has not changed (%s); %s", len(r.Replaced), r.Why, howToRelease)
	}
	return "", ""
}

// hold decides which claims and Nodes get do-not-disrupt, and which lose it. A claim gets it as soon as it drifts,
// because Karpenter copies it to the Node when the Node joins, and from then on reads only that of the Node.
func (s replacementState) hold(stopped bool, d *replacementDecision) {
	drifted, known := map[string]bool{}, map[string]bool{}
	for i := range s.Claims {
		nc := &s.Claims[i]
		is := nc.DeletionTimestamp.IsZero() && nc.StatusConditions(observed).Get(karpv1.ConditionTypeDrifted).IsTrue()
		known[nc.Status.NodeName], drifted[nc.Status.NodeName] = true, is
		d.mark(nc, stopped && is)
	}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if !known[node.Name] && stopped {
			continue // a list may hide its claim
		}
		d.mark(node, stopped && drifted[node.Name])
	}
}

// mark adds an object to those that are held or released, if its annotation has to change.
func (d *replacementDecision) mark(o client.Object, hold bool) {
	_, ours := o.GetAnnotations()[AnnotationHeld]
	kept := o.GetAnnotations()[karpv1.DoNotDisruptAnnotationKey] == "true"
	switch {
	case !o.GetDeletionTimestamp().IsZero():
	case hold && !kept:
		d.Hold = append(d.Hold, o)
	case !hold && ours:
		d.Release = append(d.Release, o)
	}
}

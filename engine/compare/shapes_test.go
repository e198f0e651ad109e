package compare

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
)

var update = flag.Bool("update", false, "rewrite golden files with what comes out")

// podsOf reads the objects of testdata/pods.txtar.
func podsOf(t *testing.T) (c cluster, want string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/pods.txtar")
	if err != nil {
		t.Fatal(err)
	}
	c = cluster{}
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		for _, text := range strings.Split(string(f.Data), "---\n") {
			obj, err := yaml.YAMLToJSON([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			kind := regexp.MustCompile(`"kind":"([A-Za-z]+)","metadata"`).FindStringSubmatch(string(obj))
			c[kind[1]] = append(c[kind[1]], string(obj))
		}
	}
	return c, want
}

// TestShapesSayWhatDecidesWherePodsGo, and which pods do not count.
func TestShapesSayWhatDecidesWherePodsGo(t *testing.T) {
	c, want := podsOf(t)
	set, err := Shapes(t.Context(), LiveView(c))
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		rewrite(t, string(text))
	} else if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func rewrite(t *testing.T, want string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/pods.txtar")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
	archive.Files[i].Data = []byte(want)
	if err := os.WriteFile("testdata/pods.txtar", txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestNoWordOfAPodIsInASnapshot: none of the names, images, arguments, variables, labels
// and annotations of the pods of the cluster, and no key that people have chosen.
func TestNoWordOfAPodIsInASnapshot(t *testing.T) {
	c, _ := podsOf(t)
	taken, err := TakeSnapshot(t.Context(), LiveView(c), time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC), false)
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	if err := taken.Write(&written); err != nil {
		t.Fatal(err)
	}
	// All chosen names in the archive consist of these.
	if words := regexp.MustCompile(`(?i)[a-z0-9./-]*(acme|hunter|payments|ledger|tenant)[a-z0-9./-]*`).FindAllString(
		written.String(), -1); len(words) > 0 {
		t.Errorf("the snapshot has %q:\n%s", words, written.String())
	}
	read, err := ReadSnapshot(&written)
	if err != nil {
		t.Fatal(err)
	}
	set, err := read.PodShapes([]string{"acme.com/tenant", "tenant-7", "payments/payments-api", "payments"})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(set.Pods, func(s workload.Shape) bool { return s.Owner == "Deployment payments/payments-api" })
	if i < 0 || set.Pods[i].Spec.NodeSelector["acme.com/tenant"] != "tenant-7" || set.Pods[i].Namespace != "payments" {
		t.Errorf("words that are known are not read: %+v", set.Pods)
	}
}

// TestASnapshotWithoutShapesIsReadAndReportsIt where pods are asked for.
func TestASnapshotWithoutShapesIsReadAndReportsIt(t *testing.T) {
	old, err := ReadSnapshot(strings.NewReader(`{"format_version": "2", "taken": "2026-11-20T10:00:00Z", "objects": [], "nodes": []}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.PodShapes(nil); err == nil || !strings.Contains(err.Error(), "create it again with: lkeplan snapshot") {
		t.Errorf("pods of a snapshot without pods: %v", err)
	}
	silent := Snapshot{Shapes: &workload.Shapes{}}
	if _, err := silent.PodShapes(nil); err == nil || !strings.Contains(err.Error(), "its list of pods is missing") {
		t.Errorf("pods of a snapshot in which they are null: %v", err)
	}
	hostile := Snapshot{Shapes: &workload.Shapes{Pods: []workload.Shape{{Owner: "Deployment x", Count: -4}}}}
	if _, err := hostile.PodShapes(nil); err == nil {
		t.Error("a snapshot with fewer pods than none is believed")
	}
}

// TestAPodThatCannotBeReadIsLeftOut of a snapshot, with a note; the others stay.
func TestAPodThatCannotBeReadIsLeftOut(t *testing.T) {
	digits := corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: "Gt", Values: []string{"99999999999999999999"}}},
		}}},
	}}}
	spread := corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "a"}}}
	odd := Snapshot{FormatVersion: snapshotVersion, Taken: time.Unix(1, 0), Objects: []map[string]any{}, Nodes: []plan.Node{}, Shapes: &workload.Shapes{
		Pods:       []workload.Shape{{Owner: "Pod h1", Namespace: "h2", Count: 1, Spec: digits}, {Owner: "Deployment h3", Count: 2}},
		DaemonSets: []workload.Shape{{Owner: "DaemonSet h4", Namespace: "h5", Spec: spread}},
	}}
	var written bytes.Buffer
	if err := odd.Write(&written); err != nil {
		t.Fatal(err)
	}
	read, err := ReadSnapshot(&written)
	if err != nil {
		t.Fatal(err)
	}
	set, err := read.PodShapes(nil)
	if err != nil || len(set.Pods) != 1 || set.Pods[0].Count != 2 || len(set.DaemonSets) > 0 || len(set.Notes) != 2 ||
		!strings.HasPrefix(set.Notes[0], `Skipped 1 pod of "Pod h1" in the namespace "h2": its nodeAffinity`) {
		t.Errorf("%+v, %v", set, err)
	}
}

// forbidding is a cluster whose user may not list some kinds.
type forbidding struct {
	cluster
	kinds []string
}

func (f forbidding) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	if slices.Contains(f.kinds, kind) {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("no"))
	}
	return f.cluster.List(ctx, apiVersion, kind)
}

// TestWhatMayNotBeListedOfPodsIsSaid.
func TestWhatMayNotBeListedOfPodsIsSaid(t *testing.T) {
	c, _ := podsOf(t)
	taken, err := TakeSnapshot(t.Context(), LiveView(forbidding{c, []string{"Pod"}}), time.Now(), false)
	if err != nil || taken.Shapes != nil || len(taken.Notes) == 0 {
		t.Errorf("without the right to list pods: %+v, %v", taken, err)
	}
	set, err := Shapes(t.Context(), LiveView(forbidding{c, []string{"DaemonSet", "Namespace"}}))
	said := strings.Join(set.Notes, " ")
	if err != nil || len(set.DaemonSets) > 0 || !strings.Contains(said, "DaemonSets are unknown") ||
		!strings.Contains(said, "namespaces are unknown") {
		t.Errorf("without DaemonSets and namespaces: %q, %v", set.Notes, err)
	}
}

// TestTheNamesThatASnapshotHas are those that its help says: of what directories declare, of
// nodes, and of the cluster.
func TestTheNamesThatASnapshotHas(t *testing.T) {
	c, _ := podsOf(t)
	want := []string{"584692/name-label", "name-claim", "name-node"}
	for _, kind := range Kinds() {
		name := "name-" + strings.ToLower(kind.Kind)
		want = append(want, name, name+"-namespace", name+"-spec")
		c[kind.Kind] = append(c[kind.Kind], `{"apiVersion": "`+kind.APIVersion+`", "kind": "`+kind.Kind+`", "metadata": {"name": "`+
			name+`", "namespace": "`+name+`-namespace", "labels": {"name-foreign-label": "name-foreign-label"},
			"annotations": {"name-foreign-note": "name-foreign-note", "lkeplan.dev/lke-cluster": "584692/name-label"},
			"ownerReferences": [{"kind": "Name", "name": "name-owner"}], "finalizers": ["name-finalizer"]},
			"spec": {"refers": "`+name+`-spec"}, "status": {"message": "name-status"}}`)
	}
	c["NodeClaim"] = []string{`{"metadata": {"name": "name-claim", "labels": {"name-of-nobody": "name-of-nobody"}},
		"status": {"nodeName": "name-node", "imageID": "name-image"}}`}
	c["Node"] = []string{`{"metadata": {"name": "name-node", "labels": {"name-of-nobody": "name-of-nobody"}}}`}
	taken, err := TakeSnapshot(t.Context(), LiveView(c), time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC), false)
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	if err := taken.Write(&written); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`[0-9/]*name-[a-z-]*`).FindAllString(written.String(), -1)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("names (-want +got)\n%s", diff)
	}
}

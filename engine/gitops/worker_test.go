package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// scripted is a source and a compiler that answer as a test says.
type scripted struct {
	findErr, fetchErr, compileErr error
	verified                      bool
	result                        compile.Answer
}

func (s scripted) Find(context.Context, *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	fetch := func(context.Context, string) error { return s.fetchErr }
	return sourceArtifact{Revision: "main@sha1:1", Verified: s.verified, Fetch: fetch}, s.findErr
}

func (s scripted) Compile(context.Context, compile.Request) (compile.Answer, error) {
	return s.result, s.compileErr
}

// TestErrorsEndReconciliation: each with its reason, and before the cluster is
// reached.
func TestErrorsEndReconciliation(t *testing.T) {
	dev := compile.Answer{Result: compile.Result{Compiled: config.Compiled{Cluster: config.Cluster{Name: "dev"}}}}
	prod := compile.Answer{Result: compile.Result{Compiled: config.Compiled{Cluster: config.Cluster{Name: "prod"}}}}
	tests := []struct {
		name    string
		source  scripted
		spec    lkeplanv1alpha1.NodePlanSpec
		want    string
		stalled bool
		says    string
	}{
		{name: "no source", source: scripted{findErr: errors.New("GitRepository flux-system/fleet does not exist")},
			want: lkeplanv1alpha1.ReasonArtifactFailed, says: "GitRepository flux-system/fleet does not exist"},
		{name: "a source that it must not use", source: scripted{findErr: stalled(lkeplanv1alpha1.ReasonAccessDenied, "it is in another namespace")},
			want: lkeplanv1alpha1.ReasonAccessDenied, stalled: true, says: "another namespace"},
		{name: "a fetch that fails", source: scripted{fetchErr: errors.New("the artifact has another digest")},
			want: lkeplanv1alpha1.ReasonArtifactFailed, says: "fetch revision main@sha1:1: the artifact has another digest"},
		{name: "no signature", spec: lkeplanv1alpha1.NodePlanSpec{RequireVerifiedSource: true},
			want: lkeplanv1alpha1.ReasonSourceNotVerified, stalled: true, says: "has not verified its signature"},
		{name: "a compilation that hangs", source: scripted{compileErr: fmt.Errorf("%w: more than 30s", compile.ErrTimeout)},
			want: lkeplanv1alpha1.ReasonCompileFailed, stalled: true, says: "took too long"},
		{name: "a compilation that takes too much memory", source: scripted{compileErr: compile.ErrMemory},
			want: lkeplanv1alpha1.ReasonCompileFailed, stalled: true, says: "too much memory"},
		{name: "a compilation that could not be started", source: scripted{compileErr: errors.New("fork: no more processes")},
			want: lkeplanv1alpha1.ReasonCompileFailed, says: "no more processes"},
		{name: "another cluster", source: scripted{result: prod},
			want: lkeplanv1alpha1.ReasonWrongCluster, stalled: true, says: `it is for cluster "prod", but this is cluster "dev"`},
		{name: "no connection", source: scripted{result: dev}, want: lkeplanv1alpha1.ReasonApplyFailed, says: "no cluster"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scratch := t.TempDir()
			t.Setenv("TMPDIR", scratch)
			w := &Worker{
				Sources: tt.source, Compiler: tt.source, Cluster: "dev", Now: time.Now,
				Vars:    func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) { return Variables{}, nil },
				Records: none{},
				Connect: func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return nil, errors.New("no cluster") },
			}
			np := &lkeplanv1alpha1.NodePlan{Spec: tt.spec}
			o := w.Work(t.Context(), np, recordNothing)
			ended := o.reason == tt.want && o.stalled == tt.stalled && o.failed == !tt.stalled
			if !ended || !strings.Contains(o.message, tt.says) {
				t.Errorf("%+v, want %s with %q, stalled: %v", o, tt.want, tt.says, tt.stalled)
			}
			if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
				t.Errorf("left over: %v, %v", left, err)
			}
		})
	}
}

// TestRequiredVersionIsEnforced: it may mean something else there.
func TestRequiredVersionIsEnforced(t *testing.T) {
	for version, want := range map[string]string{
		"v0.3.1": lkeplanv1alpha1.ReasonCompileFailed, "v0.4.0": lkeplanv1alpha1.ReasonSucceeded,
		"": lkeplanv1alpha1.ReasonSucceeded, // built from a checkout
	} {
		w := newWorld(t)
		w.worker.Version = version
		np := w.plan("fleet", "a", "fleet")
		w.commit(map[string]string{"a": "lkeplan {\n  required_version = \">= 0.4\"\n}\n" + pools("a", "web")})
		o := w.reconcile(np)
		const says = "a/main.lke.hcl:2: Unsupported version of lkeplan: This directory requires lkeplan >= 0.4, and this is v0.3.1. Install a matching version."
		if o.reason != want || o.stalled != (want == lkeplanv1alpha1.ReasonCompileFailed) ||
			o.stalled && !strings.HasPrefix(o.message, says) {
			t.Errorf("%s: %s: %s", version, o.reason, o.message)
		}
	}
}

// TestObjectsNameRevisionThatReplacesNodes, and the commit where the source says which.
func TestObjectsNameRevisionThatReplacesNodes(t *testing.T) {
	w := newWorld(t)
	np := w.plan("infra", "a", "fleet")
	config := func(cpu, weight int) {
		w.commit(map[string]string{"a": pools("a") + fmt.Sprintf(
			"pool \"web\" {\n  node_class = node_class.a\n  labels = { size = \"%d\" }\n  weight = %d\n}\n", cpu, weight)})
	}
	for i, step := range []struct {
		cpu, weight int
		want        string
	}{{4, 1, "main@sha1:0"}, {4, 2, "main@sha1:0"}, {8, 2, "main@sha1:2"}, {8, 2, "main@sha1:2"}} {
		config(step.cpu, step.weight)
		if o := w.reconcile(np); o.reason != lkeplanv1alpha1.ReasonSucceeded {
			t.Fatalf("%s: %s", o.reason, o.message)
		}
		if got := w.rolledBy("web"); got != (manifest.RolledBy{NodePlan: "infra/a", Name: step.want}) {
			t.Errorf("after commit %d: %+v, want %s", i, got, step.want)
		}
		written := w.written
		if w.reconcile(np); w.written != written {
			t.Errorf("after commit %d the same revision is applied twice", i)
		}
	}
}

// rolledBy is the revision that a pool names.
func (w *world) rolledBy(pool string) manifest.RolledBy {
	w.t.Helper()
	typed := &karpv1.NodePool{}
	obj := w.objects[manifest.Key{Kind: "NodePool", Name: pool}]
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
		w.t.Fatal(err)
	}
	by, _ := manifest.ReadRolledBy(typed.Annotations, typed.Spec.Template)
	return by
}

// none keeps no records.
type none struct{}

func (none) Load(context.Context, *lkeplanv1alpha1.NodePlan, string) (appliedRecord, error) {
	return appliedRecord{}, nil
}
func (none) Store(context.Context, *lkeplanv1alpha1.NodePlan, isolate.Pick, []config.Var) (string, error) {
	return "", nil
}

func TestMessagesAreTruncatedAtWords(t *testing.T) {
	if got := diag.Shorten("one two three", 11); got != "one two…" {
		t.Errorf("%q", got)
	}
	if got := diag.Shorten("short", 100); got != "short" {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("ä", 100)
	if got := diag.Shorten(long, 21); len(got) > 21 || !strings.HasSuffix(got, "…") || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%q of %d bytes", got, len(got))
	}
}

// failing compiles the new revision, and not what was last applied.
type failing struct{ scripted }

func (f failing) Compile(_ context.Context, req compile.Request) (compile.Answer, error) {
	if strings.HasSuffix(req.Root, "base") {
		return compile.Answer{}, errors.New("fork: no more processes")
	}
	return f.result, nil
}

func TestUnreadableGuardsBlockRevision(t *testing.T) {
	var source scripted
	source.result.Cluster.Name = "dev"
	w := &Worker{
		Sources: source, Compiler: failing{source}, Cluster: "dev", Now: time.Now,
		Records: recorded{path: ".", files: map[string]string{"old.lke.hcl": ""}},
		Vars:    func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) { return Variables{}, nil },
		Connect: func(*lkeplanv1alpha1.NodePlan) (Cluster, error) {
			t.Error("it went on to the cluster")
			return nil, errors.New("no cluster")
		},
	}
	o := w.Work(t.Context(), &lkeplanv1alpha1.NodePlan{}, nil)
	if !o.failed || !strings.Contains(o.message, "compile what was last applied") {
		t.Errorf("%+v", o)
	}
}

// recordNothing is a Recorder for a NodePlan that is in no API server.
func recordNothing(context.Context) error { return nil }

// TestSimulationsShareMemoryWithCompilations: two of them run at a time, and the others wait.
func TestSimulationsShareMemoryWithCompilations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := semaphore.NewWeighted(childMemory)
		turn := turnOf(memory)
		if err := memory.Acquire(t.Context(), compile.DefaultMemory); err != nil { // a compilation
			t.Fatal(err)
		}
		done, err := turn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := turn(limited); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third one runs: %v", err)
		}
		done()
		if done, err = turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		done()
	})
}

// TestSimulationKnowsVolumes: a node attaches only so many, which keeps pods apart.
func TestSimulationKnowsVolumes(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}}
	claim.Spec.StorageClassName, claim.Spec.VolumeName = ptr.To("linode-block-storage"), "pv"
	claim.Status.Phase = corev1.ClaimBound
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: simulate.VolumeDriver, VolumeHandle: "1"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: corev1.PodSpec{NodeName: "node", Volumes: []corev1.Volume{{
		Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}}}
	instancetype.Register()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(claim, volume, pod).Build()
	whole, err := newView(nil, c, compile.Result{}).Whole(t.Context(), nil)
	if err != nil || whole.Unknown != "" || len(whole.Shapes.Pods) != 1 || whole.Shapes.Pods[0].Volumes.Own != 1 {
		t.Errorf("%+v, %v", whole, err)
	}
}

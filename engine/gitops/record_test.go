package gitops

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestRecordMustMatchDigest: regardless of what happens to its record.
func TestRecordMustMatchDigest(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := lkeplanv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 200<<10)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		spoil  func(np *lkeplanv1alpha1.NodePlan, kept *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord
		noise  int // files that are read as well
		want   string
		known  bool
		before bool // the NodePlan is as it was before the apply
	}{
		"as it was":                       {known: true},
		"next to files that are not read": {known: true},
		"deleted": {want: "no record", spoil: func(*lkeplanv1alpha1.NodePlan, *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord {
			return nil
		}},
		"emptied": {want: "too large", spoil: func(_ *lkeplanv1alpha1.NodePlan, kept *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord {
			kept.Files = nil
			return kept
		}},
		"another path": {want: "does not match", spoil: func(_ *lkeplanv1alpha1.NodePlan, kept *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord {
			kept.Path = "elsewhere"
			return kept
		}},
		"another value": {want: "does not match", spoil: func(_ *lkeplanv1alpha1.NodePlan, kept *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord {
			kept.Variables[0].Value = "100%"
			return kept
		}},
		"with values that are gone": {want: "does not match", spoil: func(_ *lkeplanv1alpha1.NodePlan, kept *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord {
			kept.Variables = nil
			return kept
		}},
		"no archive": {want: "cannot be read", spoil: func(_ *lkeplanv1alpha1.NodePlan, kept *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord {
			kept.Files = []byte("<html>")
			return kept
		}},
		"too large": {want: "too large", noise: 6},
		"without a digest in the status": {want: "does not match", spoil: func(np *lkeplanv1alpha1.NodePlan, kept *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord {
			np.Status.LastAppliedDigest = ""
			return kept
		}},
		"of a NodePlan that is gone": {want: "no record", spoil: func(_ *lkeplanv1alpha1.NodePlan, kept *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord {
			kept.OwnerReferences[0].UID = "other"
			return kept
		}},
		"before anything is applied": {spoil: func(np *lkeplanv1alpha1.NodePlan, kept *lkeplanv1alpha1.NodePlanRecord) *lkeplanv1alpha1.NodePlanRecord {
			np.Status.LastAppliedDigest, np.Status.LastAppliedRevision = "", ""
			return kept
		}},
		"read with an older status": {known: true, before: true},
	} {
		t.Run(name, func(t *testing.T) {
			np, dir := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "fleet"}}, t.TempDir()
			np.UID, np.Spec.Path, np.Status.LastAppliedRevision = "u", "./fleet", "main@sha1:1"
			before := np.DeepCopy()
			read := isolate.Pick{Dir: dir, Names: []string{"fleet/main.lke.hcl"}}
			if err := os.Mkdir(filepath.Join(dir, "fleet"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := isolate.WriteFiles(dir, map[string]string{"fleet/main.lke.hcl": "guards {}", "noise.csv": string(noise)}); err != nil {
				t.Fatal(err)
			}
			for i := range tt.noise {
				more := strings.Repeat("a", i) + "noise.csv"
				if err := os.WriteFile(filepath.Join(dir, more), noise, 0o600); err != nil {
					t.Fatal(err)
				}
				read.Names = append(read.Names, more)
			}
			vars := []config.Var{{Name: "max", Value: "0"}, {Name: "token", Value: "hunter2", Secret: true}}
			c := fake.NewClientBuilder().WithScheme(scheme).Build()
			records := recordStore{c}
			var err error
			if np.Status.LastAppliedDigest, err = records.Store(t.Context(), np, read, vars); err != nil {
				t.Fatal(err)
			}
			if tt.spoil != nil {
				var kept lkeplanv1alpha1.NodePlanRecord
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(np), &kept); err != nil {
					t.Fatal(err)
				}
				if text := fmt.Sprint(kept); strings.Contains(text, "hunter2") {
					t.Errorf("the record has the value from a Secret: %s", text)
				}
				if spoilt := tt.spoil(np, kept.DeepCopy()); spoilt == nil {
					err = c.Delete(t.Context(), &kept)
				} else {
					err = c.Update(t.Context(), spoilt)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Create(t.Context(), np.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			if tt.before {
				np = before
			}
			record, err := records.Load(t.Context(), np, t.TempDir())
			if err != nil || record.Known() != tt.known || !strings.Contains(record.Missing, tt.want) {
				t.Errorf("%+v, %v; want known: %v, missing: %q", record, err, tt.known, tt.want)
			}
		})
	}
}

func TestNewNodePlanHasNoRecord(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := lkeplanv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	records := recordStore{fake.NewClientBuilder().WithScheme(scheme).Build()}
	record, err := records.Load(t.Context(), &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "fleet"}}, t.TempDir())
	if err != nil || record.Known() || record.Missing != "" {
		t.Errorf("%+v, %v", record, err)
	}
}

// refusing is a world whose API server refuses to apply an object.
type refusing struct {
	*world
	name string
}

// Apply implements Cluster.
func (r refusing) Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error) {
	if manifest.Name(desired) == r.name {
		return "", errors.New("refused")
	}
	return r.world.Apply(ctx, desired, before)
}

// TestHalfOfFirstRevisionIsKnown: if a first revision fails after it has created objects, its guards apply to the next one,
// which needs no approval if they allow it.
func TestHalfOfFirstRevisionIsKnown(t *testing.T) {
	for next, want := range map[string]string{
		pools("c", "db", "fixed"): lkeplanv1alpha1.ReasonSucceeded,
		strings.Replace(pools("c", "fixed"), "deleted_pools = 0", "deleted_pools = 9", 1): lkeplanv1alpha1.ReasonGuarded,
	} {
		w := newWorld(t)
		np := w.plan("fleet", "a", "fleet")
		w.worker.Connect = func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return refusing{w, "bad"}, nil }
		w.commit(map[string]string{"a": strings.Replace(pools("c", "bad", "db"), "deleted_pools = 100", "deleted_pools = 0", 1)})
		if o := w.reconcile(np); o.reason != lkeplanv1alpha1.ReasonApplyFailed || len(w.objects) != 2 || np.Status.LastAppliedRevision != "" {
			t.Fatalf("%s, %d objects: %s", o.reason, len(w.objects), o.message)
		}
		w.commit(map[string]string{"a": strings.Replace(next, "deleted_pools = 100", "deleted_pools = 0", 1)})
		if o := w.reconcile(np); o.reason != want {
			t.Errorf("%s, want %s: %s", o.reason, want, o.message)
		}
	}
}

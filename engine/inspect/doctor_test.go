package inspect

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/kube"
)

func TestVersionsOfKubernetes(t *testing.T) {
	for minor, want := range map[string]Level{"29": LevelFail, "30": LevelOK, "36": LevelOK, "36+": LevelOK, "37": LevelWarn, "x": LevelWarn} {
		if got := versionOf(minor, "v1."+minor); got.Level != want || got.Level == LevelFail && got.Do == "" {
			t.Errorf("1.%s: %+v, want %s", minor, got, want)
		}
	}
}

// TestSupportedVersions: the newest is that of the libraries, and the oldest that of the
// chart.
func TestSupportedVersions(t *testing.T) {
	for name, want := range map[string]string{
		"../../go.mod":                fmt.Sprintf("\n\tk8s.io/api v0.%d.", NewestMinor),
		"../../kube/chart/Chart.yaml": fmt.Sprintf("\nkubeVersion: \">=1.%d.0-0\"\n", OldestMinor),
	} {
		if raw, err := os.ReadFile(name); err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("%s has no %q (%v)", name, want, err)
		}
	}
}

// TestSkew: only versions that are at most one minor version apart are tested.
func TestSkew(t *testing.T) {
	for _, tt := range []struct {
		ours, theirs string
		want         bool
	}{
		{"v0.4.0", "v0.4.7", false}, {"v0.4.0", "v0.5.0", false}, {"v0.4.0", "v0.3.9", false},
		{"v0.4.0", "v0.6.0", true}, {"v0.4.0", "v0.2.0", true}, {"v1.0.0", "v0.9.0", true},
		{"", "v0.1.0", false}, {"v0.1.0", "v", false},
	} {
		if got := Skewed(tt.ours, tt.theirs); got != tt.want {
			t.Errorf("%s with %s: %v", tt.ours, tt.theirs, got)
		}
	}
}

func TestIdle(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `{spec: {replicas: 2}}`: true, `{spec: {replicas: 2}, status: {availableReplicas: 0}}`: true,
		`{spec: {replicas: 0}}`: false, `{spec: {replicas: 2}, status: {availableReplicas: 1}}`: false,
	} {
		deployment := &appsv1.Deployment{}
		err := yaml.Unmarshal([]byte(text), deployment)
		if err != nil || isIdle(deployment) != want {
			t.Errorf("%s: %v, want %v (%v)", text, isIdle(deployment), want, err)
		}
	}
}

func TestSameCRDs(t *testing.T) {
	all := kube.CRDs()
	for _, definition := range all {
		live := definition.DeepCopy()
		live.Spec.Names.Singular, live.ResourceVersion = "", "7" // a default, and what the API server adds
		if !sameCRD(definition, live) {
			t.Errorf("%s differs from itself", definition.Name)
		}
		live.Spec.Versions[0].Schema.OpenAPIV3Schema.Description += "."
		if sameCRD(definition, live) {
			t.Errorf("%s: another schema is not noticed", definition.Name)
		}
	}
}

// TestNeeded: each process needs the rights of the roles that it is bound to, and no token
// is read with those of another.
func TestNeeded(t *testing.T) {
	needed, err := kube.NeededRights(false)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for account, rights := range needed {
		for _, r := range rights {
			if r.Verb == "" || r.Resource == "" {
				t.Errorf("%s: %+v", account, r)
			}
		}
		count[account] = min(len(rights), 20)
	}
	if diff := cmp.Diff(map[string]int{"lkeplan-controller": 20, "lkeplan-gitops": 20}, count); diff != "" {
		t.Errorf("rights of accounts, 20 at most (-want +got)\n%s", diff)
	}
}

// TestNeededInInstanceMode: the process that creates nodes needs all rights that it needs on LKE, and tokens in
// kube-system; the other process needs nothing more.
func TestNeededInInstanceMode(t *testing.T) {
	here := map[bool]map[string][]authorizationv1.ResourceAttributes{}
	for _, instances := range []bool{false, true} {
		needed, err := kube.NeededRights(instances)
		if err != nil {
			t.Fatal(err)
		}
		here[instances] = needed
	}
	if diff := cmp.Diff(here[false]["lkeplan-gitops"], here[true]["lkeplan-gitops"]); diff != "" {
		t.Errorf("rights of what reconciles NodePlans (-LKE +instance mode)\n%s", diff)
	}
	said := func(rights []authorizationv1.ResourceAttributes) (all []string) {
		for _, r := range rights {
			all = append(all, strings.Join([]string{r.Namespace, r.Resource, r.Name, r.Verb}, " "))
		}
		return all
	}
	lke, own := said(here[false]["lkeplan-controller"]), said(here[true]["lkeplan-controller"])
	less := slices.DeleteFunc(slices.Clone(lke), func(r string) bool { return slices.Contains(own, r) })
	more := slices.DeleteFunc(slices.Clone(own), func(r string) bool { return slices.Contains(lke, r) })
	if len(less) > 0 {
		t.Errorf("rights of LKE only: %q", less)
	}
	for _, right := range []string{"kube-system secrets  create", "kube-public configmaps cluster-info get",
		" namespaces kube-system get", "lkeplan-system secrets  get"} {
		if !slices.Contains(more, right) {
			t.Errorf("instance mode has no %q: %q", right, more)
		}
	}
}

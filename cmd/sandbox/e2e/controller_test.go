package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestTheNextControllerLeadsAtOnce: a controller that is stopped releases its lease,
// and the standby takes it within seconds.
func TestTheNextControllerLeadsAtOnce(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	holder := func() string {
		var lease coordinationv1.Lease
		err := s.client.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "lkeplan-controller"}, &lease)
		if err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	elect := []string{"--leader-elect", "true", "--leader-election-namespace", "kube-system"}
	first := s.startController(elect...)
	s.until("the first controller leads", 30*time.Second, func(state) bool { return holder() != "" })
	leader := holder()
	second := s.startController(elect...)
	s.until("the second one waits", 30*time.Second, func(state) bool {
		return strings.Contains(second.log.String(), "acquire leader lease")
	})
	first.stop()
	if h := holder(); h == leader {
		t.Error("after a clean stop the lease is still held")
	}
	s.until("the second one leads", 4*time.Second, func(state) bool { return holder() != "" && holder() != leader })
}

// versionedClass is a class of a version that only node pools of LKE Enterprise can have.
const versionedClass = `{"apiVersion":"karpenter.k8s.linode/v1","kind":"LinodeNodeClass",
	"metadata":{"name":"versioned"},"spec":{"lkeK8sVersion":"v1.33.4+lke2"}}`

// TestNodeClassSaysWhatIsWrongAndStaysWhileItIsUsed follows a class from creation to
// deletion.
func TestNodeClassSaysWhatIsWrongAndStaysWhileItIsUsed(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.kube(versionedClass, "apply", "-f", "-")
	s.until("the class says what is wrong", 20*time.Second, func(state) bool {
		var class linodev1alpha1.LinodeNodeClass
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: "versioned"}, &class); err != nil {
			t.Fatal(err)
		}
		ready := class.StatusConditions().Get("Ready")
		return ready.IsFalse() &&
			strings.Contains(class.StatusConditions().Get(linodev1alpha1.ConditionValidationSucceeded).Message,
				`spec.lkeK8sVersion: "v1.33.4+lke2" is not a version`)
	})
	out, err := s.command(bin(t, "lkeplan"), nil, "apply", "--yes", "--timeout", "3s", refusedDir(t)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is not ready: spec.lkeK8sVersion: ") {
		t.Errorf("apply does not say why the class is not ready: %v\n%s", err, out)
	}

	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(1)
	s.until("the pod runs", time.Minute, func(s state) bool { return s.running == 1 && s.matched() })
	s.kube("", "delete", "linodenodeclass", "default", "--wait=false")
	s.deleteDeployments("inflate")
	s.until("the node is gone", time.Minute, func(now state) bool {
		var class linodev1alpha1.LinodeNodeClass
		err := s.client.Get(context.Background(), client.ObjectKey{Name: "default"}, &class)
		if err != nil && len(now.claims) > 0 {
			t.Fatal("the class went before the NodeClaims that use it")
		}
		return err != nil && now.empty()
	})
}

// refusedDir is a directory of an Enterprise cluster, with a class that standard clusters
// refuse.
func refusedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := "cluster {\n  name = \"sandbox\"\n  region = \"us-ord\"\n  tier = \"enterprise\"\n}\n\n" +
		"node_class \"versioned\" {\n  kubernetes_version = \"v1.33.4+lke2\"\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCatalogueIsReadFromTheAPI: a refreshed snapshot has the facts of the API.
func TestCatalogueIsReadFromTheAPI(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	snapshot := filepath.Join(t.TempDir(), "snapshot.txt")
	if out := s.run("lkeplan", "catalog", "refresh", snapshot); !strings.Contains(out, "plans") {
		t.Errorf("refresh said %q", out)
	}
	source := regexp.MustCompile(` from="[^"]*"`)
	facts := func(path string) string {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "plan ") && !strings.Contains(line, " vcpus=") {
				continue // of which no size is known: the simulator does not sell it
			}
			if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "date") && !strings.HasPrefix(line, "source") {
				lines = append(lines, source.ReplaceAllString(line, "")) // the API does not say from where it knows a plan
			}
		}
		return strings.Join(lines, "")
	}
	if facts(snapshot) != facts("../../../linode/catalog/snapshot.txt") {
		t.Error("the snapshot has other facts than the API, which serves the built-in ones")
	}
	out, err := s.command(bin(t, "lkeplan"), nil, "catalog", "refresh", "--linode-url", "http://127.0.0.1:1",
		snapshot).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--linode-url") {
		t.Errorf("an API that does not answer: %v\n%s", err, out)
	}
	if facts(snapshot) != facts("../../../linode/catalog/snapshot.txt") {
		t.Error("a refresh that failed changed the file")
	}
}

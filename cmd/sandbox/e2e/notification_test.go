package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// TestFluxTakesTheExample: Flux's CRDs do not let an Alert or a Receiver name a
// NodePlan. With the component of examples/flux they do, and the API server accepts
// the whole example.
func TestFluxTakesTheExample(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--flux")
	s.installCRDs()
	for _, namespace := range []string{"flux-system", "lkeplan-fleet"} {
		s.kube("", "create", "namespace", namespace)
	}
	example := []string{"apply", "-k", "../../../examples/flux", "--dry-run=server"}
	said, refused := s.tries(s.env["KUBECONFIG"], "", example...)
	if !refused || strings.Count(said, `Unsupported value: "NodePlan"`) != 2 {
		t.Fatalf("without the component the Alert and the Receiver are not refused:\n%s", said)
	}

	s.letsAlertsNameNodePlans()
	s.until("Flux takes the example", 20*time.Second, func(state) bool {
		said, refused = s.tries(s.env["KUBECONFIG"], "", example...)
		return !refused
	})
	mustContain(t, said, "nodeplan.lkeplan.dev/prod", "alert.notification.toolkit.fluxcd.io/fleet",
		"receiver.notification.toolkit.fluxcd.io/fleet", "gitrepository.source.toolkit.fluxcd.io/fleet")
	s.takesThePullRequests()
	if may := s.kube("", "auth", "can-i", "patch", "nodeplans.lkeplan.dev", "-n", "lkeplan-fleet", "--as",
		"system:serviceaccount:flux-system:notification-controller"); strings.TrimSpace(may) != "yes" {
		t.Errorf("may notification-controller patch NodePlans: %s", may)
	}
}

// letsAlertsNameNodePlans puts the component of the example into the directory
// flux-system, as flux bootstrap lays it out, and applies that.
func (s *sandbox) letsAlertsNameNodePlans() {
	s.t.Helper()
	dir := s.t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "notification"), os.DirFS("../../../examples/flux/notification")); err != nil {
		s.t.Fatal(err)
	}
	for name, text := range map[string]string{
		"gotk-components.yaml": s.kube("", "get", "crd", "alerts.notification.toolkit.fluxcd.io",
			"receivers.notification.toolkit.fluxcd.io", "-o", "yaml"),
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" +
			"resources: [gotk-components.yaml]\ncomponents: [notification]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	s.kube("", "apply", "-k", dir, "--server-side", "--force-conflicts")
	s.established()
}

// takesThePullRequests has the API server validate the objects of the example for pull
// requests, with the numbers filled in as the Flux Operator would. The operator itself
// is not tested.
func (s *sandbox) takesThePullRequests() {
	s.t.Helper()
	const dir = "../../../examples/flux/pull-requests/"
	s.kube("", "apply", "-f", dir+"notifications.yaml", "--dry-run=server")
	raw, err := os.ReadFile(dir + "plans.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	const sha = "1f2c3d4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c9d0e"
	text := strings.NewReplacer("<< inputs.id >>", "7", "<< inputs.id | quote >>", `"7"`, "<< inputs.sha | quote >>",
		`"`+sha+`"`).Replace(string(raw))
	_, text, _ = strings.Cut(text, "\n---\n")
	var set struct {
		Spec struct{ Resources []json.RawMessage }
	}
	if err := yaml.Unmarshal([]byte(text), &set); err != nil || len(set.Spec.Resources) != 2 {
		s.t.Fatalf("read the objects of a pull request: %d, %v", len(set.Spec.Resources), err)
	}
	for _, resource := range set.Spec.Resources {
		said := s.kube(string(resource), "apply", "-f", "-", "--dry-run=server")
		mustContain(s.t, said, "-pr-7 created")
	}
}

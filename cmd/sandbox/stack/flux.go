package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
)

// startFlux creates Flux's CRDs, and starts source-controller, which does not start
// without them.
func (l *launch) startFlux(ctx context.Context) error {
	for _, file := range l.assets(binaries.FluxCRDs()) {
		define := func(ctx context.Context) error { return l.check.defined(ctx, file) }
		if err := l.await(ctx, apiServer, "take the CRD "+path.Base(file), define); err != nil {
			return err
		}
	}
	return l.start(ctx, sourceController)
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// defined returns nil once the API server serves the kind of the CRD in a file. It creates the CRD if it does not
// exist.
func (c *componentChecker) defined(ctx context.Context, file string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := c.create(ctx, strings.TrimPrefix(string(text), "---\n")); err != nil {
		return err
	}
	// The files are called GROUP_PLURAL.yaml, and the CRDs PLURAL.GROUP.
	group, plural, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".yaml"), "_")
	name := plural + "." + group
	raw, err := c.client.Discovery().RESTClient().Get().AbsPath(definitionsPath, name).Do(ctx).Raw()
	if err != nil {
		return err
	}
	var crd struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &crd); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(crd.Status.Conditions, "Established") {
		return fmt.Errorf("%s is not established", name)
	}
	return nil
}

func sourceControllerArgs(w wiring) []string {
	artifacts := address(w.port(sourceController, "artifacts"))
	return []string{
		"--storage-path=" + w.artifacts(),
		"--storage-addr=" + artifacts,
		"--storage-adv-addr=" + artifacts,
		"--health-addr=" + address(w.port(sourceController, "health")),
		"--metrics-addr=" + address(0),
		"--watch-all-namespaces=true",
		"--enable-leader-election=false",
		"--kube-api-qps=" + apiRate,
		"--kube-api-burst=" + apiRate,
		// Without jitter, the times in a sandbox are predictable.
		"--interval-jitter-percentage=0",
	}
}

// auditPolicy logs each request once, when it is answered.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
  "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}
`

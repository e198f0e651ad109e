package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// fragments are values of the chart that collide with one another or with what the chart sets.
var fragments = []string{
	`settings.mode="instance"`,
	`settings.clusterID=77`,
	`settings.clusterID="12345678901234"`,
	`settings.clusterEndpoint="https://10.0.0.2:6443"`,
	`region="us-ord"`,
	`apiURL="https://api.example.com"`,
	`apiToken="0123"`,
	`existingSecret="token"`,
	`controller.env=[{"name":"LINODE_REGION","value":"us-ord"}]`,
	`controller.env=[{"name":"LKE_CLUSTER_ID","value":"77"}]`,
	`controller.env=[{"name":"CLUSTER_ENDPOINT","value":"https://10.0.0.2:6443"},{"name":"A"}]`,
	`controller.env=[{"name":"A","value":"1"},{"name":"A","valueFrom":{"secretKeyRef":{"name":"a","key":"a"}}}]`,
	`controller.env=[{"name":"A","value":1}]`,
	`controller.envFrom=[{"secretRef":{"name":"a"}},{"configMapRef":{"name":"a"}}]`,
	`controller.metrics.port=9000`,
	`controller.healthProbe.port=9000`,
	`controller.healthProbe.port=8080`,
	`controller.extraVolumeMounts=[{"name":"more","mountPath":"/more"}]`,
	`controller.extraVolumeMounts=[{"name":"more","mountPath":"/tmp"}]`,
	`controller.extraVolumeMounts=[{"name":"tmp","mountPath":"/a"},{"name":"tmp","mountPath":"/a"}]`,
	`extraVolumes=[{"name":"tmp","emptyDir":{}}]`,
	`extraVolumes=[{"name":"more","emptyDir":{}}]`,
	`extraVolumes=[{"name":"more"},{"name":"more"}]`,
	`imagePullSecrets=[{"name":"a"},{"name":"a"}]`,
	`imagePullSecrets=[{"name":"a"}]`,
	`additionalLabels={"team":"a","app.kubernetes.io/part-of":"b"}`,
	`additionalLabels={"app.kubernetes.io/name":"lkeplan"}`,
	`additionalLabels={"count":1}`,
	`podLabels={"team":"b","app.kubernetes.io/version":"c"}`,
	`podLabels={"app.kubernetes.io/name":"lkeplan"}`,
	`podAnnotations={"lkeplan.dev/token":"a"}`,
	`podAnnotations={"team":"a"}`,
	`additionalAnnotations={"team":"a"}`,
	`serviceMonitor={"enabled":true,"additionalLabels":{"team":"c"}}`,
	`prometheusRule={"enabled":true,"additionalLabels":{"team":"c"}}`,
	`dashboards={"enabled":true,"additionalLabels":{"app.kubernetes.io/version":"c"}}`,
	`topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"},` +
		`{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}]`,
	`topologySpreadConstraints=[]`,
	`tenants=[{"namespace":"a"},{"namespace":"a"}]`,
	`tenants=[{"namespace":"a","approvers":["x","x"]},{"namespace":"b","create":false}]`,
	`serviceAccount={"name":"lkeplan-gitops"}`,
	`serviceAccount={"create":false,"name":"karpenter"}`,
	`podDisruptionBudget={"maxUnavailable":"50%"}`,
	`gitops.separate=false`,
	`gitops.enabled=false`,
	`gitops={"separate":false,"resources":null,"extraArgs":null}`,
	`policies={"tenancy":true,"nodeAdmission":true}`,
	`metadataPolicy="calico"`,
	`crds.install=false`,
	`networkPolicy={"egress":[{"ports":[{"port":443}]}]}`,
	`affinity=null`,
	`networkPolicy=null`,
	`settings.featureGates={"nodeOverlay":true}`,
	`global={"imageRegistry":"mirror.example.com/a"}`,
	`extraObjects=["{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Release.Name }}-a, namespace: a}}"]`,
	`extraObjects=[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"{{ .Release.Name }}","namespace":"b"}}]`,
	`extraObjects=["{{ .Values"]`,
}

// TestChartRefusesOrRendersStrictly combines fragments at random, after each alone and the pairs next to one another.
// The chart refuses a combination with a sentence, or renders objects that an API server can apply.
func TestChartRefusesOrRendersStrictly(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var cases [][]string
	for i, f := range fragments {
		cases = append(cases, []string{f}, []string{f, fragments[(i+1)%len(fragments)]})
		var several []string
		for range 6 {
			several = append(several, fragments[random.IntN(len(fragments))])
		}
		cases = append(cases, several)
	}
	rendered := 0
	for _, fragments := range cases {
		args := append([]string{"template", "lkeplan", chart, "--namespace", "lkeplan-system", "--kube-version", "1.36.0"},
			needed...)
		for _, f := range fragments {
			args = append(args, "--set-json", f)
		}
		out, err := helm(t, nowhere, args...)
		if err != nil {
			if !isSentence(err.Error()) {
				t.Errorf("%q: not refused by the chart, but: %v", fragments, err)
			}
			continue
		}
		rendered++
		if err := strict(out); err != nil {
			t.Errorf("%q: %v", fragments, err)
		}
	}
	if rendered < len(cases)/4 {
		t.Errorf("only %d of %d combinations are rendered", rendered, len(cases))
	}
}

// isSentence reports whether a refusal of Helm comes from the chart's checks or its schema.
func isSentence(refusal string) bool {
	return strings.Contains(refusal, "execution error at (") ||
		strings.Contains(refusal, "values don't meet the specifications of the schema") ||
		strings.Contains(refusal, "extraObjects") // of which the author of the values writes templates
}

// strict reports what an API server, or kustomize, would refuse: a key or an object twice, entries of a list with the
// same name, and a selector that does not select the pods.
func strict(manifests string) error {
	seen := map[string]bool{}
	for doc := range strings.SplitSeq(manifests, "\n---\n") {
		var object struct {
			APIVersion, Kind string
			Metadata         struct{ Name, Namespace string }
			Spec             map[string]any
		}
		var all map[string]any
		if err := yaml.UnmarshalStrict([]byte(doc), &all); err != nil {
			return fmt.Errorf("%w in\n%s", err, doc)
		}
		if len(all) == 0 {
			continue // only a comment
		}
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			return fmt.Errorf("%w in\n%s", err, doc)
		}
		id := fmt.Sprint(object.APIVersion, object.Kind, object.Metadata)
		if object.Kind == "" || object.Metadata.Name == "" || seen[id] {
			return fmt.Errorf("unnamed or duplicate: %s", id)
		}
		seen[id] = true
		if object.Kind != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		if err := yaml.UnmarshalStrict([]byte(doc), &d); err != nil {
			return fmt.Errorf("%w in\n%s", err, doc)
		}
		if err := strictPods(d); err != nil {
			return fmt.Errorf("Deployment %s: %w", d.Name, err)
		}
	}
	return nil
}

func strictPods(d appsv1.Deployment) error {
	if s := d.Spec.Strategy; s.Type == appsv1.RecreateDeploymentStrategyType && s.RollingUpdate != nil {
		return fmt.Errorf("the strategy Recreate has rollingUpdate %v", s.RollingUpdate)
	}
	template := d.Spec.Template
	for key, value := range d.Spec.Selector.MatchLabels {
		if template.Labels[key] != value {
			return fmt.Errorf("the selector %s=%s does not match %v", key, value, template.Labels)
		}
	}
	var keys []string
	volumes := map[string]bool{}
	for _, v := range template.Spec.Volumes {
		keys, volumes[v.Name] = append(keys, "volume "+v.Name), true
	}
	for _, s := range template.Spec.ImagePullSecrets {
		keys = append(keys, "secret "+s.Name)
	}
	for _, c := range template.Spec.TopologySpreadConstraints {
		keys = append(keys, fmt.Sprint("spread ", c.TopologyKey, c.WhenUnsatisfiable))
	}
	for _, c := range template.Spec.Containers {
		keys = append(keys, "container "+c.Name)
		for _, e := range c.Env {
			keys = append(keys, "env "+c.Name+" "+e.Name)
		}
		for _, p := range c.Ports {
			keys = append(keys, fmt.Sprint("port ", c.Name, p.ContainerPort, p.Protocol))
		}
		for _, m := range c.VolumeMounts {
			keys = append(keys, "mount "+c.Name+" "+m.MountPath)
			if !volumes[m.Name] {
				return fmt.Errorf("no volume %s", m.Name)
			}
		}
	}
	slices.Sort(keys)
	if distinct := slices.Compact(slices.Clone(keys)); len(distinct) != len(keys) {
		return fmt.Errorf("a duplicate among %q", keys)
	}
	return nil
}

// TestChartRendersWithoutNewDefaults removes each value from values.yaml, alone and with all values below it, and then
// all values: `helm upgrade --reuse-values` from an older chart has none of the values that are new.
func TestChartRendersWithoutNewDefaults(t *testing.T) {
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, chart))); err != nil {
		t.Fatal(err)
	}
	read := func(name string) (values map[string]any) {
		raw, err := os.ReadFile(filepath.Join(root, chart, name))
		if err == nil {
			err = yaml.Unmarshal(raw, &values)
		}
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	render := func(values map[string]any) string {
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "values.yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, rendered, _ := strings.Cut(offline(t, append([]string{"install", "lkeplan", dir, "--dry-run=client", "--namespace",
			"lkeplan-system"}, needed...)...), "HOOKS:") // the time is before that
		return rendered
	}
	values := read("values.yaml")
	full := render(values)
	var remove func(defaults, below map[string]any, prefix string)
	remove = func(defaults, below map[string]any, prefix string) {
		for _, key := range slices.Sorted(maps.Keys(defaults)) {
			value := below[key]
			delete(below, key)
			// A list or map with entries is left empty, as if a user had removed it.
			got, same := render(values), reflect.DeepEqual(value, defaults[key])
			if same && got != full {
				t.Errorf("without %s%s the chart renders different objects", prefix, key)
			}
			below[key] = value
			if inner, ok := value.(map[string]any); ok {
				remove(defaults[key].(map[string]any), inner, prefix+key+".")
			}
		}
	}
	remove(read("files/defaults.yaml"), values, "")
	render(map[string]any{})
}

// needed are the values without which the chart refuses to be installed.
var needed = []string{"--set", "settings.clusterName=my-cluster", "--set", setImage}

// setImage names an image that no test pulls.
const setImage = "controller.image.repository=registry.example.com/lkeplan-controller"

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/kube/kubetest"
)

// evil is text that a user can write into fields with free text: it controls terminals and CI systems, and forges lines. No
// line of the output can begin with its words.
const evil = "FORGED \x1b[31mFORGED\x1b]0;pwned\x07\x1b[2J \u009b31m \u202eFORGED\u2066 \u200b\U000e0041\u3164 \"FORGED\n" +
	"fail  Linode API: the token has leaked\n      -> kubectl delete crd nodepools.karpenter.sh\n::error::FORGED\n" +
	"##[error]FORGED\r\nok    controller: works\u2028\tok FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED " +
	"FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED FORGED"

// forged are words of evil that no line can begin with.
var forged = []string{"FORGED", "\\u", "fail  Linode", "-> kubectl delete crd", "::", "##[", "ok    controller: works", "ok FORGED",
	"the token has"}

// hostileObjects are the objects of testdata/hostile, by their resources.
func hostileObjects(t *testing.T, kinds map[string]string) map[string][]any {
	t.Helper()
	raw, err := os.ReadFile("testdata/hostile/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	resources := map[string]string{} // of kinds
	for resource, kind := range kinds {
		resources[kind] = resource
	}
	objects := map[string][]any{}
	for doc := range strings.SplitSeq(string(raw), "---\n") {
		times := 1
		_, _ = fmt.Sscanf(doc, "# times %d\n", &times)
		for i := range times {
			text, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(doc, "NNN", fmt.Sprint(i))))
			if err != nil {
				t.Fatalf("%v in\n%s", err, doc)
			}
			var obj map[string]any
			numbers := json.NewDecoder(bytes.NewReader(text))
			numbers.UseNumber() // 9223372036854775807
			if err := numbers.Decode(&obj); err != nil {
				t.Fatalf("%v in\n%s", err, doc)
			}
			obj = worse(obj).(map[string]any)
			meta := obj["metadata"].(map[string]any)
			namespace, _ := meta["namespace"].(string)
			if meta["uid"] == nil {
				meta["uid"] = fmt.Sprintf("%s/%s", namespace, meta["name"])
			}
			resource := resources[obj["kind"].(string)]
			if resource == "" {
				t.Fatalf("no resource for\n%s", doc)
			}
			objects[resource] = append(objects[resource], obj)
		}
	}
	return objects
}

// worse replaces placeholders in a value.
func worse(value any) any {
	switch value := value.(type) {
	case map[string]any:
		made := map[string]any{}
		for key, v := range value {
			if key == "MANY" {
				for i := range 10_000 {
					made[fmt.Sprintf("label-%d", i)] = "x"
				}
				continue
			}
			made[strings.ReplaceAll(key, "EVIL", evil)] = worse(v)
		}
		return made
	case []any:
		for i := range value {
			value[i] = worse(value[i])
		}
	case string:
		if value == "MEGA" {
			return strings.Repeat(evil, 1<<20/len(evil))
		}
		return strings.ReplaceAll(value, "EVIL", evil)
	}
	return value
}

// hostileKinds are the kinds of the cluster, by their resources.
var hostileKinds = map[string]string{
	"v1/nodes": "Node", "v1/pods": "Pod", "v1/events": "Event", "v1/persistentvolumes": "PersistentVolume", "v1/namespaces": "Namespace",
	"v1/configmaps": "ConfigMap", "v1/secrets": "Secret",
	"v1/persistentvolumeclaims": "PersistentVolumeClaim", "apps/v1/daemonsets": "DaemonSet", "apps/v1/deployments": "Deployment",
	"policy/v1/poddisruptionbudgets": "PodDisruptionBudget", "storage.k8s.io/v1/storageclasses": "StorageClass",
	"coordination.k8s.io/v1/leases": "Lease", "karpenter.sh/v1/nodeclaims": "NodeClaim", "karpenter.sh/v1/nodepools": "NodePool",
	"karpenter.k8s.linode/v1/linodenodeclasses": "LinodeNodeClass", "karpenter.k8s.linode/v1alpha1/linodenodeclasses": "LinodeNodeClass",
	"lkeplan.dev/v1alpha1/capacitylimits": "CapacityLimit", "lkeplan.dev/v1alpha1/nodeplans": "NodePlan",
	"lkeplan.dev/v1alpha1/disruptionstops":                              "DisruptionStop",
	"authorization.k8s.io/v1/subjectaccessreviews":                      "SubjectAccessReview",
	"authorization.k8s.io/v1/selfsubjectaccessreviews":                  "SelfSubjectAccessReview",
	"apiextensions.k8s.io/v1/customresourcedefinitions":                 "CustomResourceDefinition",
	"rbac.authorization.k8s.io/v1/clusterrolebindings":                  "ClusterRoleBinding",
	"admissionregistration.k8s.io/v1/validatingadmissionpolicies":       "ValidatingAdmissionPolicy",
	"admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
	"karpenter.sh/v1alpha1/nodeoverlays":                                "NodeOverlay",
	"autoscaling.x-k8s.io/v1alpha1/capacitybuffers":                     "CapacityBuffer",
	"apps/v1/replicasets":                                               "ReplicaSet", "apps/v1/statefulsets": "StatefulSet", "batch/v1/jobs": "Job",
}

// hostileServer is an API server with these objects. A webhook refuses all writes.
func hostileServer(t *testing.T) *httptest.Server {
	t.Helper()
	objects := hostileObjects(t, hostileKinds)
	for _, class := range append(objects["karpenter.k8s.linode/v1alpha1/linodenodeclasses"], objects["karpenter.k8s.linode/v1/linodenodeclasses"]...) {
		objects["karpenter.k8s.linode/v1alpha1/linodenodeclasses"], objects["karpenter.k8s.linode/v1/linodenodeclasses"] = []any{class}, []any{class}
	}
	api := &kubetest.Server{Kinds: hostileKinds, Objects: objects}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		path := strings.Trim(r.URL.Path, "/")
		_, below, _ := strings.Cut(path, "/")
		refused := func(code int, reason, message string) {
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
				"message": message, "code": code})
		}
		switch {
		case path == "version":
			_ = json.NewEncoder(w).Encode(map[string]any{"major": "1", "minor": "36", "gitVersion": "v1.36.0" + evil})
			return
		case strings.HasSuffix(path, "accessreviews"):
			var review map[string]any
			_ = json.NewDecoder(r.Body).Decode(&review)
			review["status"] = map[string]any{"allowed": true, "reason": evil}
			review["metadata"] = map[string]any{"uid": "1"}
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(review)
			return
		case r.URL.Query().Get("dryRun") != "":
			refused(http.StatusForbidden, "Forbidden", `User "`+evil+`" cannot patch resource "nodepools"`)
			return
		case r.Method != http.MethodGet:
			refused(http.StatusForbidden, "Forbidden", "admission webhook denied the request: "+evil)
			return
		}
		if at := strings.LastIndexByte(below, '/'); at > 0 && hostileKinds[below[:at]] != "" {
			for _, obj := range objects[below[:at]] {
				if obj := obj.(map[string]any); obj["metadata"].(map[string]any)["name"] == below[at+1:] {
					_ = json.NewEncoder(w).Encode(obj)
					return
				}
			}
			refused(http.StatusNotFound, "NotFound", evil)
			return
		}
		resp, err := api.RoundTrip(r)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestHostileTextForgesNoLine: in each command that reads a cluster, no text of a hostile cluster controls a terminal or a CI
// system, or begins a line.
func TestHostileTextForgesNoLine(t *testing.T) {
	server := hostileServer(t)
	config, dir := kubeconfig(t, server.URL), t.TempDir()
	hcl := "cluster {\n  name = \"x\"\n  region = \"us-ord\"\n}\nnode_class \"default\" {}\npool \"any\" {\n  node_class = node_class.default\n" +
		"  requirements = { arch = \"amd64\", instance_type = \"g6-standard-4\" }\n  limits = { cpu = 40 }\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "a.lke.hcl"), []byte(hcl), 0o600); err != nil {
		t.Fatal(err)
	}
	snapshot := filepath.Join(t.TempDir(), "s.json")
	for _, tt := range []struct {
		args string
		code int
		json bool
		says string
		not  string
	}{
		{args: "status", says: "7 nodes (1 not joined yet) in 3 pools"},
		{args: "status any"},
		{args: "status --all", says: "ten/Pod alone-29"},
		{args: "status -o json", json: true, says: `"nodes": 7`},
		{args: "why pool any"},
		{args: "why pool any -o json", json: true},
		{args: "why pool bare"},
		{args: "why pool going"},
		{args: "why node lke1-any-0"},
		{args: "why node aaa-edge", not: "by no pool"},
		{args: "why node aaa-edge -o json", json: true},
		{args: "why node bbb-negative"},
		{args: "why node ccc-statusless"},
		{args: "why node vanished", code: 1, says: "2026-11-02 10:00:00 UTC"},
		{args: "why node never-there", code: 1, not: "IN-TEN"},
		{args: "why node twin"},
		{args: "why node empty"},
		{args: "why pod ten/gone-1", code: 1, says: "the last event about it, at 2026-11-02 10:00:00 UTC, is Finalized: \""},
		{args: "why pod ten/odd", not: "IN-TEN"},
		{args: "why pod ten/odd -o json", json: true},
		{args: "why pod ten/gt"},
		{args: "why pod ten/lt"},
		{args: "why pod ten/values"},
		{args: "why pod ten/gated"},
		{args: "why pod ten/alone-7"},
		{args: "why pod ten/runs"},
		{args: "doctor", code: 1, not: "IN-TEN"},
		{args: "doctor -o json", json: true, code: 1},
		{args: "nodeplan get -A"},
		{args: "nodeplan get evil -n ten"},
		{args: "nodeplan get another -n ten"},
		{args: "nodeplan get -A -o json", json: true},
		{args: "nodeplan history evil -n ten"},
		{args: "nodeplan history evil -n ten -o json", json: true},
		{args: "nodeplan reconcile evil -n ten", code: 1},
		{args: "nodeplan suspend evil -n ten", code: 1},
		{args: "nodeplan approve evil -n ten --yes", code: 1},
		{args: "nodeplan diff evil -n ten DIR"},
		{args: "nodeplan diff evil -n ten --pending", code: 1, says: "What is pending is unknown: "},
		{args: "nodeplan diff evil -n ten --pending -o json", code: 1, json: true, says: "\"unknown\": \"FORGED"},
		{args: "nodeplan diff waiting -n ten --pending", code: 3, says: "To approve it: lkeplan nodeplan approve -n ten waiting"},
		{args: "nodeplan diff waiting -n ten --pending -o json", code: 3, json: true},
		{args: "nodeplan diff another -n ten --pending --detailed-exitcode", code: 1, says: "What is pending is unknown: "},
		{args: "plan DIR"},
		{args: "plan DIR -o json", json: true},
		{args: "plan DIR -o markdown"},
		{args: "diff --base live DIR"},
		{args: "apply --yes DIR", code: 1},
		{args: "snapshot", json: true},
		{args: "simulate --workloads snapshot:SNAPSHOT DIR", code: 3, says: "Skipped 1 pod of"},
		{args: "simulate --workloads live DIR", code: 3},
		{args: "simulate --workloads live -o json DIR", code: 3, json: true},
		{args: "simulate --workloads live -o markdown DIR", code: 3},
		{args: "validate --workloads live DIR"},
		{args: "import --region us-ord", code: 1},
		{args: "crds apply", code: 1},
		{args: "uninstall --drain --yes", code: 1},
		{args: "uninstall --leave --yes", code: 1},
	} {
		t.Run(tt.args, func(t *testing.T) {
			var args []string
			for _, arg := range strings.Fields(tt.args) {
				if arg == "DIR" {
					arg = dir
				}
				args = append(args, strings.ReplaceAll(arg, "SNAPSHOT", snapshot))
			}
			var out, errs bytes.Buffer
			env := &flags.Env{Stdin: new(bytes.Buffer), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
				Environ: func() []string { return nil }}
			if !strings.Contains(tt.args, "SNAPSHOT") {
				args = append(args, "--kubeconfig", config)
			}
			code := run(t.Context(), args, env)
			if tt.args == "snapshot" {
				if err := os.WriteFile(snapshot, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if code != tt.code || strings.Contains(errs.String(), "crashed") {
				t.Errorf("exit code %d, want %d: %.3000s", code, tt.code, &errs)
			}
			if tt.json && !json.Valid(out.Bytes()) {
				t.Errorf("not JSON: %.3000s", &out)
			}
			both := out.String() + errs.String()
			if strings.HasPrefix(tt.args, "import") { // strings in the HCL are not changed
				both = errs.String()
			}
			if !strings.Contains(both, tt.says) || tt.not != "" && strings.Contains(both, tt.not) {
				t.Errorf("output, want with %q and without %q:\n%.5000s", tt.says, tt.not, both)
			}
			if testing.Verbose() && os.Getenv("SHOW") != "" {
				t.Logf("%.60000s", both)
			}
			lookHarmless(t, both, tt.json, strings.HasPrefix(tt.args, "validate"))
		})
	}
}

// lookHarmless fails for text that controls a terminal or a CI system, or has a forged line.
func lookHarmless(t *testing.T, text string, isJSON, isDiagnostic bool) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}); i >= 0 {
		t.Errorf("a control character at %q", text[max(0, i-100):min(len(text), i+100)])
	}
	if strings.Contains(text, "##[") {
		t.Error("a command to a CI system")
	}
	for line := range strings.Lines(text) {
		if isJSON {
			break // strings in JSON have no lines
		}
		for _, word := range forged {
			if isDiagnostic && (word == "FORGED" || word == "\\u") {
				continue // their details are wrapped between words, and begin no line with text of others
			}
			if strings.HasPrefix(strings.TrimLeft(line, " "), word) {
				t.Errorf("a forged line: %.200s", line)
			}
		}
	}
}

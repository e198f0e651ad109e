package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const valuesDir = "cmd/sandbox/e2e/testdata/chart/values/"

// TestChartValues: helm lint has no findings with any of the values files, and each output has
// the expected texts.
func TestChartValues(t *testing.T) {
	tests := map[string]struct{ has, hasNot []string }{
		"provider": {
			[]string{"--batch-max-duration=5m", "--feature-gates=NodeRepair", "containerPort: 9080", "LINODE_REGION",
				`serviceAccountName: "karpenter"`, `LINODE_TOKEN: "0123"`, "interval: 30s", "name: side", "    - widgets"},
			[]string{"clusterEndpoint", "--feature-gates=NodeOverlay"},
		},
		"all": {
			[]string{"--feature-gates=StaticCapacity=false", "--max-replacements=0", "--node-admission-params",
				"mirror.example.com/lkeplan-controller@sha256:0123", "terminationGracePeriodSeconds: 0",
				`metadata: {name: "my-cluster-text", namespace: lkeplan-system}`, "name: extra\n  namespace: 'lkeplan-system'",
				"helm.sh/hook: test",
				`{name: LKE_CLUSTER_ID, value: "12345"}`, "name: lkeplan-apply-other", `kind: Group, name: "on-call"}`,
				`kind: Group, name: "cn=admins,ou=groups"}`, `kind: Group, name: "1234"}`, `- "404"`,
				"kind: PrometheusRule", "alert: LkeplanTokenRefused", "capacity.json: |",
				`{name: "token", key: LINODE_TOKEN}`, "--http-retry=3", "--concurrent=4", "policyTypes: [Ingress, Egress]",
				"--trace-endpoint=http://otel-collector.observability:4317"},
			[]string{"resource-policy: keep\n    controller-gen", "--no-cross-namespace-refs", "kind: Secret\n"},
		},
		"together": {
			[]string{"--default-service-account=lkeplan", "memory: 3Gi", "kind: CustomResourceDefinition"},
			[]string{"--only", "lkeplan-gitops"},
		},
		"capacity": {
			[]string{"--only=capacity", `{name: "karpl-credentials", key: LINODE_TOKEN}`},
			[]string{"lkeplan-gitops", "kind: CustomResourceDefinition", "kind: NetworkPolicy",
				"kind: ValidatingAdmissionPolicy"},
		},
		"instance": {
			[]string{`{name: KARPENTER_MODE, value: "instance"}`, `{name: LINODE_REGION, value: "us-ord"}`,
				`{name: CLUSTER_ENDPOINT, value: "https://10.0.0.2:6443"}`, "kind: CiliumClusterwideNetworkPolicy",
				"'system:serviceaccount:lkeplan-system:karpenter'"},
			[]string{"LKE_CLUSTER_ID", "kind: Tier"},
		},
		"calico": {
			[]string{`{name: KARPENTER_MODE, value: "instance"}`, "kind: Tier", "kind: GlobalNetworkPolicy"},
			[]string{"CLUSTER_ENDPOINT", "kind: Cilium"},
		},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			offline(t, "lint", "--strict", chart, "--values", valuesDir+name+".yaml", "--kube-version", "1.36.0")
			var all strings.Builder
			for _, text := range chartFiles(t, "--values", valuesDir+name+".yaml") {
				all.WriteString(text)
			}
			for _, text := range want.has {
				if !strings.Contains(all.String(), text) {
					t.Errorf("the output does not contain %q", text)
				}
			}
			for _, text := range want.hasNot {
				if strings.Contains(all.String(), text) {
					t.Errorf("the output contains %q", text)
				}
			}
		})
	}
	if files, err := filepath.Glob("testdata/chart/values/*.yaml"); err != nil || len(files) != len(tests) {
		t.Errorf("%d files of values, want %d (%v)", len(files), len(tests), err)
	}
}

// TestChartKeepsPartsSeparate: with the values of karpenter-provider-linode, the GitOps controller
// gets no token, and anti-affinity separates the pods of each controller.
func TestChartKeepsPartsSeparate(t *testing.T) {
	files := chartFiles(t, "--values", valuesDir+"provider.yaml")
	for part, secrets := range map[string]int{"controller": 1, "gitops": 0} {
		text := files[part+".yaml"]
		if found := strings.Count(text, "name: karpl-credentials"); found != secrets {
			t.Errorf("%s has %d Secrets of the environment, want %d", part, found, secrets)
		}
		if !strings.Contains(text, "- configMapRef:") {
			t.Errorf("%s has no ConfigMap of the environment", part)
		}
		var deployment appsv1.Deployment
		_, doc, _ := strings.Cut(text, "kind: Deployment\n")
		if err := yaml.Unmarshal([]byte(doc), &deployment); err != nil {
			t.Fatal(err)
		}
		apart := deployment.Spec.Template.Spec.Affinity.PodAntiAffinity
		for _, selector := range []*metav1.LabelSelector{
			apart.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector,
			apart.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector,
		} {
			if selector == nil || selector.MatchLabels["app.kubernetes.io/name"] != "lkeplan-"+part {
				t.Errorf("the anti-affinity of %s selects %v", part, selector)
			}
		}
	}
}

// TestChartRefusesBadValues before anything is installed, with a message that says what to do.
func TestChartRefusesBadValues(t *testing.T) {
	tests := []struct {
		set  string // in addition to settings.clusterName and the image
		want []string
	}{
		{"settings.clusterName=", []string{"settings.clusterName is empty; set it to the label of the LKE cluster"}},
		{"controller.image.repository=", []string{
			"no image is published yet; build one with make image, push it, and set controller.image.repository"}},
		{"settings.mode=eks", []string{"/settings/mode", "'lke', 'instance'"}},
		{"settings.mode=instance", []string{"region is empty; with settings.mode=instance set it"}},
		{"settings.mode=instance,region=us-ord,settings.clusterName=", []string{"choose a name that no other cluster"}},
		{"settings.mode=instance,region=us-ord,settings.clusterName=My_Cluster",
			[]string{`settings.clusterName is "My_Cluster"`, "at most 34 lower-case letters"}},
		{"settings.mode=instance,region=us-ord,settings.clusterName=" + strings.Repeat("a", 35), []string{"at most 34"}},
		{"settings.mode=instance,region=us-ord,settings.clusterName=a--b", []string{"single dashes"}},
		{"settings.mode=instance,region=us-ord,settings.clusterID=77", []string{"settings.clusterID is the ID of an LKE cluster"}},
		{"settings.mode=instance,region=us-ord,controller.env[0].name=LKE_CLUSTER_ID",
			[]string{"controller.env sets LKE_CLUSTER_ID"}},
		{"settings.mode=instance,region=us-ord,settings.clusterEndpoint=10.0.0.2:6443",
			[]string{`settings.clusterEndpoint is "10.0.0.2:6443"`, "must look like https://10.0.0.2:6443"}},
		{"settings.mode=instance,region=us-ord,gitops.separate=false", []string{"gitops.separate must be true"}},
		{"settings.mode=instance,region=us-ord,serviceAccount.name=lkeplan-gitops", []string{"must have different accounts"}},
		{"settings.mode=instance,region=us-ord,policies.nodeAdmission=true", []string{"policies.nodeAdmission is for nodes of LKE"}},
		{"controller.env[0].name=KARPENTER_MODE,controller.env[0].value=instance", []string{"set settings.mode"}},
		{"region=us-ord,controller.env[0].name=LINODE_REGION",
			[]string{"controller.env sets LINODE_REGION, which the chart sets; remove it and set region"}},
		{"controller.env[0].name=CLUSTER_NAME", []string{"controller.env sets CLUSTER_NAME", "set settings.clusterName"}},
		{"controller.env[0].name=LINODE_TOKEN", []string{"controller.env sets LINODE_TOKEN", "set existingSecret"}},
		{"controller.env[0].name=LINODE_URL", []string{"controller.env sets LINODE_URL", "set apiURL"}},
		{"settings.clusterID=77,controller.env[0].name=LKE_CLUSTER_ID",
			[]string{"controller.env sets LKE_CLUSTER_ID", "set settings.clusterID"}},
		{"controller.env[0].name=A,controller.env[1].name=A", []string{`controller.env has the name "A" twice; remove one`}},
		{"controller.env[0].value=A", []string{"/controller/env/0", "missing property 'name'"}},
		{"controller.env[0].name=A,controller.env[0].value=1", []string{"/controller/env/0/value", "got number"}},
		{"controller.metrics.port=9000,controller.healthProbe.port=9000",
			[]string{"controller.metrics.port and controller.healthProbe.port are both 9000; change one"}},
		{"extraVolumes[0].name=tmp", []string{`extraVolumes has the name "tmp", which the chart uses; rename it`}},
		{"extraVolumes[0].name=a,extraVolumes[1].name=a", []string{`extraVolumes has the name "a" twice; remove one`}},
		{"controller.extraVolumeMounts[0].name=a,controller.extraVolumeMounts[0].mountPath=/a",
			[]string{`controller.extraVolumeMounts names the volume "a", which is not in extraVolumes`}},
		{"controller.extraVolumeMounts[0].name=tmp,controller.extraVolumeMounts[0].mountPath=/tmp",
			[]string{`controller.extraVolumeMounts has the mountPath "/tmp", which the chart uses`}},
		{"controller.sidecarContainer[0].name=controller",
			[]string{`controller.sidecarContainer has the name "controller", which the chart uses`}},
		{"imagePullSecrets[0].name=a,imagePullSecrets[1].name=a", []string{"imagePullSecrets has the name \"a\" twice"}},
		{`additionalLabels.app\.kubernetes\.io/name=lkeplan`,
			[]string{"additionalLabels sets app.kubernetes.io/name, by which the Deployments select their pods; remove it"}},
		{`podLabels.app\.kubernetes\.io/name=lkeplan`, []string{"podLabels sets app.kubernetes.io/name"}},
		{"podLabels.count=1", []string{"/podLabels/count", "want string"}},
		{`podAnnotations.lkeplan\.dev/token=a`, []string{"podAnnotations sets lkeplan.dev/token, which the chart sets; remove it"}},
		{"serviceAccount.name=lkeplan-gitops", []string{"serviceAccount.name is lkeplan-gitops, the account of the GitOps controller"}},
		{"podDisruptionBudget.name=lkeplan-gitops", []string{"podDisruptionBudget.name is lkeplan-gitops"}},
		{"tenants[0].namespace=a,tenants[1].namespace=a", []string{`tenants has the namespace "a" twice; remove one`}},
		{"extraObjects[0]=3", []string{"/extraObjects/0"}},
		{"metadataPolicy=flannel", []string{"/metadataPolicy", "'none', 'cilium', 'calico'"}},
		{"setings.clusterName=x", []string{"'setings' not allowed"}},
		{"settings.clusterNam=x", []string{"/settings", "'clusterNam' not allowed"}},
		{"replicas=two", []string{"/replicas", "want integer"}},
		{"settings.batchIdleDuration=fast", []string{"/settings/batchIdleDuration", "does not match pattern"}},
		{"settings.maxReplacements=-1", []string{"/settings/maxReplacements"}},
		{"settings.clusterID=prod", []string{"/settings/clusterID"}},
		{"settings.clusterID=12345678901234567890", []string{"/settings/clusterID"}},
		{"settings.clusterID=-5", []string{"/settings/clusterID"}},
		{"terminationGracePeriodSeconds=-1", []string{"/terminationGracePeriodSeconds"}},
		{"tracing.endpoint=collector:4317", []string{"/tracing/endpoint", "does not match pattern"}},
		{"logLevel=loud", []string{"/logLevel", "'debug', 'info', 'warn', 'error'"}},
		{"controller.image.digest=latest", []string{"/controller/image/digest"}},
		{"controller.image.repository=docker.io/linode/karpenter-provider-linode",
			[]string{"another program; set it to an image of lkeplan"}},
		{"controller.image.tag=latest", []string{"the default of another program; remove it"}},
		{"existingSecret=a,credentialsSecretRef=b", []string{"remove one"}},
		{"serviceAccount.create=false", []string{"set serviceAccount.name"}},
		{"gitops.enabled=false,tenants[0].namespace=a", []string{"gitops.enabled is false; enable it or remove tenants"}},
		{"tenants[0].namespace=lkeplan-system", []string{"choose another: a NodePlan in it could read the Secret"}},
		{"tenants[0].name=a", []string{"missing property 'namespace'"}},
	}
	for _, tt := range tests {
		t.Run(tt.set, func(t *testing.T) {
			_, err := helm(t, nowhere, "template", "lkeplan", chart, "--namespace", "lkeplan-system",
				"--set", "settings.clusterName=my-cluster,"+setImage, "--set", tt.set)
			if err == nil {
				t.Fatal("the chart accepts it")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
	_, err := helm(t, nowhere, "template", chart, "--set", "settings.clusterName=a,policies.nodeAdmission=true,"+setImage,
		"--kube-version", "1.35.2")
	if err == nil || !strings.Contains(err.Error(), "requires Kubernetes 1.36, and this is v1.35.2") {
		t.Errorf("a policy that the cluster does not support: %v", err)
	}
}

// TestNotesListValuesWithoutEffect by name, after the installation.
func TestNotesListValuesWithoutEffect(t *testing.T) {
	notes := func(values string) string {
		return offline(t, "install", "lkeplan", chart, "--namespace", "lkeplan-system", "--dry-run=client",
			"--values", valuesDir+values+".yaml")
	}
	said := notes("provider")
	for _, name := range []string{"apiVersion", "linodeDebug", "nameOverride", "fullnameOverride", "webhook",
		"logOutputPaths", "logErrorOutputPaths", "settings.clusterCABundle", "settings.clusterEndpoint",
		"settings.vmMemoryOverheadPercent", "settings.lkeCreateDeadline", "settings.lkeTagVerificationTimeout",
		"settings.lkeRetryDelay", "controller.sidecarVolumeMounts"} {
		if !strings.Contains(said, "WARNING: "+name+" has no effect") {
			t.Errorf("no warning about %s", name)
		}
	}
	for _, values := range []string{"all", "together", "capacity", "instance", "calico"} {
		if said := notes(values); strings.Contains(said, "WARNING") || !strings.Contains(said, "lkeplan doctor") {
			t.Errorf("the notes with the values %s:\n%s", values, said[strings.Index(said, "NOTES:"):])
		}
	}
}

// TestNotesWarnAboutMetadataService in instance mode, unless a policy blocks access from pods.
func TestNotesWarnAboutMetadataService(t *testing.T) {
	for set, said := range map[string]bool{"": false, ",settings.mode=instance,region=us-ord": true,
		",settings.mode=instance,region=us-ord,metadataPolicy=calico": false} {
		notes := offline(t, "install", "lkeplan", chart, "--namespace", "lkeplan-system", "--dry-run=client", "--set",
			"settings.clusterName=my-cluster,"+setImage+set)
		if strings.Contains(notes, "WARNING: pods can read the Linode Metadata service") != said {
			t.Errorf("with %q, the warning about the Metadata service: %v, want %v", set, !said, said)
		}
	}
}

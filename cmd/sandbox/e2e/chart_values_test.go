package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

const valuesDir = "cmd/sandbox/e2e/testdata/chart/values/"

// TestChartValues: helm lint has no findings with any of the values files, and each output has
// the expected texts.
func TestChartValues(t *testing.T) {
	tests := map[string]struct{ has, hasNot []string }{
		"pods": {
			[]string{"--batch-max-duration=5m", "--feature-gates=NodeRepair=false", "containerPort: 9080", "LINODE_REGION",
				`serviceAccountName: "karpenter"`, `LINODE_TOKEN: "0123"`, "hostNetwork: true"},
			[]string{"--feature-gates=NodeOverlay"},
		},
		"all": {
			[]string{"--feature-gates=StaticCapacity=false", "--max-replacements=0", "--node-admission-params",
				"mirror.example.com/lkeplan-controller@sha256:0123",
				`metadata: {name: "my-cluster-text", namespace: lkeplan-system}`, "name: extra\n  namespace: 'lkeplan-system'",
				"helm.sh/hook: test",
				`{name: LKE_CLUSTER_ID, value: "12345"}`, "name: lkeplan-apply-other", `kind: Group, name: "on-call"}`,
				`kind: Group, name: "cn=admins,ou=groups"}`, `kind: Group, name: "1234"}`, `- "404"`,
				"kind: PrometheusRule", "alert: LkeplanTokenRefused", "capacity.json: |",
				`{name: "token", key: LINODE_TOKEN}`, "--http-retry=3", "--concurrent=4", "policyTypes: [Ingress, Egress]"},
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

// TestChartKeepsPartsSeparate: the GitOps controller gets no token from a Secret of the environment.
func TestChartKeepsPartsSeparate(t *testing.T) {
	files := chartFiles(t, "--values", valuesDir+"pods.yaml")
	for part, secrets := range map[string]int{"controller": 1, "gitops": 0} {
		text := files[part+".yaml"]
		if found := strings.Count(text, "name: karpl-credentials"); found != secrets {
			t.Errorf("%s has %d Secrets of the environment, want %d", part, found, secrets)
		}
		if !strings.Contains(text, "- configMapRef:") {
			t.Errorf("%s has no ConfigMap of the environment", part)
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
		{"imagePullSecrets[0].name=a,imagePullSecrets[1].name=a", []string{"imagePullSecrets has the name \"a\" twice"}},
		{`additionalLabels.app\.kubernetes\.io/name=lkeplan`,
			[]string{"additionalLabels sets app.kubernetes.io/name, by which the Deployments select their pods; remove it"}},
		{`podLabels.app\.kubernetes\.io/name=lkeplan`, []string{"podLabels sets app.kubernetes.io/name"}},
		{"podLabels.count=1", []string{"/podLabels/count", "want string"}},
		{`podAnnotations.lkeplan\.dev/token=a`, []string{"podAnnotations sets lkeplan.dev/token, which the chart sets; remove it"}},
		{"serviceAccount.name=lkeplan-gitops", []string{"serviceAccount.name is lkeplan-gitops, the account of the GitOps controller"}},
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
		{"logLevel=loud", []string{"/logLevel", "'debug', 'info', 'warn', 'error'"}},
		{"controller.image.digest=latest", []string{"/controller/image/digest"}},
		{"apiToken=a,existingSecret=b", []string{"apiToken and existingSecret are both set; remove one"}},
		{"settings.clusterEndpoint=https://10.0.0.2:6443", []string{"settings.clusterEndpoint is only for settings.mode=instance"}},
		{"settings.clusterCABundle=a", []string{"'clusterCABundle' not allowed"}},
		{"serviceAccount.create=false", []string{"set serviceAccount.name"}},
		{"gitops.enabled=false,tenants[0].namespace=a", []string{"gitops.enabled is false; enable it or remove tenants"}},
		{"tenants[0].namespace=lkeplan-system", []string{"choose another: a NodePlan in it could read the Secret"}},
		{"tenants[0].name=a", []string{"missing property 'namespace'"}},
		{`additionalLabels={"bad key!":"x"}`, []string{`additionalLabels has the key "bad key!"; write at most 63 letters`}},
		{`additionalLabels={"c":"has space"}`, []string{"/additionalLabels/c", "'has space'"}},
		{`podLabels={"a":"-"}`, []string{"/podLabels/a"}},
		{`additionalAnnotations={"bad key!":"x"}`,
			[]string{`additionalAnnotations has the key "bad key!"; write at most 63 letters`}},
		{`podAnnotations={"a/b/c":"x"}`, []string{`podAnnotations has the key "a/b/c"`}},
		{`serviceAccount.annotations={"a b":"x"}`, []string{`serviceAccount.annotations has the key "a b"`}},
		{`serviceMonitor.additionalLabels={"a b":"x"}`, []string{`serviceMonitor.additionalLabels has the key "a b"`}},
		{`prometheusRule.additionalLabels={"a":"b c"}`, []string{"/prometheusRule/additionalLabels/a"}},
		{`dashboards.additionalLabels={"a":"b c"}`, []string{"/dashboards/additionalLabels/a"}},
		{`nodeSelector={"bad key!":"x"}`, []string{`nodeSelector has the key "bad key!"; write at most 63 letters`}},
		{"dnsPolicy=X", []string{"/dnsPolicy", "'ClusterFirst', 'ClusterFirstWithHostNet', 'Default'"}},
		{"priorityClassName=A B", []string{"/priorityClassName", "'A B' does not match pattern"}},
		{"serviceAccount.name=A_B", []string{"/serviceAccount/name", "'A_B'"}},
		{"existingSecret=A B", []string{"/existingSecret", "'A B'"}},
		{"imagePullSecrets[0].name=A_B", []string{"/imagePullSecrets/0/name", "'A_B'"}},
		{"podDisruptionBudget.maxUnavailable=150%", []string{"/podDisruptionBudget/maxUnavailable", "'150%'"}},
		{"podDisruptionBudget.maxUnavailable=-1", []string{"/podDisruptionBudget/maxUnavailable"}},
		{"controller.resources.requests.cpu=lots", []string{"/controller/resources/requests/cpu", "'lots'"}},
		{"controller.resources.limits.memory=-1", []string{"/controller/resources/limits/memory"}},
		{"controller.resources.request.cpu=1", []string{"/controller/resources", "'request' not allowed"}},
		{"controller.resources.limits.ram=1Gi", []string{"/controller/resources/limits", "'ram'"}},
		{"gitops.resources.limits.memory=2GB", []string{"/gitops/resources/limits/memory", "'2GB'"}},
		{`controller.resources={"requests":{"cpu":2},"limits":{"cpu":"1500m"}}`,
			[]string{"controller.resources requests cpu 2 with a limit of 1500m; raise the limit or lower the request"}},
		{`gitops.resources={"requests":{"memory":"1Gi"},"limits":{"memory":"1G"}}`,
			[]string{"gitops.resources requests memory 1Gi with a limit of 1G"}},
		{`networkPolicy.egress=[{"ports":[{"port":70000}]}]`, []string{"/networkPolicy/egress/0/ports/0/port", "65,535"}},
		{`networkPolicy.egress=[{"ports":[{"port":"A b"}]}]`, []string{"/networkPolicy/egress/0/ports/0/port"}},
		{`networkPolicy.egress=[{"ports":[{"port":443,"protocol":"tcp"}]}]`, []string{"'TCP', 'UDP', 'SCTP'"}},
		{`networkPolicy.egress=[{"to":[{}]}]`, []string{
			"networkPolicy.egress[0].to[0] is empty; set podSelector, namespaceSelector or ipBlock"}},
		{`networkPolicy.metricsFrom=[{"ipBlock":{"cidr":"everywhere"}}]`,
			[]string{"/networkPolicy/metricsFrom/0/ipBlock/cidr"}},
		{`networkPolicy.metricsFrom=[{"ipBlock":{"cidr":"10.0.0.0/8"},"podSelector":{}}]`,
			[]string{"networkPolicy.metricsFrom[0] has ipBlock and a selector; write two peers"}},
		{`tolerations=[{"key":"a","operator":"Exists","value":"b"}]`,
			[]string{`tolerations[0] has the operator Exists and the value "b"; remove one of them`}},
		{`tolerations=[{"operator":"Equal"}]`, []string{"tolerations[0] has no key; set key, or the operator Exists"}},
		{`tolerations=[{"key":"a","operator":"Is"}]`, []string{"/tolerations/0/operator"}},
		{`tolerations=[{"key":"a","effect":"NoRun"}]`, []string{"/tolerations/0/effect"}},
		{`tolerations=[{"key":"a b"}]`, []string{"/tolerations/0/key"}},
		{`tolerations=[{"key":"a","tolerationSeconds":5}]`,
			[]string{"tolerations[0] has tolerationSeconds; set effect to NoExecute or remove it"}},
		{`topologySpreadConstraints=[{"maxSkew":0,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}]`,
			[]string{"/topologySpreadConstraints/0/maxSkew"}},
		{`topologySpreadConstraints=[{"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}]`,
			[]string{"/topologySpreadConstraints/0", "missing property 'maxSkew'"}},
		{`topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"Never"}]`,
			[]string{"/topologySpreadConstraints/0/whenUnsatisfiable"}},
		{`controller.env=[{"name":"A","value":"1","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]`,
			[]string{"controller.env sets A by value and by valueFrom; remove one of them"}},
		{`controller.env=[{"name":"A","valueFrom":{}}]`,
			[]string{"controller.env has 0 sources in valueFrom of A; set one, such as secretKeyRef"}},
		{`networkPolicy.egress=[{"ports":[{"port":443,"endPort":80}]}]`,
			[]string{"networkPolicy.egress[0].ports[0] has the endPort 80; set port to a number that is not larger"}},
		{`topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway","minDomains":2}]`,
			[]string{"topologySpreadConstraints[0] has minDomains; set whenUnsatisfiable to DoNotSchedule or remove it"}},
		{`controller.env=[{"name":"A B"}]`, []string{"/controller/env/0/name", "'A B'"}},
		{`controller.env=[{"name":"A","valueFrom":{"secretKeyRef":{"name":"a"}}}]`, []string{"missing property 'key'"}},
		{`controller.envFrom=[{}]`, []string{"/controller/envFrom/0"}},
		{`controller.envFrom=[{"secretRef":{"name":"A_B"}}]`, []string{"/controller/envFrom/0/secretRef/name"}},
		{`controller.envFrom=[{"secretRef":{"name":"a"},"configMapRef":{"name":"a"}}]`,
			[]string{"controller.envFrom[0] has secretRef and configMapRef; write two entries"}},
		{`extraVolumes=[{"name":"a","emptyDir":{},"hostPath":{"path":"/a"}}]`,
			[]string{"extraVolumes[0] has 2 types: emptyDir, hostPath; keep one"}},
		{`extraVolumes=[{"name":"A_B","emptyDir":{}}]`, []string{"/extraVolumes/0/name"}},
		{`extraObjects=[{}]`, []string{"extraObjects[0] has no apiVersion; add it"}},
		{`extraObjects=[{"apiVersion":"v1"}]`, []string{"extraObjects[0] has no kind; add it"}},
		{`extraObjects=[{"apiVersion":"v1","kind":"ConfigMap"}]`, []string{"extraObjects[0] has no metadata.name; add it"}},
		{`extraObjects=[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":3}}]`,
			[]string{"extraObjects[0] has no metadata.name; add it"}},
		{`extraObjects=["only text"]`, []string{"extraObjects[0] is not an object of Kubernetes"}},
		{`extraObjects=["{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\nonly text"]`,
			[]string{"extraObjects[0] is not an object of Kubernetes"}},
		{`extraObjects=[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"lkeplan-controller"}}]`,
			[]string{"extraObjects[0] is the Deployment lkeplan-controller, which the chart creates; rename or remove it"}},
		{`extraObjects=[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}},` +
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"lkeplan-system"}}]`,
			[]string{"extraObjects[1] is the ConfigMap a, which extraObjects has twice; rename or remove it"}},
		{"global.imageRegistry=https://registry.example.com", []string{"/global/imageRegistry", "does not match pattern"}},
		{"global.imageRegistry=registry.example.com//", []string{"/global/imageRegistry", "does not match pattern"}},
		{"controller.image.repository=registry.example.com/lkeplan:v1", []string{"/controller/image/repository"}},
		{"controller.image.repository=https://registry.example.com/lkeplan", []string{"/controller/image/repository"}},
		{"controller.image.tag=bad tag", []string{"/controller/image/tag", "'bad tag'"}},
		{"apiURL=linode", []string{"/apiURL", "'linode' does not match pattern '^(https?://"}},
		{"gitops.eventsAddr=x y", []string{"/gitops/eventsAddr", "'x y' does not match pattern '^(https?://"}},
		{"gitops.defaultServiceAccount=A_B", []string{"/gitops/defaultServiceAccount"}},
		{"tenants[0].namespace=A_B", []string{"/tenants/0/namespace", "'A_B'"}},
		{"tenants[0].namespace=a,tenants[0].serviceAccount=A_B", []string{"/tenants/0/serviceAccount"}},
		{`affinity={"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[` +
			`{"matchExpressions":[{"key":"a","operator":"Is"}]}]}}}`, []string{"/operator"}},
		{`affinity={"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}}`,
			[]string{"missing property 'topologyKey'"}},
		{`networkPolicy.metricsFrom=[{"podSelector":{"matchLabels":{"a b":"c"}}}]`, []string{"'a b' not allowed"}},
		{`networkPolicy.metricsFrom=[{"podSelector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}}]`,
			[]string{"/operator", "'In', 'NotIn', 'Exists', 'DoesNotExist'"}},
		{"controller.env[0].name=METRICS_PORT",
			[]string{"controller.env sets METRICS_PORT, which the chart sets; remove it and set controller.metrics.port"}},
		{"controller.env[0].name=HEALTH_PROBE_PORT", []string{"remove it and set controller.healthProbe.port"}},
		{"controller.env[0].name=LOG_LEVEL", []string{"remove it and set logLevel"}},
		{"controller.env[0].name=FEATURE_GATES", []string{"remove it and set settings.featureGates"}},
		{"controller.env[0].name=BATCH_MAX_DURATION", []string{"remove it and set settings.batchMaxDuration"}},
		{"controller.extraArgs[0]=--metrics-bind-address=:9000", []string{
			"controller.extraArgs sets --metrics-bind-address, which the chart sets",
			"remove it and set controller.metrics.port"}},
		{"controller.extraArgs[0]=--log-level,controller.extraArgs[1]=debug",
			[]string{"controller.extraArgs sets --log-level", "set logLevel"}},
		{"gitops.extraArgs[0]=--health-probe-bind-address=0",
			[]string{"gitops.extraArgs sets --health-probe-bind-address", "set controller.healthProbe.port"}},
		{"controller.extraArgs[0]=--only=gitops", []string{"controller.extraArgs sets --only", "set gitops.separate"}},
		{"controller.extraArgs[0]=--mode=instance", []string{"controller.extraArgs sets --mode", "set settings.mode"}},
	}
	for _, tt := range tests {
		t.Run(tt.set, func(t *testing.T) {
			flag := "--set"
			if _, value, _ := strings.Cut(tt.set, "="); strings.ContainsAny(value[:min(1, len(value))], "[{") {
				flag = "--set-json"
			}
			_, err := helm(t, nowhere, "template", "lkeplan", chart, "--namespace", "lkeplan-system",
				"--set", "settings.clusterName=my-cluster,"+setImage, flag, tt.set)
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

// TestNotesWarnAboutMetadataService in instance mode, unless a policy blocks access from pods.
func TestNotesWarnAboutMetadataService(t *testing.T) {
	for set, said := range map[string]bool{"": false, ",settings.mode=instance,region=us-ord": true,
		",settings.mode=instance,region=us-ord,metadataPolicy=calico": false} {
		notes := offline(t, "install", "lkeplan", chart, "--namespace", "lkeplan-system", "--dry-run=client", "--set",
			"settings.clusterName=my-cluster,"+setImage+set)
		if strings.Contains(notes, "WARNING: pods can read the Linode Metadata service") != said {
			t.Errorf("with %q, the warning about the Metadata service: %v, want %v", set, !said, said)
		}
		if !strings.Contains(notes, "lkeplan doctor") {
			t.Errorf("with %q, the notes do not name the next steps:\n%s", set, notes)
		}
	}
}

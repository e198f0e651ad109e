package bootstrap

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/api"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// FuzzUserData puts hostile texts wherever a text comes from outside. What is taken has to be
// read back as it was, by kubeadm, k3s and the kubelet, and nothing else with it.
func FuzzUserData(f *testing.F) {
	for _, text := range []string{
		"a", "yes", "1e3", "0x1F", "1:30", "a,b=c", "a b", "a\n- b", "\"", "'", "$(reboot)", "`reboot`", "{{.Token}}",
		"@LINODE_ID@", "a\\", "# x", "&a", "*a", "|", ">", "=", "~", "5%", "\u2028", "\x00", "a<1", "null", "::",
	} {
		f.Add(text, text, text, text, text, int64(len(text)))
	}
	f.Add("prod-1", "example.com/a", "b", "memory.available", "5%", int64(60))
	f.Add("prod-1", "123456", "0123", "cpu", "1500m", int64(0))
	f.Fuzz(func(t *testing.T, node, key, value, signal, amount string, n int64) {
		j := sample()
		j.Node, j.Region = node, value
		j.Labels = map[string]string{key: value, "example.com/other": value}
		j.Taints = []corev1.Taint{{Key: key, Value: value, Effect: "NoSchedule"}, {Key: "a", Effect: "NoExecute"}}
		j.Kubelet = &linodev1alpha1.KubeletConfiguration{
			ClusterDNS: []string{amount}, SystemReserved: map[string]string{signal: amount},
			EvictionSoft:            map[string]string{signal: amount},
			EvictionSoftGracePeriod: map[string]metav1.Duration{signal: {Duration: time.Duration(n)}},
		}
		for _, with := range []func(*linodev1alpha1.KubeletConfiguration){
			func(*linodev1alpha1.KubeletConfiguration) {},
			func(k *linodev1alpha1.KubeletConfiguration) { k.ClusterDNS = nil },
			func(k *linodev1alpha1.KubeletConfiguration) { k.SystemReserved = nil },
			func(k *linodev1alpha1.KubeletConfiguration) { *k = linodev1alpha1.KubeletConfiguration{} },
		} {
			with(j.Kubelet)
			kubeadmReads(t, j)
			k3sReads(t, j)
		}
	})
}

// written are the files of user data, by path.
func written(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var c struct {
		Files []file `json:"write_files"`
	}
	if err := yaml.UnmarshalStrict(text, &c); err != nil || len(text) > api.MaxUserData {
		t.Fatalf("%v\n%s", err, text)
	}
	files := map[string]string{}
	for _, f := range c.Files {
		files[f.Path] = f.Content
	}
	if got := files[scriptFile]; got != machineScriptWith(kubeadmScript) && got != machineScriptWith(k3sScript) {
		t.Errorf("another script\n%s", got)
	}
	return files
}

func kubeadmReads(t *testing.T, j Join) {
	t.Helper()
	text, err := Kubeadm(j)
	if err != nil {
		return
	}
	files := written(t, text)
	var c joinConfiguration
	if err := yaml.UnmarshalStrict([]byte(files[joinFile]), &c); err != nil {
		t.Fatal(err)
	}
	args := map[string]string{}
	for _, a := range c.NodeRegistration.KubeletExtraArgs {
		args[a.Name] = a.Value
		if strings.ContainsAny(a.Value, " \t\n\"'\\$") {
			t.Errorf("kubeadm hands %q on, on a line that is split at spaces", a.Value)
		}
	}
	same(t, "arguments", slices.Sorted(maps.Keys(args)), []string{"cloud-provider", "node-labels", "provider-id"})
	same(t, "labels", set(strings.Split(args["node-labels"], ",")), labelsOf(j))
	same(t, "name", c.NodeRegistration.Name, j.Node)
	same(t, "taints", c.NodeRegistration.Taints, j.tainted())

	var k linodev1alpha1.KubeletConfiguration
	if err := yaml.Unmarshal([]byte(files[patchFile]), &k); err != nil {
		t.Fatal(err)
	}
	same(t, "kubelet", k, *j.Kubelet)
}

func k3sReads(t *testing.T, j Join) {
	t.Helper()
	text, err := K3s(j)
	if err != nil {
		return
	}
	var c k3sConfig
	if err := yaml.UnmarshalStrict([]byte(written(t, text)[k3sFile]), &c); err != nil {
		t.Fatal(err)
	}
	same(t, "labels", set(c.NodeLabel), labelsOf(j))
	same(t, "name", c.NodeName, j.Node)
	var taints []string
	for _, taint := range j.tainted() {
		taints = append(taints, taint.flag())
	}
	same(t, "taints", c.NodeTaint, taints)
	for _, arg := range c.KubeletArg {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "system-reserved":
			same(t, name, paired(value, "="), j.Kubelet.SystemReserved)
		case "eviction-soft":
			same(t, name, paired(value, "<"), j.Kubelet.EvictionSoft)
		case "cluster-dns":
			same(t, name, strings.Split(value, ","), j.Kubelet.ClusterDNS)
		case "cloud-provider", "provider-id", "eviction-soft-grace-period":
		default:
			t.Errorf("the kubelet gets the flag %q", arg)
		}
	}
}

func labelsOf(j Join) map[string]bool {
	all := map[string]bool{}
	for key, value := range j.Labels {
		if KubeletMaySet(key) {
			all[key+"="+value] = true
		}
	}
	return all
}

func set(all []string) map[string]bool {
	m := map[string]bool{}
	for _, s := range all {
		m[s] = true
	}
	return m
}

// paired reads a flag as the kubelet does.
func paired(value, between string) map[string]string {
	m := map[string]string{}
	for pair := range strings.SplitSeq(value, ",") {
		key, amount, _ := strings.Cut(pair, between)
		m[key] = amount
	}
	return m
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: -want +got\n%s", what, d)
	}
}

// FuzzCustom: no template makes more than Linode takes, and none leaves a name in.
func FuzzCustom(f *testing.F) {
	for _, text := range []string{
		"{{.Node}}", "{{ .CA }}{{.Region}}", "  {{.JoinConfig}}\n", "{{.Nodes}}", "{{", "}}", "{{{.Node}}}", "{{.Node}", "{{.Node\n}}",
		"{{. Node}}", "{{}}", "{{range .Labels}}{{end}}", "\t{{.KubeletConfig}}\t{{.Token}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := Custom(text, sample())
		if len(out) > api.MaxUserData || (err == nil) != (len(out) > 0) || strings.Contains(string(out), "{{") {
			t.Errorf("%d bytes, %v", len(out), err)
		}
	})
}

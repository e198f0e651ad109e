package checks

import (
	"context"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/sim"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// cluster has objects by kind.
type cluster struct {
	objects map[string][]string
	version string // of the API server
}

func (c cluster) List(_ context.Context, _, kind string) (objects []map[string]any, err error) {
	for _, text := range c.objects[kind] {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

func (c cluster) Get(ctx context.Context, like map[string]any) (map[string]any, error) {
	all, err := c.List(ctx, "", manifest.Kind(like))
	for _, obj := range all {
		if manifest.Name(obj) == manifest.Name(like) {
			return obj, nil
		}
	}
	return nil, err
}

func (c cluster) Server(context.Context) (version.Info, error) {
	return version.Info{GitVersion: c.version}, nil
}

const (
	clusterInfo = `{metadata: {namespace: kube-public, name: cluster-info}}`
	mayAsk      = `{metadata: {name: lkeplan-machines}, roleRef: {name: lkeplan-machines},
		subjects: [{kind: Group, name: "system:bootstrappers:lkeplan"}]}`
	ofKubeadm = `{metadata: {name: "kubeadm:node-autoapprove-bootstrap"},
		roleRef: {name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
		subjects: [{kind: Group, name: "system:bootstrappers:kubeadm:default-node-token"}]}`
)

func TestJoins(t *testing.T) {
	good := map[string][]string{"ConfigMap": {clusterInfo}, "ClusterRoleBinding": {ofKubeadm, mayAsk}}
	with := func(kind string, objects ...string) map[string][]string {
		changed := maps.Clone(good)
		changed[kind] = objects
		return changed
	}
	own, address := Settings{Name: "prod", Region: "us-ord"}, "https://10.0.0.2:6443"
	tests := map[string]struct {
		given   Settings
		in      map[string][]string
		version string
		want    []string // "" for each that is ok
	}{
		"all is well": {given: own, in: good, want: []string{"", "", ""}},
		"the name of no cluster": {given: Settings{Name: "Prod_1", Region: "us-ord"}, in: good,
			want: []string{`fail: the cluster cannot be called "Prod_1": the labels of Linodes`, "", ""}},
		"no name, and no region": {in: good,
			want: []string{`fail: the cluster cannot be called ""`, "fail: the region is missing", "", ""}},
		"a number of LKE's": {given: Settings{Name: "prod", Region: "us-ord", ID: "77"}, in: good,
			want: []string{"fail: the controller does not start with LKE_CLUSTER_ID", "", ""}},
		"no cluster-info": {given: own, in: with("ConfigMap"),
			want: []string{"", "fail: there is no ConfigMap kube-public/cluster-info", ""}},
		"no cluster-info, and an address": {given: Settings{Name: "prod", Region: "us-ord", Endpoint: address}, in: with("ConfigMap"),
			want: []string{"", "warn: machines connect to https://10.0.0.2:6443, and there is no ConfigMap", ""}},
		"no cluster-info of k3s": {given: Settings{Name: "prod", Region: "us-ord", Endpoint: address}, in: with("ConfigMap"),
			version: "v1.33.1+k3s1", want: []string{"", "", ""}},
		"machines cannot request certificates": {
			given: own, in: with("ClusterRoleBinding", ofKubeadm, strings.Replace(mayAsk, "Group", "User", 1)),
			want: []string{"", "", "fail: no ClusterRoleBinding lets the group system:bootstrappers:lkeplan request"}},
		"any token gets the certificate of any Node": {
			given: own, in: with("ClusterRoleBinding", mayAsk, strings.Replace(ofKubeadm, ":kubeadm:default-node-token", "", 1)),
			want: []string{"", "", "warn: the ClusterRoleBinding kubeadm:node-autoapprove-bootstrap lets anyone with the token of a machine get"}},
		"k3s needs no binding": {given: own, in: with("ClusterRoleBinding"), version: "v1.33.1+k3s1", want: []string{"", "", ""}},
	}
	for name, tt := range tests {
		found := Joins(t.Context(), cluster{tt.in, tt.version}, tt.given)
		if len(found) != len(tt.want) {
			t.Errorf("%s: %+v, want %q", name, found, tt.want)
			continue
		}
		for i, f := range found {
			said := f.Level + ": " + f.Text
			if well := tt.want[i] == ""; well != (f.Level == ok) || !strings.HasPrefix(said, tt.want[i]) || !well && f.Do == "" {
				t.Errorf("%s: %+v, want %q", name, f, tt.want[i])
			}
		}
	}
}

// account is a simulated one, with a token that has scopes.
func account(t *testing.T, scopes string) *api.Client {
	t.Helper()
	sim, err := sim.New(sim.Config{Token: "right", Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	client, err := api.New(server.URL, "right", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestScopesOfTheToken(t *testing.T) {
	for scopes, want := range map[string]string{
		"linodes:read_write images:read_only firewall:read_write vpc:read_only": "",
		"*":                                   "",
		"linodes:read_write images:read_only": "warn: the token lacks firewall:read_only and vpc:read_only: node classes",
	} {
		found, err := Linodes(t.Context(), account(t, scopes), Settings{Name: "prod"})
		if err != nil {
			t.Fatal(err)
		}
		last := len(found) - 1
		if found[last] != (Finding{ok, "Linodes", "the account has 0 with the tag lkeplan-cluster=prod", ""}) ||
			(last > 0) != (want != "") || !strings.HasPrefix(found[0].Level+": "+found[0].Text, want) {
			t.Errorf("%s: %+v", scopes, found)
		}
	}
	if _, err := Linodes(t.Context(), account(t, "lke:read_write"), Settings{Name: "prod"}); api.ClassOf(err) != api.ClassAuth {
		t.Errorf("without the scope, the error is %v", err)
	}
}

// TestLinodeWithoutItsTagIsReported: it is on none of the controller's lists.
func TestLinodeWithoutItsTagIsReported(t *testing.T) {
	client := account(t, "*")
	for label, tags := range map[string][]string{
		"prod-0123456789abcdef0123": {"team=web"}, "prod-0123456789abcdef0124": {"lkeplan-id=a"}, "prod-web": nil,
		"dev-0123456789abcdef0123": nil,
	} {
		_, err := client.CreateInstance(t.Context(), api.InstanceSpec{Label: label, Region: "us-ord", Type: "g6-standard-2",
			Image: "linode/debian12", RootPass: "correct-horse-battery-staple-1", Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
	}
	found, err := Linodes(t.Context(), client, Settings{Name: "prod"})
	if err != nil || len(found) != 2 || found[1].Level != warn || found[1].Do == "" ||
		!strings.HasPrefix(found[1].Text, "1 Linode with a label of the cluster, such as") ||
		!strings.Contains(found[1].Text, "prod-0123456789abcdef0123") {
		t.Errorf("%+v, %v", found, err)
	}
}

package sim

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// playMachines runs a test with Linodes that join a fake API server, which refuses nothing but what a reaction to a
// new Node does. What a real one refuses is tried in the sandbox.
func playMachines(t *testing.T, cfg Config, test func(p *playground), reactions ...clienttesting.ReactionFunc) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		//nolint:staticcheck // as in play
		p := &playground{newAccount(t, cfg), fake.NewSimpleClientset()}
		p.client.PrependReactor("create", "certificatesigningrequests",
			func(action clienttesting.Action) (bool, runtime.Object, error) {
				request := action.(clienttesting.CreateAction).GetObject().(*certificatesv1.CertificateSigningRequest)
				request.Status.Certificate = []byte("signed")
				request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
					{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue},
				}
				return false, nil, nil
			})
		for _, reaction := range reactions {
			p.client.PrependReactor("create", "nodes", reaction)
		}
		p.object(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "cluster-info"},
			Data: map[string]string{"kubeconfig": fmt.Sprintf(`{"clusters":[{"name":"","cluster":{`+
				`"server":"https://cluster.test:6443","certificate-authority-data":%q}}]}`,
				base64.StdEncoding.EncodeToString([]byte("authority")))},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		dial := func(*rest.Config) (kubernetes.Interface, error) { return p.client, nil }
		go func() { done <- p.RunNodes(ctx, p.client, dial, nil) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("RunNodes: %v", err)
			}
		}()
		synctest.Wait() // as in play
		test(p)
	})
}

func (p *playground) object(object runtime.Object) {
	p.Helper()
	if err := p.client.Tracker().Add(object); err != nil {
		p.Fatal(err)
	}
}

// machine creates a Linode whose user data join.
func (p *playground) machine(label string) Instance {
	p.Helper()
	text := fmt.Sprintf(`#cloud-config
write_files:
- path: %s
  content: |
    server: https://cluster.test:6443
    token: K10%x::abcdef.0123456789abcdef
    node-name: %s
    node-taint: ["karpenter.sh/unregistered=:NoExecute"]
    node-label: [team=a]
    kubelet-arg: [cloud-provider=external, "provider-id=linode://@LINODE_ID@"]
runcmd: [k3s agent]
`, k3sFile, sha256.Sum256([]byte("authority")), label)
	data := fields{"user_data": base64.StdEncoding.EncodeToString([]byte(text))}
	return p.buy(label, fields{"metadata": data})
}

func (p *playground) linode(id int) Linode {
	p.Helper()
	for _, l := range p.Linodes() {
		if l.ID == id {
			return l
		}
	}
	p.Fatalf("no Linode %d", id)
	return Linode{}
}

const (
	ownTaints   = "karpenter.sh/unregistered:NoExecute"
	firstTaints = ownTaints + " node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"
)

// TestALinodeJoinsAndIsCompleted: it has the taints of its user data from the beginning; the cloud controller comes
// later.
func TestALinodeJoinsAndIsCompleted(t *testing.T) {
	playMachines(t, Config{JoinDelay: time.Minute, CCMDelay: 8 * time.Second}, func(p *playground) {
		made := p.machine("prod-a")
		p.after(59 * time.Second)
		if n := len(p.nodes()); n != 0 {
			t.Fatalf("%d nodes before it has booted", n)
		}
		p.after(time.Second)
		n := p.node()
		if n.Spec.ProviderID != fmt.Sprintf("linode://%d", made.ID) || n.Labels["team"] != "a" || taintText(n) != firstTaints ||
			n.Labels["topology.kubernetes.io/region"] != "" {
			t.Errorf("joined as %s with %v, %s", n.Spec.ProviderID, n.Labels, taintText(n))
		}
		plan := p.linode(made.ID).Plan.Reported().Capacity.EphemeralBytes
		if disk := n.Status.Capacity.StorageEphemeral().Value(); disk != plan-512<<20 {
			t.Errorf("it has a disk of %d bytes, of %d and a swap disk of 512 MB", disk, plan)
		}
		p.after(8 * time.Second)
		n = p.node()
		for label, want := range map[string]string{
			"topology.kubernetes.io/region": "us-ord", "node.kubernetes.io/instance-type": "g6-standard-4",
			"node.k8s.linode.com/host-uuid": made.HostUUID, "lke.linode.com/pool-id": "",
		} {
			if n.Labels[label] != want {
				t.Errorf("%s: %q; want %q", label, n.Labels[label], want)
			}
		}
		ipv6 := netip.MustParsePrefix(made.IPv6).Addr().String()
		if d := cmp.Diff([]corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: "prod-a"}, {Type: corev1.NodeExternalIP, Address: made.IPv4[0]},
			{Type: corev1.NodeExternalIP, Address: ipv6},
		}, n.Status.Addresses); d != "" || n.Annotations["node.k8s.linode.com/public-ipv6"] != ipv6 {
			t.Errorf("completed with annotations %v and addresses (-want +got)\n%s", n.Annotations, d)
		}
		if taintText(n) != ownTaints {
			t.Errorf("completed with taints %s", taintText(n))
		}
		if j := p.linode(made.ID).Join; j.Step != Joined || j.Node != "prod-a" || j.Problem != "" {
			t.Errorf("it says %+v", j)
		}
	})
}

func TestTheNodeOfALinodeGoesWithIt(t *testing.T) {
	for name, how := range map[string]func(p *playground, id int){
		"deleted": func(p *playground, id int) { p.do("DELETE", fmt.Sprintf("/linode/instances/%d", id), nil, nil) },
		"lost":    func(p *playground, id int) { p.LoseInstance(id, false) },
	} {
		playMachines(t, Config{DeleteDelay: 15 * time.Second, NodeGoneDelay: 5 * time.Second}, func(p *playground) {
			other := p.machine("prod-b")
			made := p.machine("prod-a")
			p.after(time.Second)
			how(p, made.ID)
			until := 5 * time.Second
			if name == "deleted" {
				until += 15 * time.Second
			}
			p.after(until - time.Second)
			if n := len(p.nodes()); n != 2 {
				t.Errorf("%s: %d nodes before the Linode is gone", name, n)
			}
			p.after(time.Second)
			if n := p.node(); n.Spec.ProviderID != fmt.Sprintf("linode://%d", other.ID) {
				t.Errorf("%s: the Node of %s is left", name, n.Spec.ProviderID)
			}
		})
	}
}

// TestALinodeThatGoesWhileItBootsNeverJoins: nor does one that goes while it tries.
func TestALinodeThatGoesWhileItBootsNeverJoins(t *testing.T) {
	playMachines(t, Config{JoinDelay: time.Minute, DeleteDelay: time.Hour}, func(p *playground) {
		booting, trying := p.machine("prod-a"), p.machine("prod-b")
		p.do("DELETE", fmt.Sprintf("/linode/instances/%d", booting.ID), nil, nil)
		p.after(2 * time.Minute)
		if j := p.linode(trying.ID).Join; j.Step != Registration || !strings.Contains(j.Problem, "not yet") {
			t.Errorf("it says %+v", j)
		}
		p.do("DELETE", fmt.Sprintf("/linode/instances/%d", trying.ID), nil, nil)
		p.after(10 * time.Minute)
		if n := len(p.nodes()); n != 0 || p.linode(booting.ID).Join.Step != "" {
			t.Errorf("%d nodes", n)
		}
	}, func(clienttesting.Action) (bool, runtime.Object, error) {
		return time.Now().Minute() < 5, nil, fmt.Errorf("not yet")
	})
}

func TestFailuresOfALinode(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fault  Fault
		nodes  int           // after a quarter of an hour
		after  time.Duration // when the Node is there, if ever
		status string
	}{
		{"nothing", Fault{NeverJoins: true, Plan: "g6-standard-2"}, 1, time.Minute, "running"},
		{"it never joins", Fault{NeverJoins: true}, 0, 0, "running"},
		{"another one", Fault{NeverJoins: true, After: 1}, 1, time.Minute, "running"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			playMachines(t, Config{JoinDelay: time.Minute}, func(p *playground) {
				if err := p.Inject(tc.fault); err != nil {
					t.Fatal(err)
				}
				made := p.machine("prod-a")
				if tc.after > 0 {
					p.after(tc.after - time.Second)
					if n := len(p.nodes()); n != 0 {
						t.Errorf("%d nodes before %s", n, tc.after)
					}
					p.after(time.Second)
					p.node()
				}
				p.ClearFaults()
				p.after(15 * time.Minute)
				var i Instance
				p.do("GET", fmt.Sprintf("/linode/instances/%d", made.ID), nil, &i)
				if n := len(p.nodes()); n != tc.nodes || i.Status != tc.status {
					t.Errorf("%d nodes, it is %s", n, i.Status)
				}
			})
		})
	}
}

func TestLinodeThatImpersonatesAnother(t *testing.T) {
	playMachines(t, Config{}, func(p *playground) {
		if err := p.Inject(Fault{RegisterAs: "control-plane"}); err != nil {
			t.Fatal(err)
		}
		p.machine("prod-a")
		p.after(time.Second)
		if n := p.node(); n.Name != "control-plane" { // a real API server refuses it
			t.Errorf("it is called %s", n.Name)
		}
	})
}

// TestLinodesWithNothingToJoin: no user data, others, no image, not to be booted.
func TestLinodesWithNothingToJoin(t *testing.T) {
	playMachines(t, Config{}, func(p *playground) {
		data := func(text string) fields {
			return fields{"user_data": base64.StdEncoding.EncodeToString([]byte(text))}
		}
		for label, more := range map[string]fields{
			"none": nil, "a-script": {"metadata": data("#!/bin/sh\n")}, "no-image": {"image": nil}, "off": {"booted": false},
			"no-yaml": {"metadata": data("#cloud-config\n{")},
		} {
			p.buy(label, more)
		}
		p.after(time.Hour)
		want := map[string]string{
			"none": "boot: nothing in its user data joins a cluster running", "no-image": ":  offline", "off": ":  offline",
			"a-script": "boot: nothing in its user data joins a cluster running",
			"no-yaml":  "boot: user data: ",
		}
		shown := p.Instances()
		for n, l := range p.Linodes() {
			got := fmt.Sprintf("%s: %s %s", l.Join.Step, l.Join.Problem, shown[n].Status)
			if !strings.HasPrefix(got, want[l.Label]) {
				t.Errorf("%s: %q; want %q", l.Label, got, want[l.Label])
			}
		}
		if n := len(p.nodes()); n != 0 {
			t.Errorf("%d nodes", n)
		}
	})
}

// TestAKubeletThatIsStartedAgain registers its Node again if it was deleted, and not before.
func TestAKubeletThatIsStartedAgain(t *testing.T) {
	playMachines(t, Config{}, func(p *playground) {
		made := p.machine("prod-a")
		p.after(time.Second)
		if err := p.client.CoreV1().Nodes().Delete(t.Context(), "prod-a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.after(time.Hour)
		if n := len(p.nodes()); n != 0 {
			t.Fatalf("%d nodes: it came back on its own", n)
		}
		if s := p.control("POST", fmt.Sprintf("/simulator/linodes/%d/restart", made.ID)); s != 200 {
			t.Errorf("restart: %d", s)
		}
		p.after(time.Second)
		if n := p.node(); taintText(n) != ownTaints || p.linode(made.ID).Join.Joins != 2 {
			t.Errorf("it came back with %s: %+v", taintText(n), p.linode(made.ID).Join)
		}
		if s := p.control("POST", "/simulator/linodes/1/restart"); s != 404 {
			t.Errorf("restart of an unknown Linode: %d", s)
		}
	})
}

// TestTheCloudControllerKnowsNodesByTheirProviderID, for each program that creates them, and no others.
func TestTheCloudControllerKnowsNodesByTheirProviderID(t *testing.T) {
	playMachines(t, Config{}, func(p *playground) {
		made := p.buy("prod-a", nil)
		taints := []corev1.Taint{{Key: taintUninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
		for name, provider := range map[string]string{
			"ours": fmt.Sprintf("linode://%d", made.ID), "never-there": "linode://7", "elsewhere": "aws:///a/i-1", "plain": "",
		} {
			p.object(&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: provider, Taints: taints},
			})
		}
		p.after(time.Hour)
		for _, n := range p.nodes() {
			if completed := len(n.Spec.Taints) == 0; completed != (n.Name == "ours") {
				t.Errorf("%s: taints %s", n.Name, taintText(&n))
			}
		}
		p.do("DELETE", fmt.Sprintf("/linode/instances/%d", made.ID), nil, nil)
		p.after(time.Hour)
		if n := len(p.nodes()); n != 3 {
			t.Errorf("%d nodes are left", n)
		}
	})
}

// TestAnAccountWithoutACluster: its region need not have what the cluster needs, and its Linodes still join.
func TestAnAccountWithoutACluster(t *testing.T) {
	playMachines(t, Config{WithoutCluster: true, Tier: "enterprise", Region: "us-central"}, func(p *playground) {
		p.machine("prod-a")
		p.after(time.Second)
		p.node()
		var clusters page[Cluster]
		p.do("GET", "/lke/clusters", nil, &clusters)
		if clusters.Results != 0 || p.ClusterID() != 0 || len(p.Pools()) != 0 {
			t.Errorf("clusters: %+v", clusters)
		}
	})
	if _, err := New(Config{Tier: "enterprise", Region: "us-central"}); err == nil {
		t.Error("a cluster in a region that has none")
	}
}

// TestLinodesAreShownWithWhatTheyAreMadeFrom: by the control API, for tests that run the simulator as a process.
func TestLinodesAreShownWithWhatTheyAreMadeFrom(t *testing.T) {
	playMachines(t, Config{}, func(p *playground) {
		made := p.machine("prod-a")
		p.after(time.Second)
		var got []Linode
		res, body := p.get("/simulator/linodes", nil)
		if err := json.Unmarshal([]byte(body), &got); err != nil || res.StatusCode != http.StatusOK || len(got) != 1 {
			t.Fatalf("%v\n%s", err, body)
		}
		if l := got[0]; l.ID != made.ID || l.Type != "g6-standard-4" || l.Join.Step != Joined ||
			!strings.HasPrefix(string(l.UserData), "#cloud-config") {
			t.Errorf("%+v", l)
		}
	})
}

func (a *account) control(method, path string) int {
	a.Helper()
	req, err := http.NewRequestWithContext(a.Context(), method, "http://linode.test"+path, nil)
	if err != nil {
		a.Fatal(err)
	}
	res, err := a.Client().Do(req)
	if err != nil {
		a.Fatal(err)
	}
	return res.StatusCode
}

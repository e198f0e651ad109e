package e2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/sim"
)

const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// joining is a sandbox whose machines join automatically.
type joining struct {
	*sandbox
	api  *rest.Config
	good sim.JoinToken
}

// TestMachinesJoinAutomatically: with a good token a Linode becomes a node, which has its
// taints in its very first version. With a wrong one, with one that has expired and with
// a revoked token does not work for any client; and what NodeRestriction
// forbids, the API server refuses.
func TestMachinesJoinAutomatically(t *testing.T) {
	j := &joining{sandbox: startSandbox(t, "--mode", "instance")}
	j.api, j.good = j.apiServer(), j.bootstrapToken("aaaaaa", time.Hour)
	seen := j.watchNodes()
	made := j.makeLinode("good", kubeadm(j.t, j.join("good")))
	j.makeLinode("good-k3s", k3s(j.t, j.join("good-k3s")))
	j.completed("good", made)
	j.completed("good-k3s", 0)
	j.refused()
	for name, taints := range seen() {
		if name != "good" && name != "good-k3s" {
			t.Errorf("there was a Node %s", name)
		}
		for _, key := range []string{"karpenter.sh/unregistered", uninitialized, "node.kubernetes.io/not-ready"} {
			if !tainted(taints, key) {
				t.Errorf("at first sight %s has no taint %s: %v", name, key, taints)
			}
		}
	}
	j.comesBack("good", made)
	j.linodeCall(http.MethodDelete, fmt.Sprintf("/v4/linode/instances/%d", made), nil, nil)
	j.eventually("the Node of a Linode that is gone goes", 10*time.Second, func() error { return j.gone("good") })
}

// join is the configuration of a good machine.
func (j *joining) join(name string) sim.Join {
	j.t.Helper()
	return sim.Join{
		Server: j.api.Host, Pins: []string{pin(j.t, j.api.CAData)}, Bundle: fmt.Sprintf("%x", sha256.Sum256(j.api.CAData)),
		Token: j.good, Name: name,
		Taints: []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
		Labels: map[string]string{"karpenter.sh/nodepool": "general"}, Settings: sim.KubeletSettings{MaxPods: 42},
	}
}

func tainted(taints []corev1.Taint, key string) bool {
	return slices.ContainsFunc(taints, func(taint corev1.Taint) bool { return taint.Key == key })
}

// completed waits until the cloud controller has completed a Node; linode is 0 if it
// does not matter.
func (j *joining) completed(name string, linode int) {
	j.t.Helper()
	j.eventually(name+" joins and is completed", 10*time.Second, func() error {
		var node corev1.Node
		if err := j.client.Get(j.t.Context(), client.ObjectKey{Name: name}, &node); err != nil {
			return fmt.Errorf("%w; its Linode says %+v", err, j.linodes()[name].Join)
		}
		labels := node.Labels["karpenter.sh/nodepool"] + " " + node.Labels["node.kubernetes.io/instance-type"] + " " +
			node.Labels["topology.kubernetes.io/region"]
		if tainted(node.Spec.Taints, uninitialized) || !tainted(node.Spec.Taints, "karpenter.sh/unregistered") ||
			labels != "general g6-standard-2 us-ord" || node.Status.Allocatable.Pods().Value() != 42 ||
			linode != 0 && node.Spec.ProviderID != fmt.Sprintf("linode://%d", linode) {
			return fmt.Errorf("%s: taints %v, labels %v, %v", node.Spec.ProviderID, node.Spec.Taints, node.Labels,
				node.Status.Allocatable)
		}
		return nil
	})
}

// refused lets machines try to join that must not. kubeadm itself detects that a token is no
// good; of k3s it is the API server that refuses it.
func (j *joining) refused() {
	j.t.Helper()
	tokens := map[string]sim.JoinToken{
		"wrong":   {ID: j.good.ID, Secret: "ffffffffffffffff"},
		"expired": j.bootstrapToken("bbbbbb", -time.Minute),
		"stolen":  j.bootstrapToken("cccccc", time.Hour),
	}
	j.signs(tokens["stolen"], true)
	if err := j.client.Delete(j.t.Context(), tokenSecret(tokens["stolen"])); err != nil {
		j.t.Fatal(err)
	}
	j.signs(tokens["stolen"], false)
	want := map[string]string{}
	for name, token := range tokens {
		join := j.join(name)
		join.Token = token
		j.makeLinode(name, kubeadm(j.t, join))
		want[name] = fmt.Sprintf("discovery: could not find a JWS signature in the cluster-info ConfigMap for token ID "+
			"%q", token.ID)
		join.Name = name + "-k3s"
		j.makeLinode(join.Name, k3s(j.t, join))
		want[join.Name] = "certificate: cannot create certificate signing request: Unauthorized"
		if err := j.presented(token); !apierrors.IsUnauthorized(err) {
			j.t.Errorf("a client with the %s token gets %v", name, err)
		}
	}
	want["wrong"] = "discovery: failed to verify JWS signature of received cluster info object"
	elsewhere := j.join("elsewhere")
	elsewhere.Pins = []string{"sha256:" + strings.Repeat("0", 64)}
	j.makeLinode("elsewhere", kubeadm(j.t, elsewhere))
	want["elsewhere"] = "discovery: cluster CA found in cluster-info ConfigMap is invalid"
	label := j.join("label")
	label.Labels = map[string]string{"node-restriction.kubernetes.io/team": "a"}
	j.makeLinode("label", kubeadm(j.t, label))
	want["label"] = "certificate: the kubelet does not start: failed to validate kubelet flags: unknown " +
		"'kubernetes.io' or 'k8s.io' "
	j.inject(`{"register_as": "control-plane"}`)
	j.makeLinode("impostor", kubeadm(j.t, j.join("impostor")))
	want["impostor"] = `registration: nodes "control-plane" is forbidden: `
	for name, want := range want {
		j.eventually(name+" is refused", 10*time.Second, func() error {
			if got := j.linodes()[name].Join; !strings.HasPrefix(got.Step+": "+got.Problem, want) {
				return fmt.Errorf("%+v; want %s", got, want)
			}
			return nil
		})
		j.t.Logf("%s: %s", name, j.linodes()[name].Join.Problem)
	}
}

// presented shows the API server a token.
func (j *joining) presented(token sim.JoinToken) error {
	j.t.Helper()
	config := rest.CopyConfig(j.api)
	config.BearerToken = token.String()
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	return c.Get(j.t.Context(), client.ObjectKey{Name: "any"}, &corev1.Node{})
}

// comesBack deletes the Node of a machine that runs. It comes back when its kubelet is
// started again, with the certificate that it has: its token is gone by then.
func (j *joining) comesBack(name string, linode int) {
	j.t.Helper()
	if err := j.client.Delete(j.t.Context(), tokenSecret(j.good)); err != nil {
		j.t.Fatal(err)
	}
	node := &corev1.Node{}
	node.Name = name
	if err := j.client.Delete(j.t.Context(), node); err != nil {
		j.t.Fatal(err)
	}
	j.eventually("the Node goes", 10*time.Second, func() error { return j.gone(name) })
	j.linodeCall(http.MethodPost, fmt.Sprintf("/simulator/linodes/%d/restart", linode), nil, nil)
	j.completed(name, linode)
	if got := j.linodes()[name].Join.Joins; got != 2 {
		j.t.Errorf("it has joined %d times", got)
	}
}

func (j *joining) gone(name string) error {
	err := j.client.Get(j.t.Context(), client.ObjectKey{Name: name}, &corev1.Node{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("it is there: %v", err)
}

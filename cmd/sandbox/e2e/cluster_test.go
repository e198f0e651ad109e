package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/sim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// cluster is what the API server has: objects, events, the audit log, and what all of it is together with the Linodes.
type cluster struct{ cloud }

// state lists what exists. An API server that is short of processors may not answer in
// time: it is asked again, for a minute.
func (s cluster) state() state {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		now, err := s.look()
		if err == nil {
			return now
		}
		if time.Now().After(deadline) {
			s.t.Fatal(err)
		}
	}
}

func (s cluster) look() (state, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	var nodes corev1.NodeList
	var claims karpv1.NodeClaimList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&nodes, &claims, &pods} {
		if err := s.client.List(ctx, list); err != nil {
			return state{}, err
		}
	}
	nodes.Items = slices.DeleteFunc(nodes.Items, func(n corev1.Node) bool { return n.Name == systemNode })
	now := state{nodes: nodes.Items, claims: claims.Items, linode: s.stats()}
	for _, p := range pods.Items {
		if p.Namespace == metav1.NamespaceSystem { // LKE's own
			continue
		}
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() {
			now.running++
		} else {
			now.pending++
		}
	}
	return now, nil
}

// until polls the state until it holds, and fails the test with the last state when the
// time is up: within, on an otherwise idle machine.
func (s cluster) until(what string, within time.Duration, holds func(state) bool) state {
	s.t.Helper()
	started := time.Now()
	deadline := started.Add(slowdown * within)
	for {
		now := s.state()
		if holds(now) {
			s.t.Logf("after %s: %s", time.Since(started).Round(100*time.Millisecond), what)
			return now
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("timed out after %s waiting until %s; last seen: %s\n%s\n%s", slowdown*within, what, now,
				s.kube("", "get", "pods,nodes,nodeclaims,poddisruptionbudgets", "-A", "-o", "wide"),
				tail(s.kube("", "get", "events", "-A", "--sort-by=.lastTimestamp"), 40))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// never polls the state, and fails the test if it holds before each of the rounds has come
// twice more: something that looked twice and did nothing does nothing later either. The
// first of the two may have begun before the call.
func (s cluster) never(what string, holds func(state) bool, of ...rounds) {
	s.t.Helper()
	if len(of) == 0 {
		s.t.Fatalf("never %q: no rounds to wait for", what)
	}
	started := time.Now()
	for _, r := range of {
		for range 2 {
			before := r.count()
			if r.next != nil {
				r.next()
			}
			for deadline := time.Now().Add(slowdown * time.Minute); r.count() <= before; time.Sleep(200 * time.Millisecond) {
				if now := s.state(); holds(now) {
					s.t.Fatalf("%s, which must not happen: %s", what, now)
				}
				if time.Now().After(deadline) {
					s.t.Fatalf("timed out waiting for another round of %s, in which it must not happen that %s", r.what, what)
				}
			}
		}
	}
	if now := s.state(); holds(now) {
		s.t.Fatalf("%s, which must not happen: %s", what, now)
	}
	s.t.Logf("for %s it did not happen that %s", time.Since(started).Round(100*time.Millisecond), what)
}

// eventually polls until there is no error, and fails the test with the last one when the
// time is up: within, on an otherwise idle machine.
func (s cluster) eventually(what string, within time.Duration, holds func() error) {
	s.t.Helper()
	deadline := time.Now().Add(slowdown * within)
	for err := holds(); err != nil; err = holds() {
		if time.Now().After(deadline) {
			s.t.Fatalf("timed out after %s waiting until %s: %v", slowdown*within, what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (s cluster) poolsByName() map[string]*karpv1.NodePool {
	s.t.Helper()
	var list karpv1.NodePoolList
	if err := s.client.List(s.t.Context(), &list); err != nil {
		s.t.Fatal(err)
	}
	pools := map[string]*karpv1.NodePool{}
	for i := range list.Items {
		pools[list.Items[i].Name] = &list.Items[i]
	}
	return pools
}

// pools are the names of the NodePools, sorted.
func (s cluster) pools() []string {
	s.t.Helper()
	return slices.Sorted(maps.Keys(s.poolsByName()))
}

// class is the class default.
func (s cluster) class() (class linodev1alpha1.LinodeNodeClass) {
	s.t.Helper()
	if err := s.client.Get(s.t.Context(), client.ObjectKey{Name: "default"}, &class); err != nil {
		s.t.Fatal(err)
	}
	return class
}

// told reports whether an event about an object has the reason, and the text in its
// message.
func (s cluster) told(kind, reason, text string) bool {
	s.t.Helper()
	return s.hasEvent(kind, "", reason, text)
}

// hasEvent reports whether an object of the kind, whose name begins so, has an event of the reason, or of any
// if that is empty, with the text.
func (s cluster) hasEvent(kind, name, reason, text string) bool {
	s.t.Helper()
	var events corev1.EventList
	if err := s.client.List(s.t.Context(), &events); err != nil {
		s.t.Fatal(err)
	}
	return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.Kind == kind && strings.HasPrefix(e.InvolvedObject.Name, name) &&
			(reason == "" || e.Reason == reason) && strings.Contains(e.Message, text)
	})
}

// account returns the kubeconfig of a service account.
func (s *core) account(namespace, name string) string {
	s.t.Helper()
	cfg, err := clientcmd.LoadFromFile(s.env["KUBECONFIG"])
	if err != nil {
		s.t.Fatal(err)
	}
	for _, user := range cfg.AuthInfos {
		*user = api.AuthInfo{Token: strings.TrimSpace(s.kube("", "create", "token", name, "-n", namespace))}
	}
	path := filepath.Join(s.t.TempDir(), name)
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// nodeOf is the node of a pool that has one.
func (s cluster) nodeOf(pool string) string {
	s.t.Helper()
	name := strings.TrimSpace(s.kube("", "get", "nodes", "-l", "karpenter.sh/nodepool="+pool, "-o", "name"))
	return strings.TrimPrefix(name, "node/")
}

// audited are the requests in the audit log so far.
func (s cluster) audited() []request {
	s.t.Helper()
	log, err := os.Open(filepath.Join(s.dir, "logs", "audit.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	var all []request
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		s.t.Fatalf("read the audit log: %d requests, %v", len(all), err)
	}
	return all
}

// deleted are the delete requests for some resources.
func (s cluster) deleted(resources ...string) (names []string) {
	s.t.Helper()
	for _, r := range s.audited() {
		if r.ObjectRef != nil && (r.Verb == "delete" || r.Verb == "deletecollection") &&
			slices.Contains(resources, r.ObjectRef.Resource) {
			names = append(names, r.ObjectRef.Resource+" "+r.ObjectRef.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// watchPods counts the pods of the namespace default from now on.
func (s cluster) watchPods() *fewest {
	s.t.Helper()
	f := &fewest{ready: map[string]bool{}}
	s.follow(&corev1.PodList{}, func(o client.Object, deleted bool) { f.see(o.(*corev1.Pod), deleted) }, client.InNamespace("default"))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.least = len(f.ready)
	return f
}

// follow sees each object, and then each of its versions until the test ends. The API server may
// close a watch whose reader is slow, as on a busy machine: it continues where it was.
func (s cluster) follow(list client.ObjectList, see func(o client.Object, deleted bool), opts ...client.ListOption) {
	s.t.Helper()
	ctx := s.t.Context()
	if err := s.client.List(ctx, list, opts...); err != nil {
		s.t.Fatal(err)
	}
	if err := meta.EachListItem(list, func(o runtime.Object) error {
		see(o.(client.Object), false)
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	versions, err := toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), watcher{s.client, list, opts})
	if err != nil {
		s.t.Fatal(err)
	}
	go func() {
		for e := range versions.ResultChan() {
			if o, ok := e.Object.(client.Object); ok && e.Type != watch.Bookmark {
				see(o, e.Type == watch.Deleted)
			} else if e.Type == watch.Error {
				s.t.Errorf("the watch of %T ended: %v", list, e.Object)
			}
		}
	}()
}

// watcher watches a kind of objects.
type watcher struct {
	client client.WithWatch
	list   client.ObjectList
	opts   []client.ListOption
}

func (w watcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.client.Watch(ctx, w.list, append(slices.Clone(w.opts), &client.ListOptions{Raw: &options})...)
}

// watchNodes records the taints of each Node when it is first seen.
func (s cluster) watchNodes() func() map[string][]corev1.Taint {
	s.t.Helper()
	var mu sync.Mutex
	seen := map[string][]corev1.Taint{}
	s.follow(&corev1.NodeList{}, func(o client.Object, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		if _, known := seen[o.GetName()]; !known {
			seen[o.GetName()] = o.(*corev1.Node).Spec.Taints
		}
	})
	return func() map[string][]corev1.Taint {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(seen)
	}
}

// answers is what the class default says of the Linode API: the reason of its
// condition, and whether the class is ready.
func (s cluster) answers() (reason string, ready bool) {
	s.t.Helper()
	class := s.class()
	if c := class.StatusConditions().Get(linodev1alpha1.ConditionLinodeAnswers); c != nil {
		reason = c.Reason
	}
	return reason, class.StatusConditions().Root().IsTrue()
}

// addSystemNode gives the cluster its system node, which is full. Without any node
// kube-scheduler treats this as its own error: it retries the pod after up to ten
// seconds, and not when a node joins.
func (s cluster) addSystemNode() {
	s.t.Helper()
	s.kube(`{"apiVersion":"v1","kind":"Node",
		"metadata":{"name":"`+systemNode+`","annotations":{"kwok.x-k8s.io/node":"fake"}},
		"spec":{"taints":[{"key":"CriticalAddonsOnly","effect":"NoSchedule"}]},
		"status":{"capacity":{"cpu":"1","memory":"1Gi","pods":"10"},"allocatable":{"cpu":"1","memory":"1Gi","pods":"10"}}}`,
		"apply", "-f", "-")
}

// apiServer is where the API server is and which authority it has, and no credentials.
func (s cluster) apiServer() *rest.Config {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.env["KUBECONFIG"])
	if err != nil {
		s.t.Fatal(err)
	}
	return &rest.Config{Host: config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData}}
}

// installCRDs installs the CRDs as the documentation says.
func (s cluster) installCRDs() {
	s.t.Helper()
	s.kube("", "apply", "-f", "../../../schemas/crd/")
	s.established()
	if s.env["KARPENTER_MODE"] == schemas.ModeInstance {
		s.kube(ofMachines(s.t), "apply", "-f", "-")
	}
}

// scale sets the number of pods of the Deployment inflate.
func (s cluster) scale(pods int) {
	s.t.Helper()
	s.scaleTo("inflate", pods)
}

// scaleTo sets the number of pods of a Deployment.
func (s cluster) scaleTo(deployment string, pods int) {
	s.t.Helper()
	s.merge("deployment", deployment, fmt.Sprintf(`{"spec":{"replicas":%d}}`, pods))
}

// kinds are what merge calls them by.
var kinds = map[string]schema.GroupVersionKind{
	"deployment":      appsv1.SchemeGroupVersion.WithKind("Deployment"),
	"nodepool":        {Group: "karpenter.sh", Version: "v1", Kind: "NodePool"},
	"linodenodeclass": {Group: "karpenter.k8s.linode", Version: "v1", Kind: "LinodeNodeClass"},
	"capacitylimit":   {Group: "lkeplan.dev", Version: "v1alpha1", Kind: "CapacityLimit"},
}

// merge patches an object, as kubectl patch --type=merge does.
func (s cluster) merge(kind, name, patch string) {
	s.t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kinds[kind])
	obj.SetName(name)
	if kind == "deployment" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	err := s.client.Patch(s.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch)),
		client.FieldOwner("kubectl-patch"))
	if err != nil {
		s.t.Fatalf("patch %s %s: %v", kind, name, err)
	}
}

// deleteDeployments deletes Deployments of the namespace default, and with them their pods.
func (s cluster) deleteDeployments(names ...string) {
	s.t.Helper()
	for _, name := range names {
		err := s.client.Delete(s.t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name,
		}}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil {
			s.t.Fatalf("delete Deployment %s: %v", name, err)
		}
	}
}

// applyAll applies manifests of workloads in the namespace default.
func (s cluster) applyAll(manifests string) {
	s.t.Helper()
	docs := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096)
	for {
		obj := &unstructured.Unstructured{}
		switch err := docs.Decode(obj); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			s.t.Fatalf("%v:\n%s", err, manifests)
		}
		if len(obj.Object) == 0 {
			continue
		}
		if obj.GetNamespace() == "" {
			obj.SetNamespace(metav1.NamespaceDefault)
		}
		err := s.client.Apply(s.t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("kubectl"),
			client.ForceOwnership)
		if err != nil {
			s.t.Fatalf("apply %s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
}

// whole waits until all pods run, on no more nodes than they need, each with its claim.
func (s cluster) whole(what string, pods int) state {
	s.t.Helper()
	return s.until(fmt.Sprintf("after %s %d pods run", what, pods), 3*time.Minute, func(now state) bool {
		return now.running == pods && now.pending == 0 && now.matched() && len(now.nodes) == pods/4
	})
}

// untilCondition waits until an object has a condition, such as Ready=True, whose message has a text.
func (s cluster) untilCondition(object, condition, text string) {
	s.t.Helper()
	const each = `jsonpath={range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}`
	s.until(object+" says "+condition, toldWithin, func(state) bool {
		return slices.ContainsFunc(strings.Split(s.kube("", "get", object, "-o", each), "\n"), func(line string) bool {
			return strings.HasPrefix(line, condition+" ") && strings.Contains(line, text)
		})
	})
}

// relabel changes the template of a pool, so that its nodes are to be replaced.
func (s cluster) relabel(pool string) {
	s.merge("nodepool", pool,
		`{"spec":{"template":{"metadata":{"labels":{"example.com/color":"blue"}}}}}`)
}

// noTokens is an error while a bootstrap token of a NodeClaim is there.
func (s cluster) noTokens() error {
	var secrets corev1.SecretList
	err := s.client.List(s.t.Context(), &secrets, client.InNamespace("kube-system"), client.HasLabels{"lkeplan.dev/nodeclaim"})
	if err == nil && len(secrets.Items) > 0 {
		err = fmt.Errorf("%d tokens are left", len(secrets.Items))
	}
	return err
}

// bootstrapToken creates a token that is good for so long.
func (s cluster) bootstrapToken(id string, good time.Duration) sim.JoinToken {
	s.t.Helper()
	token := sim.JoinToken{ID: id, Secret: "0123456789abcdef"}
	secret := tokenSecret(token)
	secret.StringData = map[string]string{
		"token-id": id, "token-secret": token.Secret, "expiration": time.Now().Add(good).UTC().Format(time.RFC3339),
		"usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
		"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
	}
	if err := s.client.Create(s.t.Context(), secret); err != nil {
		s.t.Fatal(err)
	}
	return token
}

// signs waits until cluster-info is signed with a token, or is not any more.
func (s cluster) signs(token sim.JoinToken, want bool) {
	s.t.Helper()
	s.eventually("cluster-info is signed with the existing tokens", 10*time.Second, func() error {
		var info corev1.ConfigMap
		key := client.ObjectKey{Namespace: metav1.NamespacePublic, Name: "cluster-info"}
		err := s.client.Get(s.t.Context(), key, &info)
		if signed := info.Data["jws-kubeconfig-"+token.ID] != ""; err == nil && signed != want {
			err = fmt.Errorf("with %s: %v", token.ID, signed)
		}
		return err
	})
}

// live reads an object, in the examples' namespace if it is namespaced.
func (s cluster) live(name string) (obj map[string]any) {
	s.t.Helper()
	if err := utiljson.Unmarshal([]byte(s.kube("", "-n", "lkeplan-fleet", "get", name, "-o", "json")), &obj); err != nil {
		s.t.Fatal(err)
	}
	return obj
}

// patch merges a change into an object, as Argo CD's server does.
func (s cluster) patch(name string, change map[string]any) {
	s.t.Helper()
	raw, err := json.Marshal(change)
	if err != nil {
		s.t.Fatal(err)
	}
	s.kube("", "-n", "lkeplan-fleet", "patch", name, "--type=merge", "--field-manager=argocd-server", "-p", string(raw))
}

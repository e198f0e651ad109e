package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"
	"sigs.k8s.io/karpenter/pkg/utils/daemonset"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/mode"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// cluster is a simulated cluster in memory.
type cluster struct {
	store    *store
	types    *instancetype.Set
	mode     mode.Mode // whether machines come from LKE pools or are single instances
	chooser  *linode.Chooser
	provider *linode.Provider

	dynamic, static []*karpv1.NodePool // usable pools, by weight
	daemons         []*corev1.Pod
	workloads       []Workload
	pods            []*corev1.Pod
	podCount        int                  // number of pods created so far
	workloadOf      map[types.UID]int    // index of the workload of each pod
	podReasons      map[types.UID]string // reasons why pods get no node of any pool
	made            []*simNode           // nodes in the order of their creation
	nodeCount       int                  // number of nodes created so far
	clock           clock.Clock
	unclaimed       []string   // nodes without a NodeClaim
	last            planErrors // Karpenter's errors in the last pass
	packFrom        int        // the number of pods from which pack is used
	shortfalls      []Shortfall
	notes           []string
	spare           spare           // pods of CapacityBuffers
	presumed        string          // a note on LKE's own DaemonSets
	costBy          *costs.By       // see Input
	uncached        bool            // see Input
	ungated         bool            // Karpenter ignores NodeOverlays
	edited          map[string]bool // classes that a change creates or edits, which may be unready before it
	broken          map[string]bool // classes that are not ready
}

// withSettings returns a context with the settings that the controller has by default, without those that matter only
// if time passes.
func withSettings(ctx context.Context) context.Context {
	gates := options.DefaultFeatureGates()
	gates.CapacityBuffer = true
	ctx = injection.WithControllerName(log.IntoContext(ctx, logging.NopLogger), "simulate")
	return options.ToContext(ctx, &options.Options{
		CPURequests:       1000,
		PreferencePolicy:  options.PreferencePolicyRespect,
		MinValuesPolicy:   options.MinValuesPolicyStrict,
		IgnoreDRARequests: true,
		FeatureGates:      gates,
	})
}

func newCluster(ctx context.Context, in Input) (*cluster, error) {
	w := emptyCluster(in.Catalog, in.Region, in.Tier)
	w.workloads, w.uncached, w.costBy = slices.Clone(in.Workloads), in.uncached, in.CostBy
	for i := range w.workloads {
		w.workloads[i].Name = escapeLine(w.workloads[i].Name)
	}
	w.declare(in.Objects)
	w.admitPools(ctx)
	if err := w.overlay(ctx); err != nil {
		return nil, err
	}
	w.addDaemonSets(in.DaemonSets)
	if in.AssumeLKE && !slices.ContainsFunc(in.DaemonSets, ofCluster) {
		w.assumeLKE(in.DaemonSets)
	}
	w.makePods()
	w.store.Templates = in.Templates
	return w, w.reserve(ctx)
}

func emptyCluster(prices *catalog.Catalog, region string, tier catalog.Tier) *cluster {
	tier = cmp.Or(tier, catalog.Standard)
	w := &cluster{store: newStore(), types: instancetype.New(prices, region, tier), mode: mode.Of(tier),
		workloadOf: map[types.UID]int{}, podReasons: map[types.UID]string{}, clock: clock.RealClock{}}
	w.chooser = &linode.Chooser{
		Client: w.store, Types: w.types, Orders: w.mode.Orders(w.store, w.types),
		Limits: limits.NewEnforcer(w.store, w.store, w.types),
	}
	w.provider = linode.NewProvider(w.chooser, nil)
	w.spare.cache = virtualpods.NewVirtualPodCache(w.store)
	return w
}

// addDaemonSets adds DaemonSets, whose pods run on all nodes that match.
func (w *cluster) addDaemonSets(sets []*appsv1.DaemonSet) {
	for _, set := range sets {
		pod := daemonset.PodForDaemonSet(set.DeepCopy())
		pod.Namespace, pod.Name = set.Namespace, set.Name
		DefaultPod(&pod.Spec)
		w.daemons = append(w.daemons, pod)
		w.store.Sets = append(w.store.Sets, set)
	}
}

// emptyDaemon returns a DaemonSet for all nodes, whose pods request nothing. Without a DaemonSet for a plan type,
// Karpenter assumes that it has not looked at the plan type yet, and then the random order of a map decides for
// which plan types a node is planned (karpenter v1.15.0, addDaemonRequests; kubernetes-sigs/karpenter#2975).
func emptyDaemon() *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "lkeplan-no-requests"}}
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return set
}

// ofCluster reports whether a DaemonSet was read from a cluster and is in LKE's namespace. Then the input has all
// of LKE's DaemonSets.
func ofCluster(set *appsv1.DaemonSet) bool {
	return set.Namespace == metav1.NamespaceSystem && set.UID != ""
}

// assumeLKE adds LKE's known DaemonSets that are not among the given ones.
func (w *cluster) assumeLKE(given []*appsv1.DaemonSet) {
	if len(w.workloads) == 0 {
		return
	}
	own, known := w.mode.DaemonSets()
	if !known {
		w.presumed = "The requests of LKE's own DaemonSets on the enterprise tier are unknown and ignored. To include them, pass --workloads the output of " +
			"kubectl get daemonsets -A -o yaml."
		return
	}
	own = slices.DeleteFunc(own, func(set *appsv1.DaemonSet) bool {
		return slices.ContainsFunc(given, func(g *appsv1.DaemonSet) bool { return g.Namespace == set.Namespace && g.Name == set.Name })
	})
	w.addDaemonSets(own)
	if slices.ContainsFunc(own, func(set *appsv1.DaemonSet) bool { return set.Name == "calico-node" }) { // the others request nothing
		w.presumed = fmt.Sprintf("The simulation includes LKE's own DaemonSets: calico-node requests 250m of CPU on each node "+
			"(observed in %s).", lke.DaemonSetsSeen)
	}
}

// declare adds the objects of a configuration to the cluster.
func (w *cluster) declare(objects []client.Object) {
	for _, other := range w.store.Declare(objects) {
		w.note("%s is not simulated.", other)
	}
}

// admitPools finds the usable pools, and notes why the others are not used.
func (w *cluster) admitPools(ctx context.Context) {
	for _, class := range sortedValues(w.store.Classes) {
		if found := class.StatusConditions(status.WithObservedOnly()).Get(status.ConditionReady); w.edited[class.Name] && found.IsFalse() {
			continue // it has the conditions that the cluster reports
		}
		if w.broken[class.Name] {
			class.StatusConditions().SetFalse(linodev1alpha1.ConditionValidationSucceeded, "Invalid", "Linode may refuse the class")
			continue
		}
		w.admitClass(class)
	}
	for _, pool := range sortedValues(w.store.Pools) {
		linode.Narrow(pool, w.types.Region())
		pool.UID = types.UID(pool.Name)
		switch why := w.unready(ctx, pool); {
		case why != "":
			w.note("NodePool %s gets no nodes: %s", pool.Name, why)
			pool.StatusConditions().SetFalse(karpv1.ConditionTypeNodeClassReady, "Unusable", why)
			continue
		case pool.Spec.Replicas != nil:
			w.static = append(w.static, pool)
		default:
			w.dynamic = append(w.dynamic, pool)
		}
		ready(pool)
	}
	nodepool.OrderByWeight(w.dynamic)
	nodepool.OrderByWeight(w.static)
}

// overlay applies NodeOverlays to the plan types of all pools with Karpenter's code, as its controller does when a
// pool or an overlay changes.
func (w *cluster) overlay(ctx context.Context) error {
	w.chooser.Overlay = nil
	if len(w.store.Overlays) == 0 || w.ungated {
		return nil
	}
	overlaid := nodeoverlay.NewInstanceTypeStore()
	controller := nodeoverlay.NewController(w.clock, w.store, w.provider, overlaid, state.NewCluster(w.clock, w.store, w.provider))
	if _, err := controller.Reconcile(withSettings(ctx), reconcile.Request{}); err != nil {
		return fmt.Errorf("apply NodeOverlays: %w", err)
	}
	w.chooser.Overlay = overlaid.ApplyAll
	return nil
}

// admitClass sets the conditions of a class that the controller would set, as far as they depend only on the class.
func (w *cluster) admitClass(class *linodev1alpha1.LinodeNodeClass) {
	w.mode.Suppose(class)
	conditions := class.StatusConditions()
	if problem := w.mode.ClassProblem(class.Spec); problem != "" {
		conditions.SetFalse(linodev1alpha1.ConditionValidationSucceeded, "Invalid", problem)
		return
	}
	conditions.SetTrue(linodev1alpha1.ConditionValidationSucceeded)
}

// unready returns why a pool is not used; "" if it is.
func (w *cluster) unready(ctx context.Context, pool *karpv1.NodePool) string {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil || ref.Group != linodev1alpha1.Group {
		return "its nodes are not Linode's."
	}
	class, declared := w.store.Classes[ref.Name]
	if !declared && w.edited[ref.Name] {
		return fmt.Sprintf("its LinodeNodeClass %s does not exist.", ref.Name)
	}
	if !declared {
		class = w.mode.StandIn(ref.Name)
		w.admitClass(class)
		w.store.Classes[ref.Name] = class
		w.note("LinodeNodeClass %s is not in the configuration, and is assumed to be ready.", ref.Name)
	}
	if problem := w.mode.ClassProblem(class.Spec); problem != "" {
		return fmt.Sprintf("its LinodeNodeClass %s is not valid: %s.", ref.Name, strings.TrimSuffix(problem, "."))
	}
	if found := class.StatusConditions().Get(status.ConditionReady); found.IsFalse() {
		return fmt.Sprintf("its LinodeNodeClass %s is not ready: %s.", ref.Name, strings.TrimSuffix(found.Message, "."))
	}
	if class.Spec.ReplaceBeforeMaintenance != nil {
		w.noteOnce("Nodes of LinodeNodeClass %s are replaced before maintenance of their hosts, which is not simulated. To see "+
			"what Linode has announced, run lkeplan status.", ref.Name)
	}
	if err := pool.RuntimeValidate(ctx); err != nil {
		return err.Error() + "."
	}
	return linode.Unacceptable(pool, w.types, w.mode.Refused(pool))
}

func (w *cluster) note(format string, args ...any) {
	w.notes = append(w.notes, escapeLine(fmt.Sprintf(format, args...)))
}

// noteOnce adds a note that several pools have in common.
func (w *cluster) noteOnce(format string, args ...any) {
	if !slices.Contains(w.notes, escapeLine(fmt.Sprintf(format, args...))) {
		w.note(format, args...)
	}
}

// makePods creates the pods of all workloads. Karpenter takes pods of the same size in the order of their ids, so
// the ids have the order of the workloads.
func (w *cluster) makePods() {
	for i, load := range w.workloads {
		w.noteAssumptions(load)
		template := pendingPod(load.Pod)
		for range load.Pods {
			w.pods = append(w.pods, w.newPod(template.DeepCopy(), i))
		}
	}
}

// newPod creates a pod of a workload from its template.
func (w *cluster) newPod(pod *corev1.Pod, load int) *corev1.Pod {
	pod.UID = types.UID(fmt.Sprintf("%08d", w.podCount))
	w.podCount++
	pod.Name = "pod-" + string(pod.UID)
	w.workloads[load].Volumes.To(pod)
	w.workloadOf[pod.UID] = load
	w.refusePod(pod, w.workloads[load].Barred)
	return pod
}

// refusePod notes why a pod gets no node: the given reason, or one that follows from its spec.
func (w *cluster) refusePod(pod *corev1.Pod, why string) {
	why = cmp.Or(why, barredBy(pod.Spec))
	if why != "" {
		w.podReasons[pod.UID] = why
	}
}

// noteAssumptions adds notes on fields of a workload that the simulation ignores or assumes.
func (w *cluster) noteAssumptions(load Workload) {
	if load.Pod.Spec.NodeName != "" {
		w.note("%s names a node in nodeName, which is ignored.", load.Name)
	}
	if key := ambiguousTopology(load.Pod.Spec); key != "" {
		w.note("%s: the label %s decides where the pods run. If several of its values fit equally well, Karpenter chooses one "+
			"at random, so another run may give other nodes.", load.Name, key)
	}
}

// simNode is a simulated node.
type simNode struct {
	claim  *karpv1.NodeClaim
	node   string // "" before it has joined
	static bool
}

func (m *simNode) pool() string { return m.claim.Labels[karpv1.NodePoolLabelKey] }
func (m *simNode) plan() string { return nodeclaim.PlanOf(m.claim) }
func (m *simNode) ref() NodeRef { return NodeRef{Name: m.node, Pool: m.pool(), Plan: m.plan()} }

// Shortfall is a static pool that gets fewer nodes than it wants.
type Shortfall struct {
	Pool   string `json:"pool"`
	Wanted int64  `json:"wanted"`
	Made   int64  `json:"made"`
	Text   string `json:"text"`
}

// maxStatic is the largest number of nodes of a static pool; LKE allows 500 in a whole cluster.
const maxStatic = 1000

// makeStatic creates the nodes of static pools, which do not depend on pods. has is the number of nodes that each
// pool already has.
func (w *cluster) makeStatic(ctx context.Context, has map[string]int64) error {
	ctx = withSettings(ctx)
	for _, pool := range w.static {
		wanted := *pool.Spec.Replicas
		if wanted > maxStatic {
			return fmt.Errorf("pool %s has %d nodes, more than the %d that can be simulated", pool.Name, wanted, maxStatic)
		}
		for i := has[pool.Name]; i < wanted; i++ {
			_, why, err := w.makeNode(ctx, claimOf(pool), true)
			if err != nil {
				return err
			}
			if why != "" {
				w.shortfalls = append(w.shortfalls, Shortfall{Pool: pool.Name, Wanted: wanted, Made: i, Text: why})
				break
			}
		}
	}
	return nil
}

func claimOf(pool *karpv1.NodePool) *karpv1.NodeClaim {
	return scheduling.NewNodeClaimTemplate(pool).ToNodeClaim()
}

// makeNode creates the node of a NodeClaim with the plan type that the controller would choose. why is the reason
// if it would choose none.
func (w *cluster) makeNode(ctx context.Context, nc *karpv1.NodeClaim, static bool) (name, why string, err error) {
	for { // skip the names of nodes that were read from a cluster
		name = fmt.Sprintf("%s-%05d", nc.Labels[karpv1.NodePoolLabelKey], w.nodeCount+1)
		if w.store.Nodes[name] == nil {
			break
		}
		w.nodeCount++
	}
	nc.GenerateName, nc.Name, nc.UID = "", name, types.UID(name)
	chosen, err := w.chooser.Choose(ctx, nc)
	switch {
	case cloudprovider.IsInsufficientCapacityError(err), cloudprovider.IsNodeClassNotReadyError(err):
		return "", errorText(err), nil
	case err != nil:
		return "", "", fmt.Errorf("choose a plan type for a node of NodePool %s: %w",
			nc.Labels[karpv1.NodePoolLabelKey], err)
	}
	w.nodeCount++
	stamps := maps.Clone(nc.Annotations) // they have the hash of the pool
	maps.Copy(stamps, chosen.Annotations)
	chosen.Annotations = stamps
	w.made = append(w.made, &simNode{claim: chosen, node: name, static: static})
	w.store.Claims = append(w.store.Claims, chosen)
	w.store.Nodes[name] = joinedNode(chosen)
	w.store.Nodes[name].Status.NodeInfo = w.kubelet(chosen)
	w.attachable(w.store.Nodes[name])
	return name, "", nil
}

// attachable notes how many volumes a node can attach, by its plan type.
func (w *cluster) attachable(node *corev1.Node) {
	if plan, known := w.types.Plan(node.Labels[corev1.LabelInstanceTypeStable]); known {
		w.store.Attachable[node.Name] = plan.Volumes()
	}
}

// joinedNode returns the Node of a claim as it is after joining.
func joinedNode(nc *karpv1.NodeClaim) *corev1.Node {
	labels := maps.Clone(nc.Labels)
	labels[corev1.LabelHostname] = nc.Name
	labels[karpv1.NodeRegisteredLabelKey], labels[karpv1.NodeInitializedLabelKey] = "true", "true"
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nc.Name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: nc.Status.ProviderID, Taints: nc.Spec.Taints},
		Status:     corev1.NodeStatus{Capacity: nc.Status.Capacity, Allocatable: nc.Status.Allocatable},
	}
}

// podsOn returns the pods on a node, including those of buffers.
func (w *cluster) podsOn(node string) []*corev1.Pod {
	return slices.Concat(w.store.Bound[node], w.spare.on[node])
}

// requested returns the requests of the pods on a node, including those of DaemonSets.
func (w *cluster) requested(node *corev1.Node) corev1.ResourceList {
	pods := w.podsOn(node.Name)
	labels := reqs.NewLabelRequirements(node.Labels)
	for _, daemon := range w.daemons {
		if reqs.Taints(node.Spec.Taints).ToleratesPod(daemon) == nil && selectsNode(daemon, labels) {
			pods = append(pods[:len(pods):len(pods)], daemon)
		}
	}
	return resources.RequestsForPods(pods...)
}

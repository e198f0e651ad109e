package instance

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Trigger lists Linodes soon after a NodeClaim starts to wait for a machine, and runs the Machines while this
// process is the leader.
type Trigger struct{ instances *Machines }

// NewTrigger returns the controller.
func NewTrigger(i *Machines) *Trigger { return &Trigger{i} }

// Register implements operatorpkg's Controller.
func (t *Trigger) Register(_ context.Context, mgr ctrl.Manager) error {
	return nodeclaim.RegisterTrigger(mgr, t.instances, t)
}

// Reconcile triggers a list soon.
func (t *Trigger) Reconcile(context.Context, ctrl.Request) (ctrl.Result, error) {
	t.instances.syncer.loop.Wake()
	return ctrl.Result{}, nil
}

// Ours reports whether a Node belongs to a Linode of the cluster, and whether it has the resources of its plan
// type: it has less if its class reserves resources for the kubelet or makes its disk smaller.
func (i *Machines) Ours(node client.Object) bool {
	if !i.cfg.Identity.IsNode(node.GetName()) {
		return false
	}
	nc, err := i.claimOfNode(context.Background(), node)
	return err == nil && nc != nil && hasPlanResources(nc)
}

// claimOfNode returns the claim of a Node's machine. It returns nil if there is none, or if the name of the Node is
// not that of its machine: a kubelet writes the provider id, and could name another machine.
func (i *Machines) claimOfNode(ctx context.Context, o client.Object) (*karpv1.NodeClaim, error) {
	node, ok := o.(*corev1.Node)
	if !ok || node.Spec.ProviderID == "" {
		return nil, nil
	}
	var list karpv1.NodeClaimList
	err := i.cfg.Client.List(ctx, &list, client.MatchingFields{"status.providerID": node.Spec.ProviderID})
	if err != nil || len(list.Items) == 0 || i.cfg.Identity.Node(string(list.Items[0].UID)) != node.Name {
		return nil, err
	}
	return &list.Items[0], nil
}

// Rejoiner makes Karpenter register a Node again that was deleted and that its kubelet has recreated: the Node has
// the taints with which a kubelet registers, and Karpenter removes them only once for each claim.
type Rejoiner struct{ instances *Machines }

// NewRejoiner returns the controller.
func NewRejoiner(i *Machines) *Rejoiner { return &Rejoiner{i} }

// Register implements operatorpkg's Controller.
func (r *Rejoiner) Register(_ context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("node.rejoiner").For(&corev1.Node{}).
		WithEventFilter(predicate.NewPredicateFuncs(r.joining)).Complete(r)
}

func (r *Rejoiner) joining(o client.Object) bool {
	return r.instances.cfg.Identity.IsNode(o.GetName()) && o.GetDeletionTimestamp().IsZero() &&
		o.GetLabels()[karpv1.NodeRegisteredLabelKey] != "true"
}

// Reconcile checks one Node.
func (r *Rejoiner) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := r.instances.cfg.Client
	var node corev1.Node
	if err := c.Get(ctx, req.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.joining(&node) {
		return ctrl.Result{}, nil
	}
	claim, err := r.instances.claimOfNode(ctx, &node)
	if err != nil || claim == nil || !nodeclaim.MadeAgain(&node, claim) {
		return ctrl.Result{}, err
	}
	return nodeclaim.RegisterAgain(ctx, c, claim)
}

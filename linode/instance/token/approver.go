package token

import (
	"context"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Approver answers each request that was made with the token of a NodeClaim.
type Approver struct {
	client client.Client
	claims nodeclaim.Writer
	nodeOf func(uid string) string
}

// NewApprover returns the controller. nodeOf is the name of the Node of a claim's machine.
func NewApprover(c client.Client, told nodeclaim.Writer, nodeOf func(uid string) string) *Approver {
	return &Approver{c, told, nodeOf}
}

// Register implements operatorpkg's Controller.
func (a *Approver) Register(_ context.Context, mgr ctrl.Manager) error {
	isOurs := func(o client.Object) bool {
		r, ok := o.(*certificatesv1.CertificateSigningRequest)
		return ok && ours(r)
	}
	return ctrl.NewControllerManagedBy(mgr).Named("machine.certificate").
		For(&certificatesv1.CertificateSigningRequest{}).
		WithEventFilter(predicate.NewPredicateFuncs(isOurs)).Complete(a)
}

// Lean drops from a request what no answer needs, before a cache keeps it: a bearer of a token,
// or is a Node, may make as many as the API server takes.
func Lean(o any) (any, error) {
	if r, ok := o.(*certificatesv1.CertificateSigningRequest); ok {
		r.ManagedFields, r.Status.Certificate = nil, nil
		if !ours(r) {
			r.Spec.Request = nil
		} else if len(r.Spec.Request) > largest {
			r.Spec.Request = slices.Clone(r.Spec.Request[:largest+1]) // still too large
		}
	}
	return o, nil
}

// Reconcile answers one request.
func (a *Approver) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var r certificatesv1.CertificateSigningRequest
	if err := a.client.Get(ctx, req.NamespacedName, &r); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !ours(&r) {
		return ctrl.Result{}, nil
	}
	var all karpv1.NodeClaimList
	if err := a.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list NodeClaims: %w", err)
	}
	claim, node := holder(&r, all.Items), ""
	if claim != nil {
		node = a.nodeOf(string(claim.UID))
	}
	refused := refuse(&r, claim, node)
	r.Status.Conditions = append(r.Status.Conditions, answer(node, refused))
	if err := a.client.SubResource("approval").Update(ctx, &r); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // it was answered meanwhile
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("answer the request for a certificate %s: %w", r.Name, err)
	}
	if refused != nil {
		log.FromContext(ctx).Info("denied a request for a certificate", "request", r.Name, "reason", refused.Error())
		if claim != nil {
			a.claims.Warn(ctx, string(claim.UID), "CertificateDenied", refused.Error())
		}
	}
	return ctrl.Result{}, nil
}

// answer is the condition that the request gets.
func answer(node string, refused error) certificatesv1.CertificateSigningRequestCondition {
	c := certificatesv1.CertificateSigningRequestCondition{Status: corev1.ConditionTrue, LastUpdateTime: metav1.Now()}
	if refused != nil {
		c.Type, c.Reason = certificatesv1.CertificateDenied, "NotTheMachineOfNodeClaim"
		c.Message = "lkeplan: " + refused.Error()
		return c
	}
	c.Type, c.Reason = certificatesv1.CertificateApproved, "MachineOfNodeClaim"
	c.Message = "lkeplan: it is for Node " + node + ", and was asked for with the token of its NodeClaim"
	return c
}

package token

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// Approver approves or denies each certificate request that was made with the token of a NodeClaim.
type Approver struct {
	client   client.Client
	claims   nodeclaim.Writer
	nodeOf   func(uid string) string
	reported func(context.Context, *karpv1.NodeClaim)
}

// NewApprover returns the controller. nodeOf returns the name of the Node of a claim's machine. reported is called
// for a claim that needs its token and whose machine has reported why it cannot join; LastReport returns the
// report.
func NewApprover(c client.Client, warn nodeclaim.Writer, nodeOf func(uid string) string,
	reported func(context.Context, *karpv1.NodeClaim)) *Approver {
	return &Approver{c, warn, nodeOf, reported}
}

// Register implements operatorpkg's Controller.
func (a *Approver) Register(_ context.Context, mgr ctrl.Manager) error {
	isOurs := func(o client.Object) bool {
		r, ok := o.(*certificatesv1.CertificateSigningRequest)
		return ok && needsAnswer(r)
	}
	return ctrl.NewControllerManagedBy(mgr).Named("machine.certificate").
		For(&certificatesv1.CertificateSigningRequest{}).
		WithEventFilter(predicate.NewPredicateFuncs(isOurs)).Complete(a)
}

// Lean drops the fields of a request that approval does not need, before a cache keeps it: a token or a Node
// can create as many requests as the API server accepts.
func Lean(o any) (any, error) {
	if r, ok := o.(*certificatesv1.CertificateSigningRequest); ok {
		r.ManagedFields, r.Status.Certificate = nil, nil
		leanReport(r)
		if !needsAnswer(r) {
			r.Spec.Request = nil
		} else if len(r.Spec.Request) > largest {
			r.Spec.Request = slices.Clone(r.Spec.Request[:largest+1]) // one byte too large, so that it is denied
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
	if !needsAnswer(&r) {
		return ctrl.Result{}, nil
	}
	var all karpv1.NodeClaimList
	if err := a.client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list NodeClaims: %w", err)
	}
	claim, node := claimOfRequest(&r, all.Items), ""
	if claim != nil {
		node = a.nodeOf(string(claim.UID))
	}
	refused := refusalOf(&r, claim, node)
	r.Status.Conditions = append(r.Status.Conditions, newCondition(node, refused))
	err := a.client.SubResource("approval").Update(ctx, &r)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err): // another client has answered it
		return ctrl.Result{}, nil
	case apierrors.IsForbidden(err) && r.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName:
		// The controller has the right to answer only for one signer, and other signers do not sign unanswered
		// requests.
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("answer the request for a certificate %s: %w", r.Name, err)
	}
	switch {
	case refused == nil:
	case isReport(&r):
		log.FromContext(ctx).Info("a machine cannot join", "request", r.Name, "report",
			nodeclaim.Quoted(r.Annotations[AnnotationJoinFailure], LargestReport))
		if claim != nil && !Spent(claim) {
			a.reported(ctx, claim)
		}
	default:
		log.FromContext(ctx).Info("denied a request for a certificate", "request", r.Name, "reason", refused.Error())
		if claim != nil {
			a.claims.Warn(ctx, string(claim.UID), "CertificateDenied", refused.Error())
		}
	}
	return ctrl.Result{}, nil
}

// newCondition returns the condition that the request gets.
func newCondition(node string, refused error) certificatesv1.CertificateSigningRequestCondition {
	c := certificatesv1.CertificateSigningRequestCondition{Status: corev1.ConditionTrue, LastUpdateTime: metav1.Now()}
	if refused != nil {
		c.Type, c.Reason = certificatesv1.CertificateDenied, "NotTheMachineOfNodeClaim"
		if errors.Is(refused, errReport) {
			c.Reason = "JoinReport"
		}
		c.Message = "lkeplan: " + refused.Error()
		return c
	}
	c.Type, c.Reason = certificatesv1.CertificateApproved, "MachineOfNodeClaim"
	c.Message = "lkeplan: it is for Node " + node + ", and was requested with the token of its NodeClaim"
	return c
}

// Requests for the certificates with which machines join are approved if they use a NodeClaim's token and are for
// the Node of that claim. A stolen token therefore gives access to one Node, not to every Node of the cluster. Only
// requests with tokens of this package are answered; others are ignored.

// needsAnswer reports whether a request was made with a token of a NodeClaim, and has no answer yet.
func needsAnswer(r *certificatesv1.CertificateSigningRequest) bool {
	return isTokens(r) && len(r.Status.Conditions) == 0
}

// isTokens reports whether a request was made with a token of a NodeClaim.
func isTokens(r *certificatesv1.CertificateSigningRequest) bool {
	return slices.Contains(r.Spec.Groups, Group)
}

// claimOfRequest returns the claim whose token made a request; nil if there is none.
func claimOfRequest(r *certificatesv1.CertificateSigningRequest, claims []karpv1.NodeClaim) *karpv1.NodeClaim {
	for i := range claims {
		if IsOf(r.Spec.Username, string(claims[i].UID)) {
			return &claims[i]
		}
	}
	return nil
}

// refusalOf says why a request with the token of a claim, whose Node has the given name, is denied; nil if it is
// approved. The claim is nil if the token belongs to none.
func refusalOf(r *certificatesv1.CertificateSigningRequest, claim *karpv1.NodeClaim, node string) error {
	switch {
	case isReport(r): // even if it would be valid otherwise
		return errReport
	case claim == nil:
		return fmt.Errorf("%s is not the token of a NodeClaim", r.Spec.Username)
	case Spent(claim):
		return fmt.Errorf("NodeClaim %s needs no certificate, because it is being deleted or its Node has "+
			"registered", claim.Name)
	case r.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName:
		return fmt.Errorf("the token of NodeClaim %s is for a kubelet certificate, not for %s", claim.Name,
			r.Spec.SignerName)
	}
	if err := isKubelet(r, node); err != nil {
		return fmt.Errorf("the token of NodeClaim %s is only for the certificate of Node %s: %w", claim.Name, node, err)
	}
	return nil
}

// largest is the maximum size of a request in bytes. A kubelet's request has less than half of it, even with an RSA
// key.
const largest = 4096

// mostQuoted is how many bytes of a name in a request are quoted in messages.
const mostQuoted = 200

// isKubelet says why a request is not a kubelet's request for the certificate of a Node.
func isKubelet(r *certificatesv1.CertificateSigningRequest, node string) error {
	if len(r.Spec.Request) > largest {
		return fmt.Errorf("it is larger than %d bytes, the largest request of a kubelet", largest)
	}
	block, rest := pem.Decode(r.Spec.Request)
	if block == nil || len(rest) > 0 {
		return fmt.Errorf("it does not contain exactly one request")
	}
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	named := len(asked.DNSNames) + len(asked.EmailAddresses) + len(asked.IPAddresses) + len(asked.URIs)
	switch {
	case asked.Subject.CommonName != "system:node:"+node:
		return fmt.Errorf("it requests a certificate for %s", nodeclaim.Quoted(asked.Subject.CommonName, mostQuoted))
	case !slices.Equal(asked.Subject.Organization, []string{"system:nodes"}):
		return fmt.Errorf("it requests the groups %s", nodeclaim.Quoted(strings.Join(asked.Subject.Organization, ", "), mostQuoted))
	case named > 0:
		return fmt.Errorf("it requests other names as well")
	case !slices.Contains(r.Spec.Usages, certificatesv1.UsageClientAuth):
		return fmt.Errorf("it requests the usages %q", r.Spec.Usages)
	}
	for _, usage := range r.Spec.Usages {
		if !slices.Contains(usages, usage) {
			return fmt.Errorf("it requests the usage %q", usage)
		}
	}
	return nil
}

// usages are the usages of a kubelet's certificate that the signer accepts.
var usages = []certificatesv1.KeyUsage{
	certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment,
}

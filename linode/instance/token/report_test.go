package token

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	recorder "k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// reportOf is what the machine of a claim sends that cannot join.
func reportOf(t *testing.T, uid, text string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "lkeplan-report-x", Annotations: map[string]string{AnnotationJoinFailure: text}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Username: accountOf(t, uid), Groups: []string{"system:bootstrappers", Group},
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request:    asks(t, pkix.Name{CommonName: "lkeplan:join-report"}, nil),
		},
	}
}

// TestAReportIsNeverApproved, for any request and any text, and only a claim that waits for its machine hears
// of it: the claim of the token, not of the text.
func TestAReportIsNeverApproved(t *testing.T) {
	type csr = certificatesv1.CertificateSigningRequest
	good := pkix.Name{CommonName: "system:node:prod-1", Organization: []string{"system:nodes"}}
	const denied, left = "Denied", ""
	for name, c := range map[string]struct {
		change func(*csr)
		claim  *karpv1.NodeClaim // instead of one that waits
		tamper error             // that the API server answers
		want   string
		heard  bool
	}{
		"of a machine": {want: denied, heard: true},
		"with a request that would be approved": {change: func(r *csr) { r.Spec.Request = asks(t, good, nil) }, want: denied,
			heard: true},
		"without a request": {change: func(r *csr) { r.Spec.Request = nil }, want: denied, heard: true},
		"without a text":    {change: func(r *csr) { r.Annotations[AnnotationJoinFailure] = "" }, want: denied, heard: true},
		"that names another claim": {change: func(r *csr) {
			r.Annotations[AnnotationJoinFailure] = "NodeClaim " +
				"b"
		}, want: denied, heard: true},
		"of a megabyte": {change: func(r *csr) { r.Annotations[AnnotationJoinFailure] = strings.Repeat("\x00", 1<<20) },
			want: denied, heard: true},
		"with the token of no claim": {change: func(r *csr) { r.Spec.Username = accountOf(t, "gone") }, want: denied},
		"of another group":           {change: func(r *csr) { r.Spec.Groups = []string{"system:bootstrappers"} }, want: left},
		"of a claim that is going":   {claim: going(), want: denied},
		"of a claim that has joined": {claim: registered(), want: denied},
		"answered meanwhile":         {tamper: apierrors.NewConflict(certificatesv1.Resource("x"), "x", errors.New("other")), want: left},
		"for another signer, whose requests lkeplan may not answer": {
			change: func(r *csr) { r.Spec.SignerName = certificatesv1.KubeAPIServerClientSignerName },
			tamper: apierrors.NewForbidden(certificatesv1.Resource("x"), "x", errors.New("no")), want: left, heard: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := claim()
			if c.claim != nil {
				of = c.claim
			}
			r := reportOf(t, uid, "swap is on")
			if c.change != nil {
				c.change(r)
			}
			api := reporting(c.tamper, of, r)
			var heard []string
			a := NewApprover(api, nodeclaim.Writer{Client: api, Events: recorder.NewFakeRecorder(9)},
				func(string) string { return "prod-1" },
				func(_ context.Context, nc *karpv1.NodeClaim) { heard = append(heard, nc.Name) })
			request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r)}
			for range 2 { // an answer is the last
				if _, err := a.Reconcile(t.Context(), request); err != nil {
					t.Fatal(err)
				}
				if c.tamper != nil {
					break
				}
			}
			if got := answered(t, api, r.Name); got != c.want {
				t.Errorf("the answer is %q", got)
			}
			if want := []string{of.Name}; c.heard != slices.Equal(heard, want) || !c.heard && len(heard) > 0 {
				t.Errorf("heard of it: %v", heard)
			}
			if said := a.claims.Events.(*recorder.FakeRecorder).Events; len(said) > 0 {
				t.Errorf("another event: %s", <-said)
			}
		})
	}
}

// reporting is an API server with a claim and a request, whose answers to requests may be an error.
func reporting(refuse error, objects ...client.Object) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithStatusSubresource(&certificatesv1.CertificateSigningRequest{}).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexUID, nodeclaim.UIDs).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, _ string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				if refuse != nil {
					return refuse
				}
				return c.Status().Update(ctx, o, opts...)
			},
		}).Build()
}

// answered are the conditions of a request.
func answered(t *testing.T, api client.Client, name string) string {
	t.Helper()
	var r certificatesv1.CertificateSigningRequest
	if err := api.Get(t.Context(), client.ObjectKey{Name: name}, &r); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range r.Status.Conditions {
		all = append(all, string(c.Type))
	}
	return strings.Join(all, " ")
}

// TestOnlyOneControllerReportsAJoinFailure: that whose answer the API server took.
func TestOnlyOneControllerReportsAJoinFailure(t *testing.T) {
	api := reporting(nil, claim(), reportOf(t, uid, "swap is on"))
	heard := 0
	approver := func(c client.Client) *Approver {
		return NewApprover(c, nodeclaim.Writer{}, func(string) string { return "prod-1" },
			func(context.Context, *karpv1.NodeClaim) { heard++ })
	}
	request := ctrl.Request{NamespacedName: types.NamespacedName{Name: "lkeplan-report-x"}}
	slow := interceptor.NewClient(api, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, err := approver(api).Reconcile(ctx, request); err != nil { // between what the other reads and writes
				return err
			}
			return c.List(ctx, l, opts...)
		},
	})
	if _, err := approver(slow).Reconcile(t.Context(), request); err != nil || heard != 1 {
		t.Errorf("%d have told of it, %v", heard, err)
	}
}

// TestCacheKeepsOnlyNeededFieldsOfReports, before and after its answer, and none of the rest that its author
// has written.
func TestCacheKeepsOnlyNeededFieldsOfReports(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		groups      []string
		annotations map[string]string
		want        map[string]int // bytes
	}{
		"a report": {[]string{Group}, map[string]string{AnnotationJoinFailure: "swap"}, map[string]int{AnnotationJoinFailure: 4}},
		"a report of a megabyte": {[]string{Group}, map[string]string{AnnotationJoinFailure: huge, "more": huge},
			map[string]int{AnnotationJoinFailure: LargestReport + 1}},
		"without a text":   {[]string{Group}, map[string]string{AnnotationJoinFailure: ""}, map[string]int{AnnotationJoinFailure: 0}},
		"no report":        {[]string{Group}, map[string]string{"more": huge}, map[string]int{}},
		"of another group": {[]string{"system:nodes"}, map[string]string{"a": "b"}, map[string]int{"a": 1}},
	} {
		for _, answer := range []bool{false, true} {
			r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations,
				Labels: map[string]string{"l": "m"}}}
			r.Spec.Groups = c.groups
			if answer {
				r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied}}
			}
			if _, err := Lean(r); err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for key, value := range r.Annotations {
				got[key] = len(value)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}

// TestTheLastReportOfAMachine belongs to its own token, not to a request that only looks like one.
func TestTheLastReportOfAMachine(t *testing.T) {
	at := func(minute int, change func(*certificatesv1.CertificateSigningRequest)) certificatesv1.CertificateSigningRequest {
		r := reportOf(t, "a", fmt.Sprint(minute))
		r.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(minute) * time.Minute))
		if change != nil {
			change(r)
		}
		return *r
	}
	all := []certificatesv1.CertificateSigningRequest{
		at(1, nil), at(3, nil), at(2, nil),
		at(4, func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Groups = []string{"system:authenticated"} }),
		at(5, func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Username = accountOf(t, "b") }),
		at(6, func(r *certificatesv1.CertificateSigningRequest) { r.Annotations = nil }),
	}
	same := at(3, func(r *certificatesv1.CertificateSigningRequest) {
		r.Name, r.Annotations[AnnotationJoinFailure] = "a", "3, earlier"
	})
	for _, in := range [][]certificatesv1.CertificateSigningRequest{append(slices.Clone(all), same), append([]certificatesv1.CertificateSigningRequest{same}, all...)} {
		if got := LastReport(in, "a"); got == nil || got.Text != "3" {
			t.Errorf("of two of one second: %+v", got)
		}
	}
	if got := LastReport(all, "a"); got == nil || got.Text != "3" {
		t.Errorf("%+v", got)
	}
	if got := LastReport(all, "c"); got != nil {
		t.Errorf("%+v", got)
	}
}

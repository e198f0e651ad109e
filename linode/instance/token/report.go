package token

import (
	"cmp"
	"errors"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// A machine that cannot join can report it with its only right in the cluster: with its token it makes a request for
// a certificate that has a report as an annotation. Such a request is never approved. The NodeClaim follows
// from the name of the token's account, which the API server writes; what is reported may be any text.

// AnnotationJoinFailure, on a request that was made with the token of a NodeClaim, says why the machine cannot join.
const AnnotationJoinFailure = "lkeplan.dev/join-failure"

// LargestReport is how many bytes of a report are read. A machine sends 800 at most.
const LargestReport = 800

// errReport is why a report is denied. Kubernetes deletes what is denied after an hour.
var errReport = errors.New("it reports why a machine cannot join and requests no certificate")

func isReport(r *certificatesv1.CertificateSigningRequest) bool {
	_, is := r.Annotations[AnnotationJoinFailure]
	return is
}

// leanReport drops all annotations and labels of a request that was made with a token of ours, but for its report, of
// which it keeps what is read.
func leanReport(r *certificatesv1.CertificateSigningRequest) {
	if !isTokens(r) {
		return
	}
	report, is := r.Annotations[AnnotationJoinFailure]
	r.Labels, r.Annotations = nil, nil
	if is { // a copy, as a part would keep the whole
		r.Annotations = map[string]string{AnnotationJoinFailure: strings.Clone(report[:min(len(report), LargestReport+1)])}
	}
}

// Report is why a machine cannot join, in its own words.
type Report struct {
	Text    string
	Request *certificatesv1.CertificateSigningRequest
}

// LastReport returns the last report that was made with the token of a claim, by its UID; nil if there is none.
// The API server keeps a report for an hour.
func LastReport(requests []certificatesv1.CertificateSigningRequest, uid string) *Report {
	var last *certificatesv1.CertificateSigningRequest
	ids := IDs(uid) // once, as a machine may make any number of requests
	for i := range requests {
		r := &requests[i]
		if isReport(r) && isTokens(r) && isAccount(r.Spec.Username, ids) && (last == nil || // a list has no order
			cmp.Or(r.CreationTimestamp.Compare(last.CreationTimestamp.Time), strings.Compare(r.Name, last.Name)) > 0) {
			last = r
		}
	}
	if last == nil {
		return nil
	}
	return &Report{last.Annotations[AnnotationJoinFailure], last}
}

package sim

import "net/http"

// Unverified: that LKE has the second for pools, too.
//
// What the real API says where an account has a limit, for the Body of a [Fault] with NoCapacity [Refuse]. Both were
// seen live: the first on new Linodes and volumes (2025, 2026), the second for g7-highmem-8 in us-ord on 2026-07-28.
const (
	ActiveServices = "You've reached a limit for the number of active services on your account. " +
		"Please contact Support to request an increase and provide the total number of services you may need."
	PlanClosed = "A limit on your account is preventing the deployment of the selected Linode plan. " +
		"To request access to the plan, please contact Support and provide the Linode plan name."
)

// Forbidden is the answer to calls that the role of the token's user does not allow, and, once, to one right after an
// object was made (Akamai's landing zone, 2026-08). That both have this text is an assumption for roles.
func Forbidden(f Fault) Fault {
	f.Status, f.Body = http.StatusForbidden, "Unauthorized"
	return f
}

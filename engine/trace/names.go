package trace

// The names of spans.
const (
	Reconcile   = "nodeplan.reconcile"
	Find        = "nodeplan.find"
	Fetch       = "nodeplan.fetch"
	Compile     = "nodeplan.compile"
	Plan        = "nodeplan.plan"
	Judge       = "nodeplan.judge"
	Apply       = "nodeplan.apply"
	ApplyObject = "nodeplan.apply.object"
	Wait        = "nodeplan.wait"
	Pending     = "nodeplan.pending"
	Prove       = "nodeplan.prove"
	Roll        = "nodeplan.roll"

	Claim      = "nodeclaim"
	Choose     = "nodeclaim.choose"
	Machine    = "nodeclaim.machine"
	Call       = "nodeclaim.linode"
	Join       = "nodeclaim.join"
	Initialize = "nodeclaim.initialize"
)

// The attributes of spans.
const (
	NodePlan   = "lkeplan.nodeplan"
	UID        = "lkeplan.uid"
	Revision   = "lkeplan.revision"
	Origin     = "lkeplan.origin_revision"
	Reason     = "lkeplan.reason"
	LeftOut    = "lkeplan.steps_left_out"
	Of         = "lkeplan.compile.of"
	Object     = "lkeplan.object"
	Outcome    = "lkeplan.outcome"
	Phase      = "lkeplan.phase"
	NodeClaim  = "lkeplan.nodeclaim"
	NodePool   = "lkeplan.nodepool"
	PlanType   = "lkeplan.plan_type"
	Linode     = "lkeplan.linode"
	Node       = "k8s.node.name"
	Method     = "http.request.method"
	Route      = "url.template"
	Status     = "http.response.status_code"
	ErrorType  = "error.type"
	Waited     = "lkeplan.rate_limit_wait"
	SharedWith = "lkeplan.nodeclaims"
)

// Kind describes the spans of one name.
type Kind struct {
	Name, Means string
	Attributes  []string
}

// Kinds lists all kinds of spans, as in kube/observability/traces.md.
func Kinds() []Kind {
	return []Kind{
		{Reconcile, "One reconciliation of a NodePlan that resulted in an event; its steps are the spans below it.",
			[]string{NodePlan, UID, Revision, Origin, Reason, LeftOut}},
		{Find, "The current revision of the source is requested.", nil},
		{Fetch, "The files of the revision are fetched, in a separate process.", nil},
		{Compile, "Files are compiled, in a separate process: those of the `revision`, those `last applied`, or " +
			"`policies` that evaluate the plan.", []string{Of}},
		{Plan, "The revision is compared with the cluster and evaluated.", nil},
		{Judge, "Guards and policies are evaluated.", nil},
		{Apply, "The plan is applied.", nil},
		{ApplyObject, "One object is applied or deleted; it is `created`, `changed`, `unchanged`, `deleted` or `failed`.",
			[]string{Object, Outcome}},
		{Wait, "With `spec.wait`: until objects and nodes are ready.", nil},
		{Pending, "The time before this reconciliation in which the condition Ready had the same reason: the NodePlan " +
			"waited for an approval, a window or a retry.", []string{NodePlan, Reason}},
		{Prove, "With `spec.rollout`: the first wave of the revision; an error if the revision was held or rolled back.",
			[]string{NodePlan, Phase}},
		{Roll, "Nodes were replaced, from the reconciliation that applied the revision until none was outdated. It links " +
			"to the NodeClaims that were created for its pools in that time, 128 at most.", []string{NodePlan}},
		{Claim, "A NodeClaim, from its creation until its node was initialized; an error if it was deleted before. " +
			"Its phases are the spans below it.", []string{NodeClaim, UID, NodePool, NodePlan, PlanType, Linode, Node, LeftOut}},
		{Choose, "Until a plan type was chosen and stored: Karpenter's condition Launched.", nil},
		{Machine, "Until the NodeClaim had its machine: it was requested from Linode and created.", nil},
		{Call, "One request to the Linode API for this NodeClaim and maybe others. Requests that list LKE pools are " +
			"for no NodeClaim, and are not shown.", []string{Method, Route, Status, ErrorType, Waited, SharedWith}},
		{Join, "Until its Node existed: Karpenter's condition Registered.", nil},
		{Initialize, "Until the Node was ready, without startup taints and with its resources: Karpenter's condition " +
			"Initialized.", nil},
	}
}

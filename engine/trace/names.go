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

// Kind is what spans of one name are.
type Kind struct {
	Name, Means string
	Attributes  []string
}

// Kinds are all spans that there are, as kube/observability/traces.md lists them.
func Kinds() []Kind {
	return []Kind{
		{Reconcile, "One reconciliation of a NodePlan that had something to say; it has the steps below it.",
			[]string{NodePlan, UID, Revision, Origin, Reason, LeftOut}},
		{Find, "The present revision of the source is asked for.", nil},
		{Fetch, "Its files are fetched, in a process of its own.", nil},
		{Compile, "Files are compiled, in a process of its own: those of the `revision`, those `last applied`, or " +
			"`policies` judge the plan.", []string{Of}},
		{Plan, "The revision is compared with the cluster, and judged.", nil},
		{Judge, "Guards and policies are asked.", nil},
		{Apply, "The plan is carried out.", nil},
		{ApplyObject, "One object is applied or deleted; it is `created`, `changed`, `unchanged`, `deleted` or `failed`.",
			[]string{Object, Outcome}},
		{Wait, "With `spec.wait`: until objects and nodes are ready.", nil},
		{Pending, "The time before this reconciliation in which the condition Ready had the same reason: the NodePlan " +
			"waited for an approval or a window, or to be tried again.", []string{NodePlan, Reason}},
		{Prove, "With `spec.rollout`: the revision proved itself on a first wave; an error where it was held or rolled back.",
			[]string{NodePlan, Phase}},
		{Roll, "Nodes were replaced, from the reconciliation that applied the revision until none was outdated. It links " +
			"to the NodeClaims that were made for its pools meanwhile, 128 at most.", []string{NodePlan}},
		{Claim, "A NodeClaim, from when it was made until its node was initialized; an error where it was deleted before. " +
			"It has the steps below it.", []string{NodeClaim, UID, NodePool, NodePlan, PlanType, Linode, Node, LeftOut}},
		{Choose, "Until a plan type was chosen and stored: Karpenter's condition Launched.", nil},
		{Machine, "Until the NodeClaim had its machine: Linode was asked and made it.", nil},
		{Call, "One request to the Linode API that was sent for this NodeClaim and maybe others. Requests that list LKE " +
			"pools are for nobody, and are not shown.", []string{Method, Route, Status, ErrorType, Waited, SharedWith}},
		{Join, "Until its Node was there: Karpenter's condition Registered.", nil},
		{Initialize, "Until the Node was ready, without startup taints and with its resources: Karpenter's condition " +
			"Initialized.", nil},
	}
}

package plan

// Migration is how a pool becomes another object without its nodes going at
// once: Kubernetes cannot rename objects, and Karpenter does not let a pool
// begin or cease to be static. The plan itself would delete the old pool, or be
// refused; the steps are what to commit instead, one after the other.
type Migration struct {
	From   string // the address in the base
	To     string // the address of the pool that takes over
	Reason string // why it is another object, as a sentence without its end
	Steps  []Step
}

// Step is one commit of a migration, or a time to wait.
type Step struct {
	Title string
	HCL   string // what to write for it; "" where there is nothing to write
}

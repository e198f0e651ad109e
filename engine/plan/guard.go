package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Bounds are what a plan is evaluated against.
type Bounds struct {
	Guards        config.Guards
	Before, After int // objects in the base and in the head
}

// The names of the guards, as permissions use them.
const (
	EmptyResult     = "allow_empty"
	ProtectedPool   = "protected"
	MaxDeletedPools = "max_deleted_pools"
	MaxDeletedNodes = "max_deleted_nodes"
	MaxRolledNodes  = "max_rolled_nodes"
	// MaxUnschedulablePods needs simulated pods.
	MaxUnschedulablePods = "max_unschedulable_pods"

	Frozen       = "freeze"
	ChangeWindow = "window"
	Stopped      = "stop" // a DisruptionStop is active
)

// What a plan reports as Changed, in addition to objects: the rules and the cluster of the directory.
const (
	OwnGuards   = "guards"
	OwnPolicies = "policies"
	OwnCluster  = "cluster"
	OwnImports  = "imports"
)

// Judge returns the verdict of each guard on the plan, sorted by guard and address. It omits guards that do not apply
// to the plan.
func (p Plan) Judge(b Bounds) ([]Verdict, error) {
	s := p.Summary()
	verdicts := append(p.protected(b.Guards), b.empty(), p.deletedPools(b.Guards))
	verdicts = append(verdicts,
		p.share(MaxDeletedNodes, p.deletedNodes(b.Guards), s.NodesDeleted, b.Guards)...)
	verdicts = append(verdicts,
		p.share(MaxRolledNodes, b.Guards.MaxRolledNodes, s.Moved(), b.Guards)...)
	verdicts = append(verdicts, p.unschedulable(b.Guards)...)
	for _, f := range b.Guards.Freezes {
		v, err := p.frozen(f)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v)
	}
	windowed, err := p.windowed(b.Guards)
	if err != nil {
		return nil, err
	}
	verdicts = append(verdicts, windowed...)
	slices.SortFunc(verdicts, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(a.Guard, b.Guard), cmp.Compare(a.Addr, b.Addr))
	})
	return verdicts, p.setTimes(verdicts)
}

// empty refuses a change that removes all objects: usually the path is wrong.
func (b Bounds) empty() Verdict {
	v := Verdict{
		Guard: EmptyResult, Status: Passed, Default: b.Guards.Default, Source: diag.RangeOf(b.Guards.Origins.Find(EmptyResult).Range),
	}
	if b.Before > 0 && b.After == 0 && !b.Guards.AllowEmpty {
		v.Status = Blocked
		v.Actual = "0"
		v.Detail = fmt.Sprintf("The change removes all objects: the base has %s. Check the path of the directory.",
			text.Count(b.Before, "object"))
	}
	return v
}

func (p Plan) protected(g config.Guards) (verdicts []Verdict) {
	for _, c := range p.Changes {
		judged := c.Prune == Drained // when its removal started
		if c.Kind == "NodePool" && c.Action == Delete && !judged && slices.Contains(g.Protected, c.Name) {
			verdicts = append(verdicts, Verdict{
				Guard: ProtectedPool, Addr: c.Addr, Status: Blocked, Source: diag.RangeOf(g.Origins.Find(ProtectedPool).Range),
				Detail: fmt.Sprintf("The change would delete %s, which is protected.", c.Addr),
			})
		}
	}
	return verdicts
}

func (p Plan) deletedPools(g config.Guards) Verdict {
	deleted := len(p.Summary().Condemned)
	for _, c := range p.Changes {
		if c.Kind == "NodePool" && c.Action == Delete && c.Prune != StartRemoval {
			deleted++
		}
	}
	v := Verdict{
		Guard: MaxDeletedPools, Status: Passed, Default: g.Default, Source: diag.RangeOf(g.Origins.Find(MaxDeletedPools).Range),
		Limit: fmt.Sprint(g.MaxDeletedPools), Actual: fmt.Sprint(deleted),
	}
	if deleted > g.MaxDeletedPools {
		v.Status = Blocked
		v.Detail = fmt.Sprintf("The change would delete %s, and the limit is %d.", text.Count(deleted, "pool"),
			g.MaxDeletedPools)
	}
	return v
}

// deletedNodes returns how many nodes may be deleted with their pools. The default is none, so that a pool in use
// is not deleted by accident. Without a value, the guard does not apply to a plan that deletes no pool.
func (p Plan) deletedNodes(g config.Guards) config.Share {
	if g.MaxDeletedNodes.Text == "" && len(p.Summary().Deleted) > 0 {
		return config.Share{Text: "0"}
	}
	return g.MaxDeletedNodes
}

// share limits a number of nodes. If nodes are not counted, a limit of zero refuses every plan that may affect a node;
// for other limits, the guards block determines the status.
func (p Plan) share(guard string, most config.Share, nodes Count, g config.Guards) []Verdict {
	if most.Text == "" {
		return nil
	}
	v := Verdict{Guard: guard, Status: Passed, Limit: most.Text, Source: diag.RangeOf(g.Origins.Find(guard).Range)}
	happens := "would be deleted"
	if guard == MaxRolledNodes {
		happens = p.moves()
	}
	v.Actual = fmt.Sprintf("%d of %d", nodes.Nodes, p.Nodes)
	switch {
	case !nodes.Known:
		v.Actual = ""
		v.Status, v.Detail = Uncounted(g, fmt.Sprintf("Nodes %s, but their number is unknown without a cluster. To count "+
			"them, add --nodes live or --nodes snapshot:FILE.", happens))
		if most.Number == 0 {
			v.Status = Blocked
		}
	case most.Exceeds(nodes.Nodes, p.Nodes):
		v.Status = Blocked
		v.Detail = fmt.Sprintf("%d of %d nodes %s, and the limit is %s.", nodes.Nodes, p.Nodes, happens, most.Text)
	}
	return []Verdict{v}
}

// Uncounted returns the verdict of a guard or a policy that cannot be evaluated, with the reason.
func Uncounted(g config.Guards, why string) (Status, string) {
	if g.RefuseUnknown {
		return Blocked, why
	}
	return Unknown, why
}

// moves describes what happens to the nodes of Moved.
func (p Plan) moves() string {
	s := p.Summary()
	var parts []string
	if len(s.Rolled) > 0 {
		parts = append(parts, "would be replaced")
	}
	if len(s.Condemned) > 0 {
		parts = append(parts, "would be drained")
	}
	if len(s.Removable) > 0 {
		text := "may be removed"
		if s.Exact {
			text = "would be removed or replaced by Karpenter"
		}
		parts = append(parts, text)
	}
	return cmp.Or(strings.Join(parts, " or "), "would be replaced")
}

// Moved returns the nodes that a plan replaces, drains or may remove: those that the guard max_rolled_nodes counts.
func (s Summary) Moved() Count { return s.NodesRolled.Plus(s.NodesDrained).Plus(s.NodesRemovable) }

// Touched returns the nodes that a plan deletes, drains, replaces or may remove: those that an approval limits.
func (s Summary) Touched() Count { return s.NodesDeleted.Plus(s.Moved()) }

// touches reports whether a plan replaces, removes or deletes nodes, or may do so. Pools that are known to have no nodes that
// are replaced do not count, but those that are deleted do.
func (s Summary) touches() bool {
	return len(s.Deleted)+len(s.Condemned) > 0 || len(s.Rolled)+len(s.Removable) > 0 && s.NodesRolled.Plus(s.NodesRemovable).Some()
}

// frozen makes plans that touch nodes wait for the end of a freeze.
func (p Plan) frozen(f config.Period) (Verdict, error) {
	v := Verdict{Guard: Frozen, Addr: f.Name, Status: Passed, Source: diag.RangeOf(f.Range), Periods: []config.Period{f}}
	if p.Now.IsZero() || !p.Summary().touches() {
		return v, nil
	}
	ends, err := WindowOpens(nil, v.Periods, p.Now)
	if err != nil || ends.Equal(p.Now) {
		return v, err
	}
	v.Status = Waiting
	v.Detail = "Changes that replace or delete nodes are frozen"
	if ends.IsZero() {
		v.Detail += ", and the freeze does not end within a year."
	} else {
		v.Detail += " until " + text.DayTime(ends) + "."
	}
	v.Detail += reasons(v.Periods)
	return v, nil
}

// windowed makes plans that touch nodes wait for a change window. It returns nil if there are no windows.
func (p Plan) windowed(g config.Guards) ([]Verdict, error) {
	if len(g.Windows) == 0 {
		return nil, nil
	}
	v := Verdict{Guard: ChangeWindow, Status: Passed, Source: diag.RangeOf(g.Windows[0].Range), Periods: g.Windows}
	if p.Now.IsZero() || !p.Summary().touches() {
		return []Verdict{v}, nil
	}
	if open, err := WindowOpens(g.Windows, nil, p.Now); err != nil || open.Equal(p.Now) {
		return []Verdict{v}, err
	}
	until, err := WindowOpens(g.Windows, g.Freezes, p.Now)
	v.Status = Waiting
	v.Detail = "Nodes may be replaced and deleted only in change windows. The next window "
	if until.IsZero() {
		v.Detail += "does not start within a year."
	} else {
		v.Detail += "starts at " + text.DayTime(until) + "."
	}
	v.Detail += reasons(g.Windows)
	return []Verdict{v}, err
}

// Stop makes a plan that touches nodes wait for the end of the DisruptionStops. why describes them.
func (p *Plan) Stop(until time.Time, why string) error {
	if !p.Summary().touches() {
		return nil
	}
	p.Verdicts = append(p.Verdicts, Verdict{Guard: Stopped, Status: Waiting, Until: until, Detail: "Disruption is " + why + "."})
	return p.setTimes(p.Verdicts)
}

// reasons returns the reasons of windows or freezes, each as a sentence after a space; "" if none has one.
func reasons(periods []config.Period) (sentences string) {
	for _, p := range periods {
		if p.Reason == "" {
			continue
		}
		first, size := utf8.DecodeRuneInString(p.Reason)
		sentences += " " + string(unicode.ToUpper(first)) + p.Reason[size:]
		if !strings.ContainsAny(p.Reason[len(p.Reason)-1:], ".!?") {
			sentences += "."
		}
	}
	return sentences
}

// setTimes sets when a plan that waits can be applied, and when the budgets let nodes go from then on.
func (p Plan) setTimes(verdicts []Verdict) error {
	var windows, freezes []config.Period
	from, timed := p.Now, false
	for _, v := range verdicts {
		timed = timed || v.Periods != nil || v.Guard == Stopped
		switch {
		case v.Status == Allowed:
		case v.Guard == Stopped && v.Until.After(from):
			from = v.Until
		case v.Guard == ChangeWindow:
			windows = v.Periods
		case v.Guard == Frozen:
			freezes = append(freezes, v.Periods...)
		}
	}
	if !timed || p.Now.IsZero() || !p.Summary().touches() {
		return nil
	}
	opens, err := WindowOpens(windows, freezes, from)
	if err != nil {
		return err
	}
	for i := range verdicts {
		if verdicts[i].Status == Waiting {
			verdicts[i].Until = opens.UTC()
		}
	}
	for _, c := range p.Changes {
		if c.Impact != nil && c.Impact.Pace != nil {
			c.Impact.Pace.apply(p.Now, opens)
		}
		if c.Impact != nil && c.Impact.Refresh != nil {
			c.Impact.Refresh.apply(p.Now, opens)
		}
	}
	return nil
}

// Allow lifts guards and policies by permissions such as max_deleted_pools:pool.web, and records that in the plan. A
// permission names objects of the guard, separated by commas, or * for all. A guard that counts several objects is
// lifted only if each of them is allowed. A permission that lifts nothing is an error: it was meant for another plan.
func (p *Plan) Allow(permissions []string) error {
	p.Permit()
	for _, permission := range permissions {
		guard, addr, ok := strings.Cut(permission, ":")
		if !ok || addr == "" {
			return fmt.Errorf("--allow %s: write GUARD:ADDRESS, as in %s:pool.web", permission, MaxDeletedPools)
		}
		for addr := range strings.SplitSeq(addr, ",") {
			if !slices.ContainsFunc(p.Verdicts, func(v Verdict) bool { return v.Guard == guard && v.refuses() && p.about(v, addr) }) {
				return fmt.Errorf("--allow %s: %s", permission, p.unneeded())
			}
		}
	}
	p.Reallow(permissions)
	for _, permission := range permissions {
		guard, _, _ := strings.Cut(permission, ":")
		for _, v := range p.Verdicts {
			if v.Guard == guard && v.Addr == "" && v.refuses() {
				return fmt.Errorf("--allow %s: the guard %s refuses more objects than these; to allow all of them, write --allow %s",
					permission, guard, v.Permission)
			}
		}
	}
	return nil
}

// Reallow lifts guards by permissions that were given earlier. Some of them may no longer be needed.
func (p *Plan) Reallow(permissions []string) {
	given := map[string]bool{} // GUARD:ADDRESS, of one object each
	for _, permission := range permissions {
		guard, addrs, _ := strings.Cut(permission, ":")
		for addr := range strings.SplitSeq(addrs, ",") {
			given[guard+":"+addr] = true
		}
	}
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		allowed := func(addr string) bool { return given[v.Guard+":"+addr] || given[v.Guard+":*"] }
		counted, lifted := p.countedAddresses(v.Guard), false
		switch {
		case v.Addr != "":
			lifted = allowed(v.Addr)
		case len(counted) > 0:
			lifted = !slices.ContainsFunc(counted, func(addr string) bool { return !allowed(addr) })
		default:
			lifted = allowed("*") || slices.ContainsFunc(p.Changes, func(c Change) bool { return allowed(c.Addr) })
		}
		if v.refuses() && lifted {
			v.Status = Allowed
		}
	}
	_ = p.setTimes(p.Verdicts) // Judge has read the schedules
}

// about reports whether a verdict is about an object.
func (p Plan) about(v Verdict, addr string) bool {
	counted := p.countedAddresses(v.Guard)
	switch {
	case addr == "*" || v.Addr == addr:
		return true
	case v.Addr == "" && len(counted) > 0:
		return slices.Contains(counted, addr)
	}
	return v.Addr == "" && slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Addr == addr })
}

// unneeded explains why a permission lifts nothing, and lists the guards that can be lifted.
func (p Plan) unneeded() string {
	var blocked []string
	for _, v := range p.Verdicts {
		if v.refuses() {
			blocked = append(blocked, v.Permission)
		}
	}
	if len(blocked) == 0 {
		return "no guard refuses this plan"
	}
	return "no guard refuses this plan for this object; possible values are " + strings.Join(blocked, ", ")
}

// Permit sets the permission of each blocked verdict: it names the objects of the verdict, or else all.
func (p *Plan) Permit() {
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		if !v.refuses() {
			continue
		}
		counted := p.countedAddresses(v.Guard)
		if slices.ContainsFunc(counted, func(addr string) bool { return strings.Contains(addr, ",") }) {
			counted = nil // a comma would split the address
		}
		v.Permission = v.Guard + ":" + cmp.Or(v.Addr, strings.Join(counted, ","), "*")
	}
}

// countedAddresses returns the addresses of the changes whose nodes, pools or pods a guard counts; none if it counts
// nothing.
func (p Plan) countedAddresses(guard string) (addrs []string) {
	for _, c := range p.Changes {
		counts := c.Effect == DeleteNodes || c.Prune == StartRemoval
		switch guard {
		case MaxDeletedPools, MaxDeletedNodes:
		case MaxRolledNodes, ChangeWindow:
			counts = counts || c.Effect == Roll || c.Loosens
		case MaxUnschedulablePods:
			counts = c.Kind == "NodePool"
		default:
			return nil
		}
		if counts && !c.Outside && len(c.Because) == 0 { // otherwise it counts for another object, such as its class
			addrs = append(addrs, c.Addr)
		}
	}
	return addrs
}

// StricterShare returns the share that allows fewer nodes: a, or the one that text contains, unless it is empty.
func StricterShare(a config.Share, text string, of int) config.Share {
	if text == "" {
		return a
	}
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	if err != nil {
		return a // the CRD of NodePlan forbids that
	}
	b := config.Share{Text: text, Percent: percent, Number: n}
	if a.Text != "" && shareHundredths(a, of) <= shareHundredths(b, of) {
		return a
	}
	return b
}

// shareHundredths returns how many nodes a share allows, in hundredths of a
// node.
func shareHundredths(s config.Share, of int) int {
	if s.Percent {
		return s.Number * of
	}
	return s.Number * 100
}

// WindowOpens returns the first minute from now on in which a window is open and no freeze is active: the one
// decision about when a change that touches nodes is applied. Without windows, one is always open. It is the zero
// time if that is not within a year.
func WindowOpens(windows, freezes []config.Period, now time.Time) (time.Time, error) {
	open, err := recurrencesOf(windows)
	if err != nil {
		return time.Time{}, err
	}
	frozen, err := recurrencesOf(freezes)
	if err != nil {
		return time.Time{}, err
	}
	return schedule.Opens(open, frozen, now), nil
}

func recurrencesOf(periods []config.Period) (all []schedule.Recurrence, err error) {
	for _, p := range periods {
		read, err := schedule.Recur(p.Schedule, p.Duration)
		if err != nil {
			return nil, fmt.Errorf("%s: read the schedule %q: %w", p.Name, p.Schedule, err)
		}
		all = append(all, read)
	}
	return all, nil
}

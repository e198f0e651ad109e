package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// escaper is how a format writes what comes from the configuration or the
// cluster amid its own words: names, addresses, paths.
type escaper func(string) string

// plainText is the escaper of formats that need no more than harmless characters.
var plainText escaper = diag.OneLine

// list names several things.
func (v escaper) list(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = v(name)
	}
	return strings.Join(quoted, ", ")
}

// versus says what is compared with what, why, and whose guards judge; "" where that
// is not known. The working directory need not be named.
func (v escaper) versus(r Report) string {
	text := ""
	if head := r.Head.String(); head != "" && head != "." {
		text = v(head) + " "
	}
	if r.Base.Kind != "" {
		text += "compared with " + v.revision(r.Base)
	}
	if r.Rules.Kind != "" {
		text = strings.TrimSpace(text) + ". Guards and policies are those of " + v.revision(r.Rules) + "."
	}
	return strings.TrimSpace(text)
}

// revision names a revision, and says in a few words why it is that one. What names the branch, after a comma, is in
// the JSON only; what the base lacks, after a semicolon, stays.
func (v escaper) revision(r plan.Revision) string {
	why, lacks, more := strings.Cut(r.Why, "; ")
	why, _, _ = strings.Cut(why, ", ")
	text := v(r.String())
	if why != "" {
		text += " (" + v(why) + ")"
	}
	if more {
		text += "; " + v(lacks)
	}
	return text
}

// clock writes a moment to come.
func clock(t time.Time) string { return t.UTC().Format("Mon 2 Jan 15:04 UTC") }

// disruptive reports whether nodes go, or may.
func disruptive(e plan.Effect) bool {
	return e == plan.Roll || e == plan.DeleteNodes || e == plan.MayRemove
}

// headline says what happens to the nodes of all pools.
func headline(r Report) string {
	s := r.Summary()
	nodes := func(n plan.Count) string {
		if !n.Known || n.Nodes == 0 {
			return "nodes"
		}
		return diag.Counted(n.Nodes, "node")
	}
	var parts []string
	if n := len(s.Deleted); n > 0 {
		parts = append(parts, fmt.Sprintf("deletes %s of %s", nodes(s.NodesDeleted), diag.Counted(n, "pool")))
	}
	if n := len(s.Rolled); n > 0 {
		parts = append(parts, fmt.Sprintf("replaces %s of %s", nodes(s.NodesRolled), diag.Counted(n, "pool")))
	}
	if n := len(s.Condemned); n > 0 {
		parts = append(parts, fmt.Sprintf("has %s give up %s", diag.Counted(n, "pool"), nodes(s.NodesDrained)))
	}
	if n := len(s.Removable); n > 0 {
		parts = append(parts, fmt.Sprintf("may remove %s of %s", nodes(s.NodesRemovable), diag.Counted(n, "pool")))
	}
	if len(parts) == 0 && !r.Empty() {
		parts = append(parts, "no node is replaced or deleted")
	}
	if w := r.Workloads; w != nil && w.LostPods() > 0 {
		parts = append(parts, "no node any more for "+diag.Counted(w.LostPods(), "pod"))
	}
	if s.Conflicts > 0 {
		parts = append(parts, diag.Counted(s.Conflicts, "field")+" set by others")
	}
	if n := len(r.failed()); n > 0 {
		parts = append(parts, fmt.Sprintf("no plan for %d of %d directories", n, len(r.Parts)))
	}
	if len(r.Repriced) > 0 {
		parts = append(parts, "the catalogue of prices changes")
	}
	if r.rulesChange() {
		parts = append(parts, "changes what changes are judged by")
	}
	if len(parts) == 0 {
		return "no changes"
	}
	return strings.Join(parts, ", ")
}

// counts says how many objects there are of each action.
func counts(s plan.Summary) string {
	text := fmt.Sprintf("%d to create, %d to update, %d to delete", s.Create, s.Update, s.Delete)
	if s.Move > 0 {
		text += fmt.Sprintf(", %d moved", s.Move)
	}
	if s.Forget > 0 {
		text += fmt.Sprintf(", %d no longer managed", s.Forget)
	}
	return text
}

// headline says what is done to an object and its nodes.
func (v escaper) headline(c plan.Change) string {
	var parts []string
	switch c.Action {
	case plan.Create:
		parts = append(parts, "created")
	case plan.Delete:
		switch {
		case c.Prune == plan.StartRemoval:
			return "condemned: it makes no new nodes, gives up those that it has within its budgets, and is deleted when it " +
				"has none left"
		case c.Prune == plan.Drained:
			return "deleted; it has given up all of its nodes"
		case c.Effect == plan.DeleteNodes && c.Impact != nil && c.Impact.Known && c.Impact.Of == 0:
			return "deleted" // that it has no nodes is said below
		case c.Effect == plan.DeleteNodes:
			return "deleted, and all its nodes with it, at once and past its budgets"
		}
		if c.Kind == "LinodeNodeClass" {
			return "deleted; it goes when no node uses it any more"
		}
		parts = append(parts, "deleted")
	case plan.Forget:
		parts = append(parts, "no longer managed; the object stays as it is")
	case plan.Update:
		parts = append(parts, "updated")
	}
	if c.Prune == plan.CancelRemoval {
		parts = append(parts, "no longer condemned: it keeps the nodes that it has left")
	}
	if c.Previous != "" {
		parts = append(parts, "moved from "+v(c.Previous)+", the object stays")
	}
	switch {
	case c.Effect == plan.Roll && c.Partial:
		parts = append(parts, "replaces the nodes that do not match any more")
	case c.Effect == plan.Roll && c.Kind == "LinodeNodeClass":
		parts = append(parts, "replaces every node of the pools that use it")
	case c.Effect == plan.Roll && c.Outside:
		parts = append(parts, "replaces every node of the pool, which is not of this directory")
	case c.Effect == plan.Roll:
		parts = append(parts, "replaces every node of the pool")
	case c.Effect == plan.MayRemove && c.Kind == "NodePool":
		parts = append(parts, "its nodes stay as they are, and Karpenter may remove or replace them within the budgets")
	case c.Effect == plan.MayRemove:
		parts = append(parts, "Karpenter may remove or replace nodes for it")
	case c.Action == plan.Update && len(parts) == 1:
		parts[0] = "updated in place"
	case c.Action == plan.Forget:
		parts[0] += ", and so do its nodes"
	}
	if len(c.Because) > 0 {
		parts = append(parts, "because of "+v.list(c.Because))
	}
	return strings.Join(parts, "; ")
}

// Changed says of each object of a plan what happens to it, and how its fields turn, for people.
func Changed(p plan.Plan) (list []Turn) {
	for _, c := range p.Changes {
		t := Turn{Object: plainText(c.Addr), Effect: plainText.headline(c)}
		for _, f := range c.Fields {
			t.Fields = append(t.Fields, fieldPath(c.Block, f.Path)+" "+
				turned(valueText(f.Path, f.Before), valueText(f.Path, f.After)))
		}
		list = append(list, t)
	}
	return list
}

// Turn is what happens to one object.
type Turn struct {
	Object, Effect string
	Fields         []string
}

// effect says what the change of a field means.
func effect(f plan.Field) string {
	switch {
	case f.Effect == plan.Roll && f.Partial:
		return "rolls nodes that do not match"
	case f.Effect == plan.Roll:
		return "rolls nodes"
	case f.Effect == plan.InPlace:
		return "in place"
	case f.Effect == plan.DeleteNodes:
		return "deletes nodes"
	case f.Effect == plan.MayRemove:
		return "may remove nodes"
	}
	return "no effect"
}

// consequence says what happens to the nodes of a pool, and when; "" where
// nothing is known of it.
func (v escaper) consequence(im *plan.Impact) string {
	switch {
	case im == nil:
		return ""
	case !im.Known:
		return v.when(im.Pace)
	case im.Of == 0:
		return "the pool has no nodes"
	case im.Deleted > 0:
		return fmt.Sprintf("%d of %d nodes go at once", im.Deleted, im.Of) + besides(im)
	case im.Rolled == 0 && im.Removable > 0:
		return fmt.Sprintf("up to %d of %d nodes may be removed", im.Removable, im.Of)
	case im.Rolled == 0:
		return fmt.Sprintf("0 of %d nodes are replaced", im.Of)
	case im.Pace == nil:
		return fmt.Sprintf("%d of %d nodes %s%s", im.Rolled, im.Of, replaced(im), v.upgrade(im)) + besides(im)
	case im.Pace.Never:
		return fmt.Sprintf("%d of %d nodes would be %s%s, but %s", im.Rolled, im.Of, replaced(im), v.upgrade(im),
			v.when(im.Pace)) + besides(im)
	}
	text := fmt.Sprintf("%d of %d nodes %s%s, %d at a time", im.Rolled, im.Of, replaced(im), v.upgrade(im),
		min(im.Pace.Wave, im.Rolled))
	if im.Pace.Waves > 1 {
		text += fmt.Sprintf(", at least %d turns", im.Pace.Waves)
	}
	if hold := v.when(im.Pace); hold != "" {
		text += "; " + hold
	}
	return text + besides(im)
}

// besides says how many more nodes may be removed; "" if there are none.
func besides(im *plan.Impact) string {
	if im.Removable == 0 {
		return ""
	}
	return fmt.Sprintf("; up to %d more may be removed", im.Removable)
}

// replaced says what is done to nodes that roll.
func replaced(im *plan.Impact) string {
	if im.Elsewhere {
		return "given up"
	}
	return "replaced"
}

// upgrade says how the nodes' version of Kubernetes changes; "" if it stays.
func (v escaper) upgrade(im *plan.Impact) string {
	if im.Upgrade == "" {
		return ""
	}
	return " (Kubernetes " + v(im.Upgrade) + ")"
}

// when says that nodes have to wait, and for which budgets; "" where some may
// go now.
func (v escaper) when(p *plan.Pace) string {
	if p == nil || p.Now > 0 {
		return ""
	}
	budgets, let := "the budgets", "let"
	switch len(p.Closed) {
	case 0:
	case 1:
		budgets, let = "the budget "+v(p.Closed[0]), "lets"
	default:
		budgets += " " + v.list(p.Closed)
	}
	switch {
	case p.Never:
		return fmt.Sprintf("%s never %s a node go", budgets, let)
	case p.Next.IsZero():
		return "none may go now: those that leave already use up the budgets"
	}
	return fmt.Sprintf("%s %s none go before %s", budgets, let, clock(p.Next))
}

// progress says how far the nodes of a pool are what it asks for.
func (v escaper) progress(r plan.Rolling) string {
	var parts []string
	if r.Condemned != nil {
		parts = append(parts, fmt.Sprintf("condemned: %d of %d nodes are left, and it is deleted when it has none",
			r.Of, max(r.Of, r.Condemned.Nodes)))
		r.Outdated, r.Joining = r.Of, 0
		if r.Pace != nil && !r.Pace.Soonest(r.Of).IsZero() {
			parts = append(parts, "by its budgets the last goes at "+clock(r.Pace.Soonest(r.Of))+" at the soonest")
		}
	} else if r.Outdated > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d nodes are still to be replaced", r.Outdated, r.Of))
	}
	if r.Joining > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d have not joined yet", r.Joining, r.Of))
	}
	if text := v.when(r.Pace); text != "" && r.Outdated > 0 {
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// Progress says how far the nodes of a pool are, and each thing that holds them,
// for people.
func Progress(r plan.Rolling) (state string, holds []string) {
	return plainText.progress(r), plainText.obstacles(&plan.Impact{Holds: r.Holds})
}

// retaking is the command that takes back what others have set; "" where there is
// nothing, or the command is not known.
func retaking(p plan.Plan, apply []string) string {
	var words []string
	for _, c := range p.Changes {
		for _, found := range c.Conflicts {
			if found.Holder == "" {
				words = append(words, "--force-conflicts", c.Addr+":"+found.Path)
			}
		}
	}
	if len(words) == 0 || len(apply) < 2 {
		return ""
	}
	return ShellLine(slices.Concat(apply[:2], words, apply[2:])...)
}

// obstacles say what keeps the nodes of a pool, and what takes them past the
// budgets.
func (v escaper) obstacles(im *plan.Impact) (lines []string) {
	if im == nil {
		return nil
	}
	for _, h := range byWorkload(im.Holds) {
		switch nodes := diag.Counted(h.Nodes, "node"); h.Reason {
		case plan.HeldByPDB:
			lines = append(lines, nodes+" held by the PodDisruptionBudget "+v(h.Object)+", which allows no eviction")
		case plan.HeldByDoNotDisrupt:
			lines = append(lines, nodes+" held by karpenter.sh/do-not-disrupt on "+v(h.Object))
		case plan.NoOtherPlace:
			if strings.HasPrefix(h.Object, "pod ") {
				lines = append(lines, nodes+" held by the "+v(h.Object)+", which fits no other pool and no other node")
			} else {
				lines = append(lines, nodes+" held by "+v(h.Object)+", which fit no other pool and no other node")
			}
		case plan.NoRoom:
			lines = append(lines, "no node can be replaced: "+v(h.Object))
		default:
			lines = append(lines, nodes+" held: "+v(h.Object))
		}
	}
	switch {
	case im.Expiring == 1:
		lines = append(lines, "1 node expires within a week, whatever the budgets say")
	case im.Expiring > 1:
		lines = append(lines, fmt.Sprintf("%d nodes expire within a week, whatever the budgets say", im.Expiring))
	}
	return lines
}

// byWorkload puts the pods of one workload that hold nodes for one reason into one hold: 5 pods of Deployment shop/web.
func byWorkload(holds []plan.Held) (folded []plan.Held) {
	type key struct {
		reason   plan.HoldReason
		workload string
	}
	at, pods := map[key]int{}, map[key]int{}
	for _, h := range holds {
		k := key{h.Reason, h.Workload}
		i, seen := at[k]
		if h.Workload == "" || h.On == nil || !seen {
			at[k] = len(folded)
			pods[k] = 1
			folded = append(folded, h)
			continue
		}
		pods[k]++
		folded[i].Object = fmt.Sprintf("%d pods of %s", pods[k], h.Workload)
		on := slices.Concat(folded[i].On, h.On)
		slices.Sort(on)
		folded[i].On = slices.Compact(on)
		folded[i].Nodes = len(folded[i].On)
	}
	return folded
}

// conflict says why an apply is refused.
func (v escaper) conflict(c plan.Conflict) string {
	if c.Holder != "" {
		return "the NodePlan " + v(c.Holder) + " applies this object here, and nobody else; commit to its source"
	}
	return fmt.Sprintf("%s was set by %s to another value; apply refuses to take it over", v(c.Path), v(c.Owner))
}

// verdict says what a guard is about, the numbers that it went by, and why.
func (v escaper) verdict(d plan.Verdict) string {
	text := v(d.Guard)
	if d.Addr != "" {
		text += " of " + v(d.Addr)
	}
	switch {
	case d.Limit != "" && d.Actual != "":
		text += fmt.Sprintf(": at most %s, is %s", v(d.Limit), v(d.Actual))
	case d.Limit != "":
		text += ": at most " + v(d.Limit)
	case d.Actual != "":
		text += ": is " + v(d.Actual)
	}
	if d.Detail != "" && d.Status != plan.Passed {
		text += ". " + v(d.Detail)
	}
	if d.Permission != "" && (d.Status == plan.Blocked || d.Status == plan.Waiting) {
		text += " To let it pass: " + v("--allow "+d.Permission)
	}
	return text
}

// consequenceOf says what happens to the nodes of all objects of an entry.
func (v escaper) consequenceOf(e entry) string {
	im := e.Impacts()
	if im != nil && im.Known && im.Of > 0 && im.Rolled+im.Removable+im.Deleted == 0 && !disruptive(e.Effect) {
		return "" // the sum says that no node is replaced
	}
	if len(e.More) == 0 || im == nil || !im.Known {
		return v.consequence(im)
	}
	text := fmt.Sprintf("of all %d together, ", 1+len(e.More))
	switch {
	case im.Deleted > 0:
		return text + fmt.Sprintf("%d of %d nodes go at once", im.Deleted, im.Of) + besides(im)
	case im.Rolled == 0 && im.Removable > 0:
		return text + fmt.Sprintf("up to %d of %d nodes may be removed", im.Removable, im.Of)
	case im.Rolled == 0:
		return text + fmt.Sprintf("0 of %d nodes are replaced", im.Of)
	}
	text += fmt.Sprintf("%d of %d nodes are %s", im.Rolled, im.Of, replaced(im))
	if hold := v.when(im.Pace); hold != "" {
		text += "; " + hold
	}
	return text + besides(im)
}

// mostNamed objects with the same change are named in their entry.
const mostNamed = 8

// others says how many more objects an entry is about; "" where there are none.
func (v escaper) others(e entry) string {
	switch {
	case len(e.More) == 0:
		return ""
	case len(e.More) <= mostNamed:
		return "and in the same way " + v.list(addresses(e.More))
	}
	return fmt.Sprintf("and %d more in the same way, listed with --all", len(e.More))
}

func addresses(changes []plan.Change) []string {
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = c.Addr
	}
	return names
}

// at is the place of something in the source, in the form that editors follow;
// "" where that is not known.
func at(r hcl.Range) string {
	if r.Filename == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", diag.OneLine(r.Filename), r.Start.Line)
}

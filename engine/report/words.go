package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// escaper writes text from the configuration or the cluster, such as names, addresses and paths, in the way that a
// format needs.
type escaper func(string) string

// plainText only replaces control characters.
var plainText escaper = diag.OneLine

// list joins names with commas.
func (v escaper) list(names []string) string { return text.Quoted(names, v) }

// versus names the two compared revisions, the reason for the base, and the revision that guards come from; "" if they
// are unknown. The working directory is not named.
func (v escaper) versus(r Report) string {
	text := ""
	if head := r.Head.String(); head != "" && head != "." {
		text = v(head) + " "
	}
	if r.Base.Kind != "" {
		text += "compared with " + v.revision(r.Base)
	}
	if r.Rules.Kind != "" {
		text = strings.TrimSpace(text) + ". The guards and policies come from " + v.revision(r.Rules) + "."
	}
	return strings.TrimSpace(text)
}

// revision names a revision, with the short form of the reason why it was chosen. Only the JSON has what follows a
// comma in the reason, the origin of the branch's name. What follows a semicolon, the base's gaps, is kept.
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

// isDisruptive reports whether nodes are replaced, removed or deleted, or may be.
func isDisruptive(e plan.Effect) bool {
	return e == plan.Roll || e == plan.DeleteNodes || e == plan.MayRemove
}

// headline summarizes what happens to the nodes of all pools.
func headline(r Report) string {
	s := r.Summary()
	nodes := func(n plan.Count) string {
		if !n.Known || n.Nodes == 0 {
			return "nodes"
		}
		return text.Count(n.Nodes, "node")
	}
	var parts []string
	moves := "may remove"
	if s.Exact {
		moves = "has Karpenter remove or replace"
	}
	for _, part := range []struct {
		verb  string
		pools int
		nodes plan.Count
	}{
		{"deletes", len(s.Deleted), s.NodesDeleted}, {"replaces", len(s.Replaced()), s.NodesRolled},
		{"drains", len(s.Condemned), s.NodesDrained}, {moves, len(s.Removable) - len(s.Unseen), s.NodesRemovable},
	} {
		if part.pools > 0 && part.nodes.Some() {
			parts = append(parts, fmt.Sprintf("%s %s of %s", part.verb, nodes(part.nodes), text.Count(part.pools, "pool")))
		}
	}
	if len(s.Unseen) > 0 {
		parts = append(parts, "may remove nodes of unknown pools")
	}
	if len(parts) == 0 && !r.Empty() {
		parts = append(parts, "no nodes are replaced or deleted")
	}
	if w := r.Workloads; w != nil && w.LostPods() > 0 {
		parts = append(parts, text.Count(w.LostPods(), "pod")+" newly unschedulable")
	}
	if s.Conflicts > 0 {
		parts = append(parts, text.Count(s.Conflicts, "field")+" set by other owners")
	}
	if n := r.failed(); n > 0 {
		parts = append(parts, fmt.Sprintf("no plan for %d of %d directories", n, len(r.Parts)))
	}
	if r.Repriced {
		parts = append(parts, "the price catalogue changes")
	}
	if rules := r.judged(plan.Changed); len(rules) > 0 {
		parts = append(parts, "changed: "+strings.Join(rules, ", "))
	}
	if len(parts) == 0 {
		return "no changes"
	}
	return strings.Join(parts, ", ")
}

// countActions counts the objects by action.
func countActions(s plan.Summary) string {
	text := fmt.Sprintf("%d to create, %d to update, %d to delete", s.Create, s.Update, s.Delete)
	if s.Move > 0 {
		text += fmt.Sprintf(", %d moved", s.Move)
	}
	if s.Forget > 0 {
		text += fmt.Sprintf(", %d no longer managed", s.Forget)
	}
	return text
}

// headline summarizes what happens to an object and its nodes.
func (v escaper) headline(c plan.Change) string {
	var parts []string
	switch c.Action {
	case plan.Create:
		parts = append(parts, "created")
	case plan.Delete:
		switch {
		case c.Prune == plan.StartRemoval:
			return "draining: no new nodes; its nodes drain within the disruption budgets, then the pool is deleted"
		case c.Prune == plan.Drained:
			return "deleted; all its nodes have drained"
		case c.Effect == plan.DeleteNodes && c.Impact != nil && c.Impact.Known && c.Impact.Of == 0:
			return "deleted" // the consequence says that it has no nodes
		case c.Effect == plan.DeleteNodes:
			return "deleted immediately with all its nodes; disruption budgets do not apply"
		}
		if c.Kind == "LinodeNodeClass" {
			return "deleted once no node uses it"
		}
		parts = append(parts, "deleted")
	case plan.Forget:
		parts = append(parts, "no longer managed; the object stays unchanged")
		if c.Effect == plan.Roll && c.Released != nil {
			parts = []string{"no longer managed; the object stays without the budget of a first wave"}
		}
	case plan.Update:
		parts = append(parts, "updated")
	}
	if c.Prune == plan.CancelRemoval {
		parts = append(parts, "removal canceled: the pool keeps its remaining nodes")
	}
	if c.Previous != "" {
		parts = append(parts, "moved from "+v(c.Previous)+"; the object stays")
	}
	switch {
	case c.Effect == plan.Roll && c.Partial:
		parts = append(parts, "replaces the nodes that no longer match")
	case c.Effect == plan.Roll && c.Kind == "LinodeNodeClass":
		parts = append(parts, "replaces every node of the pools that use it")
	case c.Effect == plan.Roll && c.Outside:
		parts = append(parts, "replaces every node of the pool, which this directory does not manage")
	case c.Effect == plan.Roll:
		parts = append(parts, "replaces every node of the pool")
	case c.Effect == plan.MayRemove && c.Kind == "NodePool":
		parts = append(parts, "Karpenter may remove or replace its nodes, within the disruption budgets of the pool")
	case c.Effect == plan.MayRemove:
		parts = append(parts, "Karpenter may remove or replace nodes")
	case c.Action == plan.Update && len(parts) == 1:
		parts[0] = "updated in place"
		if c.Relabels && !c.LeavesInPlace() {
			parts = append(parts, "0 nodes are replaced")
		}
	case c.Action == plan.Forget:
		parts[0] += " and keeps its nodes"
	}
	text := strings.Join(parts, "; ")
	if len(c.Because) > 0 {
		text += ", because of " + v.list(c.Because)
	}
	return text
}

// Changed describes for a status what happens to the first objects of a plan, and to the first fields of each.
func Changed(p plan.Plan, objects, fields int) (list []lkeplanv1alpha1.PlannedChange) {
	for _, c := range p.Changes[:min(len(p.Changes), objects)] {
		shown := c.Fields[:min(len(c.Fields), fields)]
		t := lkeplanv1alpha1.PlannedChange{
			Object: plainText(c.Addr), Effect: plainText.headline(c), FieldsLeftOut: len(c.Fields) - len(shown),
		}
		for _, f := range shown {
			t.Fields = append(t.Fields, fieldPath(c.Block, f.Path)+" "+beforeAndAfter(fieldValues(f)))
		}
		list = append(list, t)
	}
	return list
}

// fieldEffect describes what the change of a field does to nodes.
func fieldEffect(f plan.Field) string {
	switch {
	case f.Effect == plan.Roll && f.Partial:
		return "replaces nodes that do not match"
	case f.Effect == plan.Roll:
		return "replaces nodes"
	case f.Effect == plan.InPlace:
		return "in place"
	case f.Effect == plan.DeleteNodes:
		return "deletes nodes"
	case f.Effect == plan.MayRemove:
		return "may remove nodes"
	}
	return "no effect"
}

// consequence describes what happens to the nodes of a pool, and when; "" if that is unknown.
func (v escaper) consequence(im *plan.Impact) string {
	switch {
	case im == nil:
		return ""
	case !im.Known:
		return im.Pace.Waiting(v)
	case im.Of == 0:
		return "the pool has no nodes"
	case im.Deleted > 0 || im.Rolled == 0:
		return nodesThatStay(im, fmt.Sprintf("%d nodes", im.Of))
	case im.Pace == nil:
		return fmt.Sprintf("%d of %d nodes %s%s", im.Rolled, im.Of, rollVerb(im), v.upgrade(im)) + alsoRemovable(im)
	case im.Pace.Never:
		return fmt.Sprintf("%d of %d nodes would be %s%s, but %s", im.Rolled, im.Of, rollVerb(im), v.upgrade(im),
			im.Pace.Waiting(v)) + alsoRemovable(im)
	}
	text := fmt.Sprintf("%d of %d nodes %s%s, %d at a time", im.Rolled, im.Of, rollVerb(im), v.upgrade(im),
		min(im.Pace.Wave, im.Rolled))
	if im.Pace.Waves > 1 {
		text += fmt.Sprintf(", in at least %d batches", im.Pace.Waves)
	}
	if hold := im.Pace.Waiting(v); hold != "" {
		text += "; " + hold
	}
	return text + alsoRemovable(im)
}

// nodesThatStay describes what happens to nodes of which none is replaced.
func nodesThatStay(im *plan.Impact, nodes string) string {
	switch {
	case im.Deleted > 0:
		return fmt.Sprintf("%d of %s are deleted immediately", im.Deleted, nodes) + alsoRemovable(im)
	case im.Exact():
		return fmt.Sprintf("Karpenter removes or replaces %d of %s", im.Removable, nodes)
	case im.Removable > 0:
		return fmt.Sprintf("up to %d of %s may be removed", im.Removable, nodes)
	case im.Relabeled > 0:
		return fmt.Sprintf("0 of %s are replaced; labels or annotations change on %d nodes in place", nodes, im.Relabeled)
	}
	return fmt.Sprintf("0 of %s are replaced", nodes)
}

// alsoRemovable counts the other nodes that may be removed; "" if there are none.
func alsoRemovable(im *plan.Impact) string {
	switch {
	case im.Removable == 0:
		return ""
	case im.Exact():
		return fmt.Sprintf("; Karpenter removes or replaces %d more", im.Removable)
	}
	return fmt.Sprintf("; up to %d more may be removed", im.Removable)
}

// mostMoves is how many nodes that Karpenter moves are named for a pool.
const mostMoves = 10

// moves returns the nodes of pools that Karpenter removes or replaces because other capacity is cheaper or has room.
func (v escaper) moves(im *plan.Impact) (list []string) {
	if im == nil {
		return nil
	}
	for i, m := range im.Moves {
		if i == mostMoves {
			return append(list, fmt.Sprintf("and %d more nodes", len(im.Moves)-i))
		}
		list = append(list, fmt.Sprintf("node %s (%s): %s", v(m.Node), v(m.Plan), v.move(m)))
	}
	return list
}

// move returns what happens to a node that Karpenter moves.
func (v escaper) move(m plan.Move) string {
	sentence := "removed, because its pods fit on other nodes"
	if len(m.To) > 0 {
		sentence = "replaced by " + v.list(m.To)
	}
	sentence += "; " + text.Count(m.Pods, "pod") + " moved"
	switch {
	case m.Saves > 0:
		sentence += fmt.Sprintf("; saves %s a month", m.Saves.Text())
	case m.Saves < 0: // an overlay has other prices
		sentence += fmt.Sprintf("; costs %s more a month", (-m.Saves).Text())
	}
	if m.When != "" {
		sentence += "; " + m.When
	}
	return sentence
}

// Moves describes for a status the first nodes that Karpenter moves because of a plan.
func Moves(p plan.Plan, most int) (list []lkeplanv1alpha1.PlannedMove) {
	for _, c := range p.Changes {
		if c.Impact == nil {
			continue
		}
		because := c.Because
		if len(because) == 0 {
			because = []string{c.Addr}
		}
		for _, m := range c.Impact.Moves[:min(len(c.Impact.Moves), most-len(list))] {
			list = append(list, lkeplanv1alpha1.PlannedMove{
				NodeClaim: m.Node, Node: m.NodeName, Effect: "because of " + plainText.list(because) + ": " + plainText.move(m),
			})
		}
	}
	return list
}

// rollVerb returns the verb for nodes that roll.
func rollVerb(im *plan.Impact) string {
	if im.Elsewhere {
		return "drained"
	}
	return "replaced"
}

// upgrade describes how the Kubernetes version of the nodes changes; "" if it stays.
func (v escaper) upgrade(im *plan.Impact) string {
	if im.Upgrade == "" {
		return ""
	}
	return " (Kubernetes " + v(im.Upgrade) + ")"
}

// retakeCommand returns the command that overwrites what others have set; "" if there are no conflicts, or the command
// is unknown.
func retakeCommand(p plan.Plan, apply []string) string {
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
	return diag.ShellLine(slices.Concat(apply[:2], words, apply[2:])...)
}

// conflict explains why an apply is refused.
func (v escaper) conflict(c plan.Conflict) string {
	if c.Holder != "" {
		return "only the NodePlan " + v(c.Holder) + " can apply this object in this cluster; commit to its source"
	}
	return fmt.Sprintf("%s was set by %s to another value; apply does not overwrite it", v(c.Path), v(c.Owner))
}

// verdict names a guard that did not pass, and the reason. The reason names the limit, if the number is known.
func (v escaper) verdict(d plan.Verdict) string {
	text := v(d.Guard)
	switch {
	case d.Addr == "" || strings.Contains(d.Detail, d.Addr):
	case d.Guard == plan.Frozen: // its address is a name
		text += " " + v(d.Addr)
	default:
		text += " for " + v(d.Addr)
	}
	if d.Limit != "" && d.Actual == "" {
		text += " (limit " + v(d.Limit) + ")"
	}
	if d.Detail != "" {
		text += ": " + v(d.Detail)
	}
	if d.Permission != "" && (d.Status == plan.Blocked || d.Status == plan.Waiting) {
		text += " To allow it: " + v(diag.ShellLine("--allow", d.Permission))
	}
	return text
}

// consequenceOf describes what happens to the nodes of all objects of an entry.
func (v escaper) consequenceOf(e entry) string {
	im := e.Impacts()
	if im != nil && im.Known && im.Of > 0 && im.Rolled+im.Removable+im.Deleted == 0 && !isDisruptive(e.Effect) {
		return "" // the summary reports that no nodes are replaced
	}
	if len(e.More) == 0 || im == nil || !im.Known {
		return v.consequence(im)
	}
	nodes := fmt.Sprintf("the %d nodes of these %d objects", im.Of, 1+len(e.More))
	if im.Deleted > 0 || im.Rolled == 0 {
		return nodesThatStay(im, nodes)
	}
	text := fmt.Sprintf("%d of %s are %s", im.Rolled, nodes, rollVerb(im))
	if hold := im.Pace.Waiting(v); hold != "" {
		text += "; " + hold
	}
	return text + alsoRemovable(im)
}

// mostNamed is how many objects with the same change are named in their entry.
const mostNamed = 8

// furtherObjects names or counts the further objects of an entry; "" if there are none.
func (v escaper) furtherObjects(e entry) string {
	switch {
	case len(e.More) == 0:
		return ""
	case len(e.More) <= mostNamed:
		return "with the same change: " + v.list(changeAddresses(e.More))
	}
	return fmt.Sprintf("%d more objects have the same change; --all lists them", len(e.More))
}

func changeAddresses(changes []plan.Change) []string {
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = c.Addr
	}
	return names
}

// sourcePlace returns a place in the source, as FILE:LINE; "" if it is unknown. Path is that of Options.
func sourcePlace(r diag.Range, path func(string) string) string {
	if r.IsZero() {
		return ""
	}
	if path != nil {
		r.Filename = path(r.Filename)
	}
	return fmt.Sprintf("%s:%d", diag.OneLine(r.Filename), r.Start.Line)
}

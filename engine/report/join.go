package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Join merges the reports of several directories, in their order. Addresses become DIRECTORY:ADDRESS, and numbers and
// costs are summed. Unreached are directories that were not compiled, because the change does not affect them.
func Join(reports []Report, unreached []string) Report {
	sum := Report{Parts: reports, Unreached: unreached}
	sum.Head = plan.Revision{Kind: "dir", Ref: countDirectories(len(reports))}
	for _, r := range reports {
		sum.add(r)
	}
	counted := onePerCluster(reports)
	sum.Current = currentCost(counted)
	for _, r := range counted {
		sum.Nodes += r.Nodes
	}
	for i, r := range reports {
		switch {
		case i == 0:
			sum.Base = r.Base
		case r.Base.Kind != sum.Base.Kind || r.Base.Ref != sum.Base.Ref:
			sum.Base = plan.Revision{}
			return sum
		case r.Base.Why != sum.Base.Why:
			sum.Base.Why = ""
		}
	}
	return sum
}

func countDirectories(n int) string {
	if n == 1 {
		return "1 directory"
	}
	return fmt.Sprintf("%d directories", n)
}

// joined reports whether it is a report of several directories.
func (r Report) joined() bool { return len(r.Parts)+len(r.Unreached) > 0 }

// add adds the report of a part.
func (r *Report) add(part Report) {
	in := func(addr string) string { return part.Directory + ":" + addr }
	for _, c := range part.Changes {
		c.Addr, c.Because = in(c.Addr), slices.Clone(c.Because)
		if c.Previous != "" {
			c.Previous = in(c.Previous)
		}
		for i := range c.Because {
			c.Because[i] = in(c.Because[i])
		}
		r.Changes = append(r.Changes, c)
	}
	for _, d := range part.Drift {
		d.Addr = in(d.Addr)
		r.Drift = append(r.Drift, d)
	}
	for _, v := range part.Verdicts {
		v.Addr = strings.TrimSuffix(in(v.Addr), ":")
		if v.Permission != "" {
			v.Permission = in(v.Permission)
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	for _, rolling := range part.Rolling {
		rolling.Addr = in(rolling.Addr)
		r.Rolling = append(r.Rolling, rolling)
	}
	r.Repriced = r.Repriced || part.Repriced
	for _, text := range part.Notes {
		r.Notes = append(r.Notes, part.Directory+": "+text)
	}
	if part.Workloads != nil {
		r.addWorkloads(part, in)
	}
	r.addDiagnostics(part)
	r.Before, r.After = r.Before.Plus(part.Before), r.After.Plus(part.After)
	r.Now, r.Incomplete = part.Now, r.Incomplete || part.Incomplete
}

// addWorkloads adds the simulated pods of a part. In returns the names of its pools and workloads.
func (r *Report) addWorkloads(part Report, in func(string) string) {
	if r.Workloads == nil {
		r.Workloads = &plan.Workloads{}
	}
	sum, w := r.Workloads, part.Workloads
	sum.Pods, sum.Before, sum.After = sum.Pods+w.Pods, sum.Before.Plus(w.Before), sum.After.Plus(w.After)
	for _, t := range w.PlanTypes {
		t.Pool = in(t.Pool)
		sum.PlanTypes = append(sum.PlanTypes, t)
	}
	for _, l := range w.Lost {
		l.Workload, l.Reasons = in(l.Workload), slices.Clone(l.Reasons)
		sum.Lost = append(sum.Lost, l)
	}
	for _, s := range w.Costs {
		i := slices.IndexFunc(sum.Costs, func(c plan.CostShare) bool { return c.Name == s.Name && c.By == s.By })
		if i < 0 {
			sum.Costs = append(sum.Costs, s)
			continue
		}
		sum.Costs[i].Before, sum.Costs[i].After = sum.Costs[i].Before+s.Before, sum.Costs[i].After+s.After
	}
	for _, text := range w.Missing {
		sum.Missing = append(sum.Missing, part.Directory+": "+text)
	}
	for _, text := range w.Notes {
		sum.Notes = append(sum.Notes, part.Directory+": "+text)
	}
	r.Picture += template.HTML("<h2>"+template.HTMLEscapeString(plainText(part.Directory))+"</h2>\n") + part.Picture
}

// addDiagnostics adds the diagnostics that no previous part has: each directory that calls a module repeats those of
// the module.
func (r *Report) addDiagnostics(part Report) {
	found := part.Diagnostics
	if isError := func(d diag.Diagnostic) bool { return d.Severity == "error" }; part.Failed != "" &&
		!slices.ContainsFunc(found, isError) {
		text := part.Directory + ": " + part.Failed
		found = append(slices.Clip(found),
			diag.Diagnostic{Severity: "error", Rule: "no-plan", Summary: "No plan", Detail: diag.Visible(text)})
	}
	for _, d := range found {
		same := func(other diag.Diagnostic) bool {
			at := d.Range == nil && other.Range == nil || d.Range != nil && other.Range != nil && *d.Range == *other.Range
			return at && d.Severity == other.Severity && d.Summary == other.Summary && d.Detail == other.Detail
		}
		if !slices.ContainsFunc(r.Diagnostics, same) {
			r.Diagnostics = append(r.Diagnostics, d)
		}
	}
}

// onePerCluster leaves out parts whose nodes another part with a plan has counted.
func onePerCluster(parts []Report) (counted []Report) {
	seen := map[string]bool{}
	for _, p := range parts {
		if p.Failed != "" || p.Cluster == "" || !seen[p.Cluster] {
			counted = append(counted, p)
			seen[p.Cluster] = seen[p.Cluster] || p.Failed == ""
		}
	}
	return counted
}

// currentCost returns the cost of the live nodes of all parts; nil if that of one part is unknown.
func currentCost(parts []Report) *catalog.Money {
	var sum catalog.Money
	for _, p := range parts {
		if p.Current == nil {
			return nil
		}
		sum += *p.Current
	}
	return &sum
}

// failed counts the directories without a plan.
func (r Report) failed() (n int) {
	for _, part := range r.Parts {
		if part.Failed != "" {
			n++
		}
	}
	return n
}

// unchanged returns the directories in which nothing changes.
func (r Report) unchanged() (names []string) {
	for _, part := range r.Parts {
		if part.Failed == "" && part.quiet() {
			names = append(names, part.Directory)
		}
	}
	return names
}

// quiet reports whether a directory has nothing to report.
func (r Report) quiet() bool {
	return r.Empty() && !r.Refused() && !r.rulesChange() && !r.Repriced && len(r.Drift)+len(r.Rolling) == 0
}

// rulesChange reports whether guards, policies or the cluster of the directory change.
func (r Report) rulesChange() bool {
	return slices.ContainsFunc(r.Verdicts, func(v plan.Verdict) bool { return v.Status == plan.Changed })
}

// part is a directory in the overview of several.
type part struct{ Directory, Objects, Nodes, Cost, Status string }

// overview has a row for each directory with something to report.
func (r Report) overview() (rows []part) {
	for _, p := range r.Parts {
		row := part{Directory: p.Directory, Objects: countActions(p.Summary()), Nodes: headline(p)}
		switch {
		case p.Failed != "":
			row = part{Directory: p.Directory, Objects: "no plan", Nodes: plainText(p.Failed), Status: "error"}
		case p.quiet():
			continue
		case p.Refused():
			row.Status = "refused"
		case p.Summary().Conflicts > 0:
			row.Status = text.Count(p.Summary().Conflicts, "conflict")
		}
		if p.Failed == "" {
			row.Cost = ceilingsText(&p.Before, &p.After)
		}
		rows = append(rows, row)
	}
	return rows
}

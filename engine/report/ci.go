package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// mostAnnotations of each severity are shown by GitHub for a step.
const mostAnnotations = 10

// GitHub writes the findings as workflow commands for a GitHub Actions runner, worst first, and not more than GitHub
// shows.
func GitHub(w io.Writer, r Report, _ Options) error {
	var shown []diag.Diagnostic
	left := map[string]int{"error": mostAnnotations, "warning": mostAnnotations}
	hidden := 0
	for _, f := range reviewFindings(r) {
		left[f.Severity]--
		if left[f.Severity] < 0 {
			hidden++
			continue
		}
		shown = append(shown, f)
	}
	if err := diag.GitHub(w, shown); err != nil || hidden == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "::notice title=lkeplan::%s more in the summary\n", text.Count(hidden, "finding"))
	return err
}

// GitHubOutput writes the outputs of a step, for later steps to act on. It is to
// be appended to $GITHUB_OUTPUT. If a directory has no plan, all but the exit code
// are empty.
func GitHubOutput(w io.Writer, r Report, _ Options) error {
	s := r.Summary()
	simulatedDelta, lost := simulatedEffect(r.Workloads)
	lists := func(addrs []string) string {
		text, _ := json.Marshal(append([]string{}, addrs...)) // text can always be marshalled
		return string(text)
	}
	var b strings.Builder
	for _, output := range [][2]string{
		{"changes", fmt.Sprint(s.Create + s.Update + s.Delete + s.Move + s.Forget)},
		{"adds", fmt.Sprint(s.Create)}, {"updates", fmt.Sprint(s.Update)},
		{"destroys", fmt.Sprint(s.Delete)}, {"moves", fmt.Sprint(s.Move)},
		{"nodes_rolled", s.NodesRolled.String()}, {"nodes_deleted", s.NodesDeleted.String()},
		{"nodes_drained", s.NodesDrained.String()}, {"nodes_removable", s.NodesRemovable.String()},
		{"pools_rolled", lists(s.Rolled)}, {"pools_deleted", lists(s.Deleted)},
		{"pools_condemned", lists(s.Condemned)}, {"pools_removable", lists(s.Removable)},
		{"guards_unknown", lists(r.uncounted())},
		{"cost_delta", costDelta(r)}, {"simulated_cost_delta", simulatedDelta}, {"pods_unschedulable", lost},
		{"conflicts", fmt.Sprint(s.Conflicts)}, {"refused", fmt.Sprint(r.Refused())},
		{"plan_digest", r.Digest}, {"exit_code", fmt.Sprint(r.ExitCode)},
	} {
		if r.Incomplete && output[0] != "exit_code" {
			output[1] = ""
		}
		// Values are one line, so that none can end itself and begin another.
		fmt.Fprintf(&b, "%s=%s\n", output[0], diag.OneLine(output[1]))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// simulatedEffect returns how much more the nodes of the simulated pods cost, and how many pods become unschedulable;
// "" if none are simulated, or some may be missing.
func simulatedEffect(w *plan.Workloads) (costDelta, lost string) {
	if w == nil || len(w.Missing) > 0 {
		return "", ""
	}
	return (w.After.Monthly - w.Before.Monthly).String(), fmt.Sprint(w.LostPods())
}

// costDelta is by how much the maximum cost of all pools changes; "" if it has no limit or is unknown.
func costDelta(r Report) string {
	if !r.Before.Ceiling.Known() || !r.After.Ceiling.Known() {
		return ""
	}
	return plan.Amount(r.After.Ceiling.Monthly - r.Before.Ceiling.Monthly).String()
}

// GitLabCodeQuality writes the findings for
// artifacts:reports:codequality.
func GitLabCodeQuality(w io.Writer, r Report, _ Options) error {
	return diag.CodeQuality(w, reviewFindings(r), func(d diag.Diagnostic) string {
		switch {
		case d.Severity == "error":
			return "blocker"
		case d.Rule == deletesNodes:
			return "critical"
		case d.Rule == rollsNodes, d.Rule == mayRemoveNodes:
			return "major"
		}
		return "minor"
	})
}

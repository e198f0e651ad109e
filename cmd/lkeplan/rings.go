package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/workqueue"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/rings"
)

const ringsHelp = `Show which clusters have applied a commit. A ring is a group of clusters. The rings
block of a directory lists the rings in order: a ring gets a commit after all
clusters of the previous ring have proven it. A cluster has proven a commit if the
commit is applied and its objects were ready for the soak time of the ring (a time
that the rings block sets).

For each cluster, the table shows the applied commit, the time at which its objects
became ready, and what the cluster is waiting for. NAME is the name of the
NodePlan, the object that applies commits in a cluster. It must have the same name
in all clusters. Without DIR, the command reads the working directory.

In your kubeconfig, the command uses the context that has the name of the cluster.
To use other contexts, set --contexts. If a cluster cannot be read, its
state is unknown.

A cluster has one of these states:

  proven    the commit is applied, and its objects were ready for the soak time
  soaking   the commit is applied and its objects are ready, but not yet for the
            soak time
  working   the cluster is applying the commit or replacing nodes, or waits for
            an approval or for a window (a time in which changes are allowed)
  waiting   the cluster waits for the previous ring
  behind    the cluster has not seen the commit
  notready  the NodePlan has an error
  failed    the rollout of the commit was stopped or rolled back
  stopped   the NodePlan is suspended, is being deleted, or applies nothing
            because its mode is PlanOnly
  mismatch  the context belongs to another cluster, or the rings that the
            cluster uses for the commit differ from the rings in this directory
  unknown   the cluster cannot be read

You need permission to get the NodePlan in each cluster.`

// wholeCommit matches a commit, and a revision of Flux, such as main@sha1:1f2c...
var wholeCommit = regexp.MustCompile(`^(?:.*:)?(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// ringsSettings are the flags of the command.
type ringsSettings struct {
	from     nodePlanFlags // the context differs from cluster to cluster
	src      source
	contexts map[string]string
	commit   string
	output   flags.Choice
}

func newRings(env *flags.Env) *cobra.Command {
	s := ringsSettings{output: flags.Choice{Value: "text", Of: []string{"text", "json", "markdown"}}}
	cmd := &cobra.Command{
		Use:   "rings NAME [DIR]",
		Short: "Show which clusters have applied a commit",
		Long:  ringsHelp,
		Example: `  lkeplan rings prod clusters/eu-1
  lkeplan rings prod clusters/eu-1 --contexts dev=lke1-ctx,eu-1=lke2-ctx
  lkeplan rings prod clusters/eu-1 --commit "$GITHUB_SHA" -o markdown`,
		Args: flags.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), env, args) },
	}
	s.src.Flags(cmd)
	flags.KubeconfigFlags(cmd, env, &s.from.access)
	cmd.Flags().StringVarP(&s.from.namespace, "namespace", "n", "",
		"`NAMESPACE` of the NodePlan (default: that of each context)")
	cmd.Flags().StringToStringVar(&s.contexts, "contexts", nil,
		"use CONTEXT for CLUSTER: `CLUSTER=CONTEXT,...` (default: the context with the name of the cluster)")
	cmd.Flags().Lookup("contexts").DefValue = "" // else pflag appends "(default [])" to the default in the text
	cmd.Flags().StringVar(&s.commit, "commit", "",
		"show the progress of `COMMIT`, a full SHA (default: the commit that the first ring attempted last)")
	s.output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	return cmd
}

func (s *ringsSettings) run(ctx context.Context, env *flags.Env, args []string) error {
	if s.commit != "" && !wholeCommit.MatchString(s.commit) {
		return fmt.Errorf("--commit %s: write all digits of the commit, as git rev-parse HEAD prints them", s.commit)
	}
	fsys, opts, err := s.src.Directory(ctx, args[1:])
	if err != nil {
		return err
	}
	compiled, diags := compile.Dir(ctx, fsys, opts)
	if err := flags.Report(env, compiled, diags); err != nil {
		return err
	}
	if len(compiled.Rings) == 0 {
		return fmt.Errorf("%s declares no rings; name a directory with a rings block", append(args[1:], ".")[0])
	}
	if err := s.checkContexts(compiled.Rings); err != nil {
		return err
	}
	found := ringProgress{NodePlan: args[0]}
	peers := s.read(ctx, args[0], compiled.Rings)
	if err := ctx.Err(); err != nil { // an interrupted read does not make a cluster unknown
		return err
	}
	rev, known := rings.Newest(compiled.Rings, peers)
	if s.commit != "" {
		commit := rings.CommitOf(s.commit, "")
		rev = rings.Revision{Commit: commit, Artifact: commit, Rings: rings.Digest(compiled.Rings)}
	} else if !known {
		found.Note = "no cluster reports a revision"
	}
	found.Commit, found.Clusters = rev.Commit, rings.Rows(compiled.Rings, rev, peers)
	return printAs(env, s.output.Value, found, found.markdown(), found.text)
}

// checkContexts reports a cluster of --contexts that is in no ring.
func (s *ringsSettings) checkContexts(order []config.Ring) error {
	for _, cluster := range slices.Sorted(maps.Keys(s.contexts)) {
		if _, found := rings.Of(order, cluster); !found {
			return fmt.Errorf("--contexts %s=%s: no ring has the cluster %q", cluster, s.contexts[cluster], cluster)
		}
	}
	return nil
}

// clustersAtOnce is how many clusters are read in parallel.
const clustersAtOnce = 32

// read reads the NodePlan of each cluster.
func (s *ringsSettings) read(ctx context.Context, name string, order []config.Ring) map[string]rings.Peer {
	var clusters []string
	for _, ring := range order {
		clusters = append(clusters, ring.Clusters...)
	}
	found := make([]rings.Peer, len(clusters))
	workqueue.ParallelizeUntil(ctx, clustersAtOnce, len(clusters), func(i int) {
		from := s.from
		from.access.Context = cmp.Or(s.contexts[clusters[i]], clusters[i])
		_, np, err := from.get(ctx, name)
		if found[i].NodePlan = np; err != nil {
			found[i] = rings.Peer{Unknown: err.Error()}
		}
	})
	peers := map[string]rings.Peer{}
	for i, cluster := range clusters {
		peers[cluster] = found[i]
	}
	return peers
}

// ringProgress is the result, and the JSON output.
type ringProgress struct {
	NodePlan string      `json:"nodeplan"`
	Commit   string      `json:"commit,omitempty"` // that the states are about; absent if no cluster reports one
	Note     string      `json:"note,omitempty"`
	Clusters []rings.Row `json:"clusters"`
}

// title names the NodePlan and the commit.
func (r ringProgress) title() string {
	if r.Note != "" {
		return fmt.Sprintf("NodePlan %s: %s", r.NodePlan, r.Note)
	}
	return fmt.Sprintf("NodePlan %s, commit %s", r.NodePlan, rings.Short(r.Commit))
}

// ringTitles are the columns.
var ringTitles = []string{"RING", "CLUSTER", "STATE", "APPLIED", "READY SINCE"}

// cells are the columns of a cluster.
func cells(row rings.Row) []string {
	applied, since := "-", "-"
	if row.Applied != "" {
		applied = rings.Short(row.Applied)
	}
	if row.ReadySince != nil {
		since = momentText(*row.ReadySince)
	}
	return []string{row.Ring, row.Cluster, strings.ToLower(string(row.State)), applied, since}
}

// text writes a table with the message of each cluster below its line.
func (r ringProgress) text(p *diag.Page) {
	p.Line(0, "%s", r.title())
	p.Break()
	rows := [][]string{ringTitles}
	for _, row := range r.Clusters {
		rows = append(rows, cells(row))
	}
	for i, line := range diag.Columns(rows) {
		if p.Line(0, "%s", line); i > 0 {
			p.Words(2, r.Clusters[i-1].Message)
		}
	}
}

// markdown is a comment for a pull request. The first line is a marker by which a bot finds its comment again.
func (r ringProgress) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- lkeplan:%s:v1 -->\n### lkeplan: %s\n\n", report.Marker("rings/"+r.NodePlan),
		report.HTMLEntities(r.title()))
	rows := [][]string{append(slices.Clone(ringTitles), "MESSAGE")}
	for _, row := range r.Clusters {
		rows = append(rows, append(cells(row), row.Message))
	}
	markdownTable(&b, rows)
	return b.String()
}

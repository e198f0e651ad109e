// Package probe tests assumptions of linode/unverified.md on a Linode account: Run creates a small LKE cluster, or
// pools in an existing cluster, runs a table of experiments, and deletes everything that it created.
//
// Everything that it creates has a tag and a label that begins with [Tag]. A run first deletes what an earlier run
// left, so an interrupted run costs money at most until the next one. Two simultaneous runs in one account delete
// each other's objects.
package probe

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Tag is the tag of everything that the probe creates, and the prefix of its labels.
const Tag = "lkeplan-probe"

// Options select what to probe and how.
type Options struct {
	URL, Token string
	Transport  http.RoundTripper // nil means http.DefaultTransport
	// Cluster is the cluster in which the probe creates its pools; 0 creates a cluster of the tier in the region.
	Cluster int
	Tier    catalog.Tier
	Region  string
	// SoldOut is a plan that is out of stock; "" takes one that the list of availability names.
	SoldOut string
	Only    []string
	Budget  catalog.Money
	Keep    bool
	DryRun  bool
	Ask     func() bool // whether to start, after the announcement; nil means yes
	Out     io.Writer   // of the announcement, progress and the table
	Record  io.Writer   // of calls and answers; nil records nothing
	// Kube is the API server of the cluster; nil reads the kubeconfig from Linode.
	Kube kubernetes.Interface
}

// Verdict is the result of an experiment.
type Verdict string

// The verdicts.
const (
	Holds      Verdict = "holds"
	Fails      Verdict = "does not hold"
	NotDecided Verdict = "not decided"
)

// Result is a row of the table.
type Result struct {
	Name    string
	Verdict Verdict
	Seen    string
	Took    time.Duration
}

// run is one run of the probe.
type run struct {
	Options
	api      *api.Client
	rec      *recorder
	kube     kubernetes.Interface
	catalog  *catalog.Catalog
	cluster  api.Cluster
	versions []string // of the tier
	suffix   string   // of labels
	labels   int      // number of labels so far

	base   once[*baseSeen]
	second once[*secondSeen]
	groups once[*groupSeen]
	scarce once[*scarceSeen]

	mu    sync.Mutex
	first map[string]*corev1.Node // the first state of each Node
	last  map[string]*corev1.Node
}

// Run runs the experiments. If it returns an error, no result counts.
func Run(ctx context.Context, o Options) (results []Result, err error) {
	r := &run{Options: o, suffix: random(4), kube: o.Kube, first: map[string]*corev1.Node{}, last: map[string]*corev1.Node{}}
	base := cmp.Or[http.RoundTripper](o.Transport, http.DefaultTransport)
	r.rec = &recorder{base: base, out: o.Record, needs: map[string]string{}}
	r.Transport, r.URL = base, api.Root(o.URL)
	if r.api, err = api.New(r.URL, o.Token, api.Options{Transport: r.rec}); err != nil {
		return nil, err
	}
	if r.catalog, err = catalog.Fetch(ctx, &http.Client{Transport: base}, r.URL); err != nil {
		return nil, err
	}
	if o.Cluster != 0 {
		if r.cluster, err = r.api.Cluster(ctx, o.Cluster); err != nil {
			return nil, err
		}
		r.Tier, r.Region = catalog.Tier(r.cluster.Tier), r.cluster.Region
	}
	if _, ok := r.catalog.Region(r.Region); !ok {
		return nil, fmt.Errorf("region %q: Linode has none with this name", r.Region)
	}
	chosen, err := choose(r.Tier, o.Only)
	if err != nil {
		return nil, err
	}
	found, err := r.leftovers(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for what an earlier run left: %w", err)
	}
	bound, cost, err := r.announce(chosen, found)
	if err != nil || o.DryRun {
		return nil, err
	}
	if o.Budget > 0 && cost > o.Budget {
		return nil, fmt.Errorf("the run costs up to %s, and the budget is %s: raise --budget, or name experiments with --only",
			cost.Text(), o.Budget.Text())
	}
	if o.Ask != nil && !o.Ask() {
		return nil, errors.New("nothing was made")
	}
	if err := r.clean(ctx); err != nil {
		return nil, fmt.Errorf("delete what an earlier run left: %w", err)
	}
	if !o.Keep {
		defer func() {
			fmt.Fprintln(o.Out, "deleting all that the probe made ...")
			if failed := r.clean(context.WithoutCancel(ctx)); failed != nil {
				err = errors.Join(err, fmt.Errorf("delete what the probe made: %w; the next run deletes it first", failed))
			}
		}()
	}
	limited, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	if err := r.prepare(limited, chosen); err != nil {
		return nil, err
	}
	if r.kube != nil {
		watching, end := context.WithCancel(limited)
		var done sync.WaitGroup
		done.Go(func() { r.watchNodes(watching) })
		defer done.Wait()
		defer end()
	}
	made := map[string]bool{}
	for _, e := range chosen {
		limit := e.within
		for _, f := range e.uses {
			if !made[f.name] {
				made[f.name] = true
				limit += f.limit(r.Tier)
				fmt.Fprintf(o.Out, "%-18s waits for machines, at most %s\n", e.name, f.limit(r.Tier))
			}
		}
		result := r.try(limited, e, limit)
		results = append(results, result)
		fmt.Fprintln(o.Out, result)
		if ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
	}
	return results, r.rec.err
}

// String returns the result as one line.
func (s Result) String() string {
	return fmt.Sprintf("%-18s %-13s %5s  %s", s.Name, s.Verdict, s.Took.Round(time.Second), s.Seen)
}

// choose returns the experiments of a tier, or the named ones.
func choose(tier catalog.Tier, only []string) (chosen []experiment, err error) {
	var known []string
	for _, e := range experiments() {
		known = append(known, e.name)
		if (e.tier == "" || e.tier == tier) && (len(only) == 0 || slices.Contains(only, e.name)) {
			chosen = append(chosen, e)
		}
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("experiment %q: want one of %s", name, strings.Join(known, ", "))
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no experiment is for the tier %s", tier)
	}
	return chosen, nil
}

// controlPlane stands for the control plane of LKE Enterprise. Its price is in no list of the API: $300 a month.
const (
	controlPlane      = "control plane"
	controlPlanePrice = catalog.Dollar * 45 / 100
)

// announce prints what a run deletes and creates, for how long, and the maximum cost. A machine exists at most from
// the start of the step that creates it until all is deleted, and each started hour counts.
func (r *run) announce(chosen []experiment, found []leftover) (bound time.Duration, cost catalog.Money, err error) {
	out := &strings.Builder{}
	steps := []fixture{{within: prepareWithin, makes: map[string]int{}}}
	switch {
	case !inCluster(chosen):
	case r.Cluster != 0:
		fmt.Fprintf(out, "pools in the LKE cluster %d in %s\n", r.Cluster, r.Region)
	default:
		fmt.Fprintf(out, "an LKE cluster (%s) in %s\n", r.Tier, r.Region)
		if r.Tier == catalog.Standard {
			steps[0].makes[small] = 1
		} else {
			steps[0].makes[controlPlane] = 1
		}
	}
	for _, e := range chosen {
		for _, f := range e.uses {
			if !slices.ContainsFunc(steps, func(s fixture) bool { return s.name == f.name }) {
				f.within = f.limit(r.Tier)
				steps = append(steps, f)
			}
		}
		steps = append(steps, fixture{name: "the experiment " + e.name, within: e.within, makes: e.makes})
	}
	total, rest, hour := map[string]int{}, time.Duration(cleanWithin), catalog.Money(0)
	for _, s := range slices.Backward(steps) {
		rest += s.within
		for plan, n := range s.makes {
			if plan == soldOut {
				if plan = cmp.Or(r.SoldOut, r.outOfStock()); plan == "" {
					continue
				}
				r.SoldOut = plan
			}
			price, ok := r.price(plan)
			if !ok {
				return 0, 0, fmt.Errorf("the price of %s in %s is unknown: name another --region", plan, r.Region)
			}
			total[plan] += n
			hour += price.Hourly * catalog.Money(n)
			cost += price.Hourly * catalog.Money(n) * catalog.Money((rest+time.Hour-1)/time.Hour)
		}
	}
	for _, plan := range slices.Sorted(maps.Keys(total)) {
		price, _ := r.price(plan)
		fmt.Fprintf(out, "%d %s %s\n", total[plan], plan, price.AnHour())
	}
	end := "All is deleted afterwards."
	if r.Keep {
		end = "Nothing is deleted afterwards: it costs money until the next run, which deletes it."
	}
	if len(found) > 0 {
		fmt.Fprintf(r.Out, "An earlier run left %s, or another run is at work. This run first deletes:\n", text.Count(len(found), "object"))
		for _, l := range found {
			fmt.Fprintf(r.Out, "%s\n", l.what)
		}
	}
	fmt.Fprintf(r.Out, "This run has %s and makes\n%s", text.Count(len(chosen), "experiment"), cmp.Or(out.String(), "nothing\n"))
	fmt.Fprintf(r.Out, "for at most %s. It costs at most %s, or %s if it takes an hour.\n%s\n", rest, cost.Text(), hour.Text(), end)
	return rest - cleanWithin, cost, nil
}

func (r *run) price(plan string) (catalog.Price, bool) {
	if plan == controlPlane {
		return catalog.Price{Hourly: controlPlanePrice}, true
	}
	return r.catalog.Price(plan, r.Region)
}

// outOfStock returns the cheapest plan that is sold out in the region; "" if none is.
func (r *run) outOfStock() (found string) {
	var least catalog.Money
	for _, p := range r.catalog.Plans() {
		price, ok := r.catalog.Price(p.ID, r.Region)
		if ok && !r.catalog.InStock(p.ID, r.Region) && r.catalog.Sold(p.ID, r.Region, r.Tier) &&
			(found == "" || price.Hourly < least) {
			found, least = p.ID, price.Hourly
		}
	}
	return found
}

func inCluster(chosen []experiment) bool {
	return slices.ContainsFunc(chosen, func(e experiment) bool { return !e.outside })
}

const prepareWithin = 15 * time.Minute

// prepare creates the cluster, if none was named, and connects to its API server if an experiment needs Nodes.
func (r *run) prepare(ctx context.Context, chosen []experiment) (err error) {
	ctx, cancel := context.WithTimeout(ctx, prepareWithin)
	defer cancel()
	r.rec.start(r)
	if r.versions, err = r.api.Versions(ctx, r.Tier); err != nil {
		return err
	}
	if inCluster(chosen) && r.Cluster == 0 {
		if err := r.makeCluster(ctx); err != nil {
			return err
		}
	}
	if r.kube == nil && slices.ContainsFunc(chosen, func(e experiment) bool { return e.nodes }) {
		if r.kube, err = r.connect(ctx); err != nil {
			return err
		}
	}
	return nil
}

// makeCluster creates a cluster with the second newest version, so that newer pools can be requested.
func (r *run) makeCluster(ctx context.Context) error {
	if len(r.versions) == 0 {
		return fmt.Errorf("no version of the tier %s is on offer", r.Tier)
	}
	pools := []fields{}
	if r.Tier == catalog.Standard { // it has no cluster without a pool
		pools = append(pools, r.poolOf(small, 1))
	}
	return r.api.Call(ctx, http.MethodPost, "lke/clusters", "", fields{
		"label": r.label(), "region": r.Region, "k8s_version": r.versions[min(1, len(r.versions)-1)], "tier": r.Tier,
		"tags": []string{Tag}, "node_pools": pools,
	}, &r.cluster)
}

// try runs one experiment.
func (r *run) try(ctx context.Context, e experiment, limit time.Duration) Result {
	started := time.Now()
	result := Result{Name: e.name}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	holds, seen, err := e.decide(ctx, r)
	result.Took, result.Verdict, result.Seen = time.Since(started), Fails, seen
	switch {
	case err != nil:
		result.Verdict, result.Seen = NotDecided, err.Error()
	case holds:
		result.Verdict = Holds
	}
	return result
}

// fields is the body of a request.
type fields map[string]any

// label returns a new label.
func (r *run) label() string {
	r.labels++
	return fmt.Sprintf("%s-%s-%d", Tag, r.suffix, r.labels)
}

func random(bytes int) string {
	text := make([]byte, bytes)
	_, _ = rand.Read(text)
	return hex.EncodeToString(text)
}

// once is a value that the first experiment that needs it creates.
type once[T any] struct {
	done  bool
	value T
	err   error
}

func (o *once[T]) get(makes func() (T, error)) (T, error) {
	if !o.done {
		o.value, o.err = makes()
		o.done = true
	}
	return o.value, o.err
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// until repeats ask until the answer is yes, and reports whether it was. It goes on if the API does not answer.
func until(ctx context.Context, within, every time.Duration, ask func() (bool, error)) (bool, error) {
	for end := time.Now().Add(within); ; {
		yes, err := ask()
		if class := api.ClassOf(err); yes || err != nil && class != api.ClassUnknown && class != api.ClassBusy {
			return yes, err
		}
		if time.Now().After(end) {
			return false, err
		}
		if err := pause(ctx, every); err != nil {
			return false, err
		}
	}
}

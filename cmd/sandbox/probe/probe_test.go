package probe

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/sim"
)

var update = flag.Bool("update", false, "write the date of the recordings into unverified.md")

const scarcePlan = "g6-dedicated-2"

// lab is a simulated account with an API server that nodes join.
type lab struct {
	*testing.T
	sim  *sim.Simulator
	kube *fake.Clientset
	out  bytes.Buffer
}

// inLab runs a test with an account of a tier in which assumptions are broken.
func inLab(t *testing.T, tier catalog.Tier, breaks []string, test func(*lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := sim.Config{
			WithoutCluster: true, Tier: string(tier), Region: "us-mia", Token: "secret", Seed: 7,
			InstanceDelay: 2 * time.Second, JoinDelay: 80 * time.Second, CCMDelay: 8 * time.Second,
			DeleteDelay: 15 * time.Second, NodeGoneDelay: 5 * time.Second, EventDelay: 10 * time.Second,
			Scopes: "lke:read_write linodes:read_write account:read_only events:read_only firewall:read_only",
			Assets: sim.AssetSet{Firewalls: []sim.Firewall{{Label: "probe"}}},
		}
		if tier == catalog.Enterprise {
			cfg.ListDelay, cfg.InstanceDelay = 40*time.Second, 50*time.Second
			cfg.Versions = []string{"v1.33.6+lke7", "v1.32.9+lke2", "v1.32.7+lke1", "v1.31.8+lke1"}
		}
		missing := sim.Fault{NoCapacity: sim.NodeEvent, Plan: scarcePlan}
		sets := lke.DaemonSets()
		for _, name := range breaks {
			switch {
			case name[0] == '-':
				cfg.Scopes = strings.Replace(cfg.Scopes, name[1:], "", 1)
			case name == "capacity":
				missing.NoCapacity, missing.Field, missing.Body = sim.Refuse, "region", "Not today"
			case name == "daemonsets":
				sets[0].Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("500m")
			default:
				cfg.Breaks = append(cfg.Breaks, name)
			}
		}
		account, err := sim.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := account.Inject(missing); err != nil {
			t.Fatal(err)
		}
		//nolint:staticcheck // NewClientset spends five milliseconds of each write on managed fields, which are not read.
		l := &lab{T: t, sim: account, kube: fake.NewSimpleClientset()}
		refuseConflicts(l.kube)
		for _, set := range sets {
			if err := l.kube.Tracker().Add(set); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- account.RunNodes(ctx, l.kube, nil, nil) }()
		defer func() {
			cancel()
			<-done
		}()
		synctest.Wait()
		test(l)
	})
}

// refuseConflicts refuses updates of Nodes that others have changed meanwhile, as an API server does.
func refuseConflicts(kube *fake.Clientset) {
	resource := corev1.SchemeGroupVersion.WithResource("nodes")
	kube.PrependReactor("update", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		node := action.(clienttesting.UpdateAction).GetObject().(*corev1.Node)
		stored, err := kube.Tracker().Get(resource, "", node.Name)
		if err != nil {
			return true, nil, err
		}
		if known := stored.(*corev1.Node).ResourceVersion; known != node.ResourceVersion {
			return true, nil, apierrors.NewConflict(resource.GroupResource(), node.Name, errors.New("it has changed"))
		}
		node.ResourceVersion += "+"
		return false, nil, nil
	})
	kube.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		stored, err := kube.Tracker().Get(resource, "", action.(clienttesting.PatchAction).GetName())
		if err != nil {
			return true, nil, err
		}
		node := stored.(*corev1.Node).DeepCopy()
		node.ResourceVersion += "+"
		return false, nil, kube.Tracker().Update(resource, node, "")
	})
}

func (l *lab) options() Options {
	return Options{
		URL: "https://linode.test", Token: "secret", Transport: l.sim.Client().Transport, Kube: l.kube, Out: &l.out,
		Tier: catalog.Tier(l.sim.Config().Tier), Region: "us-mia", SoldOut: scarcePlan, Record: io.Discard,
	}
}

// left is what is left in the account.
func (l *lab) left() string {
	time.Sleep(time.Minute)
	stats := l.sim.Stats()
	groups := "no groups"
	res, err := l.sim.Client().Do(&http.Request{
		Method: http.MethodGet, URL: must(http.NewRequest("GET", "https://linode.test/v4/placement/groups", nil)).URL,
		Header: http.Header{"Authorization": {"Bearer secret"}},
	})
	if err != nil {
		l.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	if !strings.Contains(string(body), `"results":0`) {
		groups = "groups"
	}
	return fmt.Sprintf("%d clusters, %d Linodes, %s", len(l.sim.Clusters()), stats.Live, groups)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

const nothing = "0 clusters, 0 Linodes, no groups"

func tiers() []catalog.Tier { return []catalog.Tier{catalog.Standard, catalog.Enterprise} }

func TestAllAssumptionsHoldOfSimulator(t *testing.T) {
	for _, tier := range tiers() {
		t.Run(string(tier), func(t *testing.T) {
			inLab(t, tier, nil, func(l *lab) {
				started := time.Now()
				results, err := Run(l.Context(), l.options())
				if err != nil {
					l.Fatal(err)
				}
				for _, result := range results {
					if result.Verdict != Holds {
						l.Error(result)
					}
				}
				l.Log(l.out.String())
				if left := l.left(); left != nothing {
					l.Error(left)
				}
				costs := regexp.MustCompile(`at most \$([0-9.]+), or \$([0-9.]+) if`).FindStringSubmatch(l.out.String())
				most, hour, bill := must(catalog.ParseMoney(costs[1])), must(catalog.ParseMoney(costs[2])), l.sim.Stats().Bill
				if tier == catalog.Enterprise { // the simulator does not charge it
					bill += controlPlanePrice
				}
				l.Logf("at most %s, %s for an hour, a bill of %s for %s", most, hour, bill, time.Since(started))
				if time.Since(started) > time.Hour || bill > hour || hour > 2*bill || hour > most || most > 5*bill {
					l.Error("the announced cost is wrong")
				}
			})
		})
	}
}

func TestBrokenAssumptionFailsOneExperiment(t *testing.T) {
	names := append(sim.Breakable(), "capacity", "daemonsets")
	for _, e := range experiments() {
		if !slices.Contains(names, e.name) {
			t.Errorf("nothing breaks %s", e.name)
		}
		tier := catalog.Tier(e.tier)
		if tier == "" {
			tier = catalog.Standard
		}
		t.Run(e.name, func(t *testing.T) {
			inLab(t, tier, []string{e.name}, func(l *lab) {
				results, err := Run(l.Context(), l.options())
				if err != nil {
					l.Fatal(err)
				}
				for _, result := range results {
					if (result.Verdict == Fails) != (result.Name == e.name) {
						l.Error(result)
					}
				}
			})
		})
	}
}

// killed is a transport whose process ends after so many calls: the last is carried out, and its answer is lost.
type killed struct {
	http.RoundTripper
	after atomic.Int64
}

func (k *killed) RoundTrip(req *http.Request) (*http.Response, error) {
	left := k.after.Add(-1)
	if left < 0 {
		return nil, errors.New("killed")
	}
	res, err := k.RoundTripper.RoundTrip(req)
	if left == 0 && err == nil {
		res.Body.Close()
		err = errors.New("killed")
	}
	return res, err
}

// interrupted is a transport that ends a context after so many calls, as Ctrl-C does.
type interrupted struct {
	http.RoundTripper
	after atomic.Int64
	end   func()
}

func (i *interrupted) RoundTrip(req *http.Request) (*http.Response, error) {
	if i.after.Add(-1) == 0 {
		i.end()
	}
	return i.RoundTripper.RoundTrip(req)
}

func TestNothingIsLeftAfterInterruption(t *testing.T) {
	calls := []int64{6, 9, 12, 16, 60, 150, 230, 300, 420, 520}
	for _, tier := range tiers() {
		for _, n := range calls {
			t.Run(fmt.Sprintf("%s killed after %d calls", tier, n), func(t *testing.T) {
				inLab(t, tier, nil, func(l *lab) {
					transport := &killed{RoundTripper: l.sim.Client().Transport}
					transport.after.Store(n)
					o := l.options()
					o.Transport = transport
					if _, err := Run(l.Context(), o); err == nil && n < 300 {
						l.Error("the run ended")
					}
					o = l.options()
					o.Only = []string{"token"}
					if _, err := Run(l.Context(), o); err != nil {
						l.Error(err)
					}
					if left := l.left(); left != nothing {
						l.Error(left)
					}
				})
			})
			t.Run(fmt.Sprintf("%s interrupted after %d calls", tier, n), func(t *testing.T) {
				inLab(t, tier, nil, func(l *lab) {
					ctx, cancel := context.WithCancel(l.Context())
					defer cancel()
					transport := &interrupted{RoundTripper: l.sim.Client().Transport, end: cancel}
					transport.after.Store(n)
					o := l.options()
					o.Transport = transport
					_, _ = Run(ctx, o)
					if left := l.left(); left != nothing {
						l.Error(left)
					}
				})
			})
		}
	}
}

// TestOutageDelaysExperiments: the API cannot be reached for a minute while the probe waits for nodes, or deletes.
func TestOutageDelaysExperiments(t *testing.T) {
	for _, calls := range []int64{40, 360} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) {
			inLab(t, catalog.Standard, nil, func(l *lab) {
				lost := &outage{RoundTripper: l.sim.Client().Transport, from: calls}
				o := l.options()
				o.Transport = lost
				results, err := Run(l.Context(), o)
				if err != nil || lost.end.IsZero() {
					l.Fatalf("%d calls: %v", lost.calls.Load(), err)
				}
				for _, result := range results {
					if result.Verdict != Holds {
						l.Error(result)
					}
				}
				if left := l.left(); left != nothing {
					l.Error(left)
				}
			})
		})
	}
}

// outage is a transport that loses its connection for a minute after so many calls.
type outage struct {
	http.RoundTripper
	from  int64
	calls atomic.Int64
	mu    sync.Mutex
	end   time.Time
}

func (o *outage) RoundTrip(req *http.Request) (*http.Response, error) {
	o.mu.Lock()
	if o.calls.Add(1) == o.from {
		o.end = time.Now().Add(time.Minute)
	}
	lost := time.Now().Before(o.end)
	o.mu.Unlock()
	if lost {
		return nil, errors.New("no route to host")
	}
	return o.RoundTripper.RoundTrip(req)
}

// TestKeptObjectsAreAnnouncedAndDeleted: the next run names what --keep has kept before it asks, and deletes it.
func TestKeptObjectsAreAnnouncedAndDeleted(t *testing.T) {
	inLab(t, catalog.Standard, nil, func(l *lab) {
		o := l.options()
		o.Keep, o.Only = true, []string{"stays", "group-size"}
		if _, err := Run(l.Context(), o); err != nil {
			l.Fatal(err)
		}
		if left := l.left(); left != "1 clusters, 7 Linodes, groups" || !strings.Contains(l.out.String(), "Nothing is deleted") {
			l.Errorf("%s\n%s", left, l.out.String())
		}
		l.out.Reset()
		o = l.options()
		o.Only = []string{"token"}
		o.Ask = func() bool {
			for _, what := range []string{"left 6 objects", "cluster ", "Linode ", "placement group "} {
				if !strings.Contains(l.out.String(), what) {
					l.Errorf("no %q in\n%s", what, l.out.String())
				}
			}
			return true
		}
		if _, err := Run(l.Context(), o); err != nil {
			l.Fatal(err)
		}
		if left := l.left(); left != nothing {
			l.Error(left)
		}
	})
}

// TestMissingScopeIsNamed: a run stops before it makes anything, or an experiment is not decided.
func TestMissingScopeIsNamed(t *testing.T) {
	for scope, undecided := range map[string][]string{
		"lke:read_write": nil, "linodes:read_write": nil,
		"account:read_only": {"closed"}, "events:read_only": {"capacity", "events"}, "firewall:read_only": {"firewall"},
	} {
		t.Run(scope, func(t *testing.T) {
			inLab(t, catalog.Standard, []string{"-" + scope}, func(l *lab) {
				results, err := Run(l.Context(), l.options())
				if (err == nil) != (undecided != nil) || err != nil && !strings.Contains(err.Error(), "lacks "+scope[:4]) {
					l.Errorf("%v", err)
				}
				for _, result := range results {
					want := slices.Contains(undecided, result.Name)
					if (result.Verdict != Holds) != want || want && !strings.Contains(result.Seen, "lacks "+scope) {
						l.Error(result)
					}
				}
				if undecided == nil && l.sim.Stats().Writes > 0 {
					l.Error("something was written")
				}
			})
		})
	}
}

// TestOtherPoolsAndLinodesStay: in a cluster that exists, with a Linode, a pool and a cluster of others. The recording
// has no token, address or name.
func TestOtherPoolsAndLinodesStay(t *testing.T) {
	inLab(t, catalog.Standard, nil, func(l *lab) {
		cluster, err := l.sim.AddCluster(sim.Config{Region: "us-mia", ClusterLabel: Tag + "-not", KubernetesVersion: "1.34"})
		if err == nil {
			_, err = l.sim.AddCluster(sim.Config{Region: "us-mia", ClusterLabel: "quokka", ClusterID: 77, KubernetesVersion: "1.34"})
		}
		if err != nil {
			l.Fatal(err)
		}
		post := func(path, body string) {
			req := must(http.NewRequestWithContext(l.Context(), http.MethodPost, "https://linode.test/v4beta"+path, strings.NewReader(body)))
			req.Header.Set("Authorization", "Bearer secret")
			if res := must(l.sim.Client().Do(req)); res.StatusCode != http.StatusOK {
				l.Fatal(path, res.Status)
			}
		}
		post(fmt.Sprintf("/lke/clusters/%d/pools", cluster.ID), `{"type":"g6-standard-1","count":1,"label":"quokka","tags":["quokka"],
			"labels":{"quokka":"quokka"},"taints":[{"key":"quokka","value":"quokka","effect":"NoSchedule"}]}`)
		post("/lke/clusters/77/pools", `{"type":"g6-standard-1","count":1}`)
		post("/linode/instances", `{"type":"g6-nanode-1","region":"us-mia","label":"lkeplan-probe-not"}`)
		post("/linode/instances", `{"type":"g6-nanode-1","region":"us-mia","label":"quokka","tags":["lkeplan-probe", "quokka"]}`)
		post("/placement/groups", `{"label":"quokka","region":"us-mia","placement_group_type":"anti_affinity:local",
			"placement_group_policy":"strict"}`)
		var recording bytes.Buffer
		o := l.options()
		o.Record = &recording
		o.Cluster = cluster.ID
		results, err := Run(l.Context(), o)
		if err != nil {
			l.Error(err)
		}
		for _, result := range results {
			if result.Verdict != Holds {
				l.Error(result)
			}
		}
		if left := l.left(); left != "2 clusters, 4 Linodes, groups" || len(l.sim.PoolsOf(cluster.ID)) != 1 {
			l.Error(left)
		}
		named := regexp.MustCompile(`secret|quokka|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|[0-9a-f]+:[0-9a-f]+:|://|lke[0-9]+-|ssh-|Example`)
		for line := range strings.Lines(recording.String()) {
			if found := named.FindString(line); found != "" {
				l.Errorf("%s: %.300s", found, line)
			}
		}
	})
}

func TestNothingIsMadeWithoutConsent(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"--dry-run": func(o *Options) { o.DryRun = true },
		"no":        func(o *Options) { o.Ask = func() bool { return false } },
		"--budget":  func(o *Options) { o.Budget = catalog.Dollar / 2 },
		"--region":  func(o *Options) { o.Region = "us-nowhere" },
		"--only":    func(o *Options) { o.Only = []string{"nonsense"} },
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, catalog.Standard, nil, func(l *lab) {
				o := l.options()
				change(&o)
				if _, err := Run(l.Context(), o); (err == nil) != o.DryRun {
					l.Error(err)
				}
				if stats := l.sim.Stats(); stats.Writes > 0 {
					l.Errorf("%d writes", stats.Writes)
				}
			})
		})
	}
}

// TestRecordingReplays: the simulator answers a recording of itself without a difference, and each broken assumption
// that an answer shows is a line. A recording has no token, address or name.
func TestRecordingReplays(t *testing.T) {
	for _, tier := range tiers() {
		t.Run(string(tier), func(t *testing.T) {
			var recording bytes.Buffer
			inLab(t, tier, nil, func(l *lab) {
				o := l.options()
				o.Record = &recording
				if _, err := Run(l.Context(), o); err != nil {
					l.Fatal(err)
				}
			})
			if lines := replayed(t, tier, recording.Bytes(), nil); len(lines) > 0 {
				t.Error(strings.Join(lines, "\n"))
			}
			lines := replayed(t, tier, recording.Bytes(), []string{"reserved", "group-label"})
			t.Log(strings.Join(lines, "\n"))
			if len(lines) < 2 || len(lines) > 12 {
				t.Errorf("%d lines", len(lines))
			}
		})
	}
}

func replayed(t *testing.T, tier catalog.Tier, recording []byte, breaks []string) (lines []string) {
	inLab(t, tier, breaks, func(l *lab) {
		head, calls, err := Read(bytes.NewReader(recording))
		if err != nil {
			l.Fatal(err)
		}
		cluster := 0
		if head.Cluster != 0 {
			made, err := l.sim.AddCluster(sim.Config{Tier: string(tier), Region: head.Region, KubernetesVersion: head.Version})
			if err != nil {
				l.Fatal(err)
			}
			cluster = made.ID
		}
		if lines, err = Replay(l.Context(), head, calls, l.sim.Client().Transport, "secret", cluster); err != nil {
			l.Fatal(err)
		}
	})
	return lines
}

// recordings are those of the real API.
func recordings(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		all[file] = must(os.ReadFile(file))
	}
	return all
}

// TestSimulatorAnswersAsRecorded compares the simulator with the recordings of the real API. A difference is mended in the
// simulator, or in what relies on it.
func TestSimulatorAnswersAsRecorded(t *testing.T) {
	for file, text := range recordings(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			head, _, err := Read(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range replayed(t, head.Tier, text, nil) {
				t.Error(line)
			}
		})
	}
}

// TestUnverifiedNamesExperiments: each row has an experiment or a reason, each experiment has a row, and the page says
// when the probe ran.
func TestUnverifiedNamesExperiments(t *testing.T) {
	const page = "../../../linode/unverified.md"
	text := string(must(os.ReadFile(page)))
	listed := map[string]bool{}
	decided := 0
	for row := range strings.Lines(text) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| Assumption") || strings.HasPrefix(row, "| Fact") {
			continue
		}
		cells := strings.Split(strings.Trim(row, "|\n"), "|")
		if len(cells) != 4 || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("want four columns: %.80s", row)
			continue
		}
		names := regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(cells[3], -1)
		for _, name := range names {
			listed[name[1]] = true
		}
		if len(names) > 0 {
			decided++
		}
	}
	for _, e := range experiments() {
		if !listed[e.name] {
			t.Errorf("no row has the experiment %s", e.name)
		}
		delete(listed, e.name)
	}
	if len(listed) > 0 || decided < 35 {
		t.Errorf("unknown experiments %v; %d rows are decided", listed, decided)
	}
	line := "The probe has never run against the real API."
	var runs []string
	for file, text := range recordings(t) {
		head, _, err := Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if head.Simulated {
			t.Errorf("%s is a recording of a simulator", file)
		}
		runs = append(runs, fmt.Sprintf("%s (%s, %s)", head.Date, head.Tier, filepath.Base(file)))
	}
	if slices.Sort(runs); len(runs) > 0 {
		line = "The probe ran against the real API on " + strings.Join(runs, " and ") + "."
	}
	shown := regexp.MustCompile(`(?m)^The probe (has never run|ran) .*$`)
	if shown.FindString(text) == line {
		return
	}
	if !*update {
		t.Fatalf("%s: want %q; run with -update", page, line)
	}
	if err := os.WriteFile(page, []byte(shown.ReplaceAllLiteralString(text, line)), 0o600); err != nil {
		t.Fatal(err)
	}
}

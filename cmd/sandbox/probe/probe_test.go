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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/sim"
	"github.com/lkeplan/lkeplan/testdata/nightly"
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
			Assets: sim.AssetSet{Firewalls: []sim.Firewall{{Label: "probe"}}},
		}
		if tier == catalog.Enterprise {
			cfg.ListDelay, cfg.InstanceDelay = 40*time.Second, 50*time.Second
			cfg.Versions = []string{"v1.33.6+lke7", "v1.32.9+lke2", "v1.32.7+lke1", "v1.31.8+lke1"}
		}
		missing := sim.Fault{NoCapacity: sim.NodeEvent, Plan: scarcePlan}
		sets := lke.DaemonSets()
		for _, name := range breaks {
			switch name {
			case "capacity":
				missing.NoCapacity, missing.Field, missing.Body = sim.Refuse, "region", "Not today"
			case "daemonsets":
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
				_, text, _ := strings.Cut(l.out.String(), "cost at most $")
				text, _, _ = strings.Cut(text, ". All")
				announced := must(catalog.ParseMoney(text))
				if bill := l.sim.Stats().Bill; bill == 0 || bill > announced {
					l.Errorf("%s were announced, and the bill is %s", announced, bill)
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
		usual := []string{"uninitialized", "pool-size", "label-taken", "builds"}
		if !nightly.On() && !slices.Contains(usual, e.name) {
			continue
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
	if !nightly.On() {
		calls = []int64{9, 150, 300}
	}
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

// TestOtherPoolsAndLinodesStay: in a cluster that exists, with a Linode, a pool and a cluster of others.
func TestOtherPoolsAndLinodesStay(t *testing.T) {
	inLab(t, catalog.Standard, nil, func(l *lab) {
		cluster, err := l.sim.AddCluster(sim.Config{Region: "us-mia", ClusterLabel: Tag + "-not", KubernetesVersion: "1.34"})
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
		post(fmt.Sprintf("/lke/clusters/%d/pools", cluster.ID), `{"type":"g6-standard-1","count":1,"tags":["other"]}`)
		post("/linode/instances", `{"type":"g6-nanode-1","region":"us-mia","label":"lkeplan-probe-not"}`)
		o := l.options()
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
		if left := l.left(); left != "1 clusters, 2 Linodes, no groups" || len(l.sim.PoolsOf(cluster.ID)) != 1 {
			l.Error(left)
		}
	})
}

func TestNothingIsMadeWithoutConsent(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"--dry-run": func(o *Options) { o.DryRun = true },
		"no":        func(o *Options) { o.Ask = func() bool { return false } },
		"--budget":  func(o *Options) { o.Budget = catalog.Dollar / 2 },
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
			for _, secret := range []string{"secret", "203.0.113.", "192.168.", "2001:db8", "Example", "lke4"} {
				if n := strings.Index(recording.String(), secret); n >= 0 {
					t.Errorf("the recording has %s: %.200s", secret, recording.String()[max(0, n-80):])
				}
			}
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

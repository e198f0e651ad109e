package controller

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// metric is one that the controller serves.
type metric struct {
	name, kind, labels, help string
}

// sections are the parts of the reference; a metric is in the first that has its prefix.
var sections = []struct{ prefix, title, text string }{
	{"lkeplan_nodeplan_", "NodePlans", "Served by the process that reconciles NodePlans, like the Flux metrics below."},
	{"lkeplan_", "Machines, limits and the Linode API", "Served by the process that creates nodes. Labels `plan` are plan " +
		"types, such as `g6-standard-4`."},
	{"karpenter_cloudprovider_instance_type_", "Offerings", "With the names that other Karpenter providers use. Region " +
		"and zone are the same on LKE."},
	{"", "Metrics of libraries", "Both processes also serve the metrics of controller-runtime and client-go, the process " +
		"that creates nodes [those of Karpenter](https://karpenter.sh/docs/reference/metrics/), and the other one [those of " +
		"Flux](https://fluxcd.io/flux/monitoring/metrics/) for NodePlans. The rules, dashboards and runbooks use these:"},
}

// TestMetricsReference compares kube/observability/metrics.md with what is registered when
// all controllers are. Of the metrics of libraries, whose own documents list them, it has those
// that rules, dashboards and runbooks use.
func TestMetricsReference(t *testing.T) {
	once.Do(func() { everythingRegistered(t) })
	groups, libraries := make([][]metric, len(sections)), len(sections)-1
	used := usedMetrics(t)
	for _, m := range registered(t) {
		at := slices.IndexFunc(sections, func(s struct{ prefix, title, text string }) bool {
			return strings.HasPrefix(m.name, s.prefix)
		})
		if at == libraries && !used[m.name] {
			continue
		}
		groups[at] = append(groups[at], m)
		if m.help == "" && at < libraries {
			t.Errorf("%s has no help text", m.name)
		}
	}
	var b strings.Builder
	b.WriteString("# Metrics\n\nBoth processes of the controller serve theirs at `/metrics` of " +
		"`--metrics-bind-address`, which is `:8080`. A test\ncompares this page with what is registered; " +
		"`make generate` writes it.\n")
	for i, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", s.title,
			wrap(s.text))
		for _, m := range groups[i] {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, cmp.Or(m.labels, "none"), cell(m.help))
		}
	}
	golden.File(t, "../../kube/observability/metrics.md", []byte(b.String()))
	for _, problem := range lintMetrics(t, slices.Concat(groups[:libraries]...)) {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// usedMetrics are the names in the rules, dashboards and runbooks that may be names of metrics.
func usedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	const dir = "../../kube/observability/"
	names := map[string]bool{}
	for _, pattern := range []string{"rules.yaml", "dashboards/*.json", "runbooks/*.md"} {
		files, err := filepath.Glob(dir + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range regexp.MustCompile(`[a-z_]+`).FindAllString(string(text), -1) {
				names[name] = true
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					names[strings.TrimSuffix(name, suffix)] = true
				}
			}
		}
	}
	return names
}

// wrap breaks a sentence into lines.
func wrap(text string) string {
	const most = 118
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(text) {
		if width > 0 && width+1+len(word) > most {
			b.WriteString("\n")
			width = 0
		} else if width > 0 {
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}

func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(text)
}

// lintMetrics runs Prometheus' linter on metrics, as they would be served.
func lintMetrics(t *testing.T, all []metric) []promlint.Problem {
	t.Helper()
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", m.name, strings.ReplaceAll(m.help, "\n", " "), m.kind)
		if m.kind == "histogram" {
			fmt.Fprintf(&b, "%s_bucket{le=\"+Inf\"} 1\n%[1]s_sum 1\n%[1]s_count 1\n", m.name)
		} else {
			fmt.Fprintf(&b, "%s 1\n", m.name)
		}
	}
	problems, err := promlint.New(strings.NewReader(b.String())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// description is how prometheus.Desc writes itself.
var description = regexp.MustCompile(
	`^Desc\{fqName: (".*"), help: (".*"), constLabels: \{.*\}, variableLabels: \{(.*)\}\}$`)

// registered are all metrics of the controller, by name, except for those of Go and of the process. A
// registry does not show metrics without a value, so its collectors are read directly.
func registered(t *testing.T) []metric {
	t.Helper()
	found := map[string]metric{}
	field := reflect.ValueOf(crmetrics.Registry).Elem().FieldByName("collectorsByID")
	collectors := *(*map[uint64]prometheus.Collector)(field.Addr().UnsafePointer())
	for _, collector := range collectors {
		descs := make(chan *prometheus.Desc)
		go func() {
			defer close(descs)
			collector.Describe(descs)
		}()
		for desc := range descs {
			match := description.FindStringSubmatch(desc.String())
			if match == nil {
				t.Fatalf("unreadable: %s", desc)
			}
			name, help := unquoted(t, match[1]), unquoted(t, match[2])
			if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
				continue
			}
			found[name] = metric{name, kindOf(t, collector, name), labelled(match[3]), help}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b metric) int { return strings.Compare(a.name, b.name) })
}

func unquoted(t *testing.T, text string) string {
	t.Helper()
	plain, err := strconv.Unquote(text)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// labelled sorts the names of labels: Karpenter takes some from a map.
func labelled(names string) string {
	if names == "" {
		return ""
	}
	sorted := slices.Sorted(slices.Values(strings.Split(names, ",")))
	return "`" + strings.Join(sorted, "`, `") + "`"
}

func kindOf(t *testing.T, collector prometheus.Collector, name string) string {
	t.Helper()
	switch collector.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	case *prometheus.HistogramVec:
		return "histogram"
	case *prometheus.SummaryVec:
		return "summary"
	}
	families, err := crmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return strings.ToLower(f.GetType().String())
		}
	}
	t.Fatalf("%s is of an unknown kind, %T", name, collector)
	return ""
}

// once is for the registry, of which a process has only one.
var once sync.Once

// everythingRegistered registers the controllers of both processes with a manager that
// is never started, and what instance mode counts.
func everythingRegistered(t *testing.T) {
	t.Helper()
	instancetype.Register()
	if err := lkeplanv1alpha1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(discovery(t, scheme.Scheme))
	t.Cleanup(server.Close)
	cfg := Config{
		Kube: &rest.Config{Host: server.URL}, MetricsAddress: "0", ProbeAddress: "0",
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	cfg.NodePlans.Concurrent = 1
	mgr, err := newManager(&cfg, new(lease))
	if err != nil {
		t.Fatal(err)
	}
	linodeAPI, err := api.New("", "token", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	linodes := &account{
		api: linodeAPI, standing: api.NewStanding(api.ScopePools), prices: embeddedCatalog(),
		cluster: api.Cluster{ID: 1, Label: "dev", Region: "us-ord", Tier: "standard"},
	}
	linodeMetrics()
	if err := addControllers(t.Context(), mgr, cfg, linodes); err != nil {
		t.Fatal(err)
	}
	for _, counter := range instance.New(instance.Config{Log: cfg.Log}).Metrics() {
		err := registerMetrics(cfg, counter)
		if _, both := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !both {
			t.Fatal(err) // both modes have a metric with this name, and another meaning
		}
	}
}

// discovery serves the discovery of an API server with the kinds of a scheme.
func discovery(t *testing.T, of *runtime.Scheme) http.Handler {
	t.Helper()
	typed := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{Kind: kind, APIVersion: "v1"} }
	lists := map[schema.GroupVersion]*metav1.APIResourceList{}
	for kind := range of.AllKnownTypes() {
		gv := kind.GroupVersion()
		if kind.Version == runtime.APIVersionInternal || strings.HasSuffix(kind.Kind, "List") {
			continue
		}
		if lists[gv] == nil {
			lists[gv] = &metav1.APIResourceList{TypeMeta: typed("APIResourceList"), GroupVersion: gv.String()}
		}
		plural, singular := meta.UnsafeGuessKindToResource(kind)
		lists[gv].APIResources = append(lists[gv].APIResources, metav1.APIResource{
			Name: plural.Resource, SingularName: singular.Resource, Kind: kind.Kind, Verbs: metav1.Verbs{"get", "list", "watch"},
		})
	}
	answers := map[string]any{"/api": &metav1.APIVersions{TypeMeta: typed("APIVersions"), Versions: []string{"v1"}}}
	groups := map[string]*metav1.APIGroup{}
	for gv, list := range lists {
		if gv.Group == "" {
			answers["/api/"+gv.Version] = list
			continue
		}
		answers["/apis/"+gv.String()] = list
		if groups[gv.Group] == nil {
			groups[gv.Group] = &metav1.APIGroup{Name: gv.Group}
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		groups[gv.Group].Versions = append(groups[gv.Group].Versions, version)
		groups[gv.Group].PreferredVersion = version
	}
	all := &metav1.APIGroupList{TypeMeta: typed("APIGroupList")}
	for _, group := range groups {
		all.Groups = append(all.Groups, *group)
	}
	answers["/apis"] = all
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	})
}

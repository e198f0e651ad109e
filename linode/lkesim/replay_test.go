package lkesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const recordedDir = "../../../shared/data/recorded"

// notReplayed names the recordings that are not calls, with the reason.
var notReplayed = map[string]string{
	"lke-nodes.json": "Node objects, not calls of the Linode API: see TestNodesAreAsRecorded",
}

// from2025 names the recordings that were made before the API had locks on clusters and pools, and labels on pools; those
// of 2026 have them. That Enterprise has them by now, too, is an inference: its recordings are all of 2025.
var from2025 = []string{
	"TestLKECluster_Enterprise_smoke.json",
	"TestLKECluster_GetFound.json",
	"TestLKEClusters_List.json",
	"TestLKENodeEnterprisePoolNode_Get.json",
	"TestLKENodeEnterprisePoolNode_Update.json",
}

// others are the clusters that an account had beside those that the recording makes.
var others = map[string][]Config{
	"TestLKEClusters_List.json": {
		{Tier: "enterprise", Region: "us-ord", KubernetesVersion: "v1.31.8+lke1"},
		{Region: "us-southeast", KubernetesVersion: "1.31"},
	},
}

// compared are the keys whose values, not only their types, must be those of the recording.
var compared = []string{
	"count", "type", "status", "min", "max", "enabled", "tier", "region", "k8s_version", "high_availability", "disk_encryption",
	"update_strategy", "tags", "key", "value", "effect", "foo", "size", "reason", "field", "page", "hourly", "monthly", "memory",
	"disk", "vcpus", "transfer", "lke_cluster_id", "instance_id", "interface_generation", "hypervisor",
}

type recordedCall struct {
	Method   string
	Path     string
	XFilter  *string `json:"x_filter"`
	Request  json.RawMessage
	Status   int
	Headers  http.Header
	Response any
}

func TestReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordedDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("the recordings are not beside this repository")
	}
	replayed := 0
	for _, file := range files {
		name := filepath.Base(file)
		if reason, ok := notReplayed[name]; ok {
			t.Logf("%s is not replayed: %s", name, reason)
			continue
		}
		t.Run(strings.TrimSuffix(name, ".json"), func(t *testing.T) {
			replayed++
			newReplay(t, name).run(readRecording(t, file))
		})
	}
	if want := len(files) - len(notReplayed); replayed != want {
		t.Errorf("%d recordings replayed; want %d", replayed, want)
	}
}

func readRecording(t *testing.T, file string) []recordedCall {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var calls []recordedCall
	if err := json.Unmarshal(data, &calls); err != nil {
		t.Fatal(err)
	}
	return calls
}

// replay repeats recorded calls, with ids as they come: ids maps recorded ones to ours.
type replay struct {
	*testing.T
	sim *Simulator
	old bool
	ids map[string]string
}

func newReplay(t *testing.T, name string) *replay {
	var first Config
	beside := others[name]
	if len(beside) > 0 {
		first, beside = beside[0], beside[1:]
	}
	first.JoinDelay, first.DeleteDelay, first.ListDelay = time.Minute, 15*time.Second, 45*time.Second
	sim, err := New(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range beside {
		if _, err := sim.AddCluster(cfg); err != nil {
			t.Fatal(err)
		}
	}
	return &replay{T: t, sim: sim, old: slices.Contains(from2025, name), ids: map[string]string{}}
}

func (r *replay) run(calls []recordedCall) {
	for n, call := range calls {
		where := fmt.Sprintf("call %d, %s %s", n+1, call.Method, call.Path)
		status, header, body := r.send(call)
		if status != call.Status {
			r.Fatalf("%s: status %d; recorded %d (%s)", where, status, call.Status, body)
		}
		r.checkHeader(where, call.Headers, header)
		var got any
		if err := json.Unmarshal(body, &got); err != nil {
			r.Fatalf("%s: %v", where, err)
		}
		r.learn(call.Response, got)
		if diff := cmp.Diff(r.shape("", call.Response), r.shape("", r.strip(got))); diff != "" {
			r.Errorf("%s (-recorded +simulated):\n%s", where, diff)
		}
	}
}

func (r *replay) send(call recordedCall) (int, http.Header, []byte) {
	path, query, _ := strings.Cut(call.Path, "?")
	parts := strings.Split(path, "/")
	for n, part := range parts {
		parts[n] = or(r.ids[part], part)
	}
	req, err := http.NewRequestWithContext(r.Context(), call.Method,
		"http://linode.test"+strings.Join(parts, "/")+"?"+query, bytes.NewReader(call.Request))
	if err != nil {
		r.Fatal(err)
	}
	if call.XFilter != nil {
		req.Header.Set("X-Filter", *call.XFilter)
	}
	res, err := r.sim.Client().Do(req)
	if err != nil {
		r.Fatal(err)
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil {
		r.Fatal(err)
	}
	return res.StatusCode, res.Header, body.Bytes()
}

// checkHeader wants the same scopes, and a rate limit where one was recorded and only there. Its number varies between
// recordings.
func (r *replay) checkHeader(where string, want, got http.Header) {
	for _, key := range []string{"X-Accepted-Oauth-Scopes", "X-Oauth-Scopes"} {
		if diff := cmp.Diff(want[key], got[key]); diff != "" {
			r.Errorf("%s: %s (-recorded +simulated):\n%s", where, key, diff)
		}
	}
	if _, recorded := want["X-Ratelimit-Limit"]; recorded != (got.Get("X-Ratelimit-Limit") != "") {
		r.Errorf("%s: rate limit recorded %v, got %q", where, recorded, got.Get("X-Ratelimit-Limit"))
	}
}

// learn walks both answers and notes which of our ids stands for which recorded one. Members of a list are paired by
// what they look like: slots come in the order of their ids, which are random.
func (r *replay) learn(want, got any) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return
		}
		for _, key := range []string{"id", "instance_id"} {
			if isID(want[key]) && isID(got[key]) {
				r.ids[jsonText(want[key])] = jsonText(got[key])
			}
		}
		for key := range want {
			r.learn(want[key], got[key])
		}
	case []any:
		rest, _ := got.([]any)
		rest = slices.Clone(rest)
		for _, member := range want {
			n := slices.IndexFunc(rest, func(other any) bool { return r.pairs(member, r.strip(other)) })
			if n >= 0 {
				r.learn(member, rest[n])
				rest = slices.Delete(rest, n, n+1)
			}
		}
	}
}

// isID tells numbers and slots from the ids of versions and types, which are the same here and there.
func isID(v any) bool {
	_, number := v.(float64)
	return number || slotID.MatchString(jsonText(v))
}

var slotID = regexp.MustCompile(`^[0-9]+-[0-9a-f]{12}$`)

// pairs says whether two members of a list can stand for one another: known ids must agree, the rest look alike.
func (r *replay) pairs(want, got any) bool {
	w, ok1 := want.(map[string]any)
	g, ok2 := got.(map[string]any)
	if !ok1 || !ok2 {
		return false
	}
	if known, ok := r.ids[jsonText(w["id"])]; ok {
		return known == jsonText(g["id"])
	}
	return cmp.Equal(types(want), types(got)) && !slices.Contains(slices.Collect(maps.Values(r.ids)), jsonText(g["id"]))
}

// shape describes an answer: its keys, its types, and the values of compared keys, with recorded ids as ours. Members of
// a list are sorted, and in a list of rows, where the number depends on the account, alike ones are one.
func (r *replay) shape(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[key] = r.shape(key, member)
		}
		return out
	case []any:
		var out []string
		for _, member := range v {
			out = append(out, jsonText(r.shape(key, member)))
		}
		slices.Sort(out)
		if key == "data" {
			out = slices.Compact(out)
		}
		return out
	}
	if v != nil && slices.Contains(compared, key) {
		return or(r.ids[jsonText(v)], jsonText(v))
	}
	return types(v)
}

// types is a value with its scalars replaced by the names of their types.
func types(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[key] = types(member)
		}
		return out
	case []any:
		return "list"
	case nil:
		return "null"
	default:
		return fmt.Sprintf("%T", v)
	}
}

// strip takes out of our answer what the API of an old recording did not have yet.
func (r *replay) strip(v any) any {
	if !r.old {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			_, isPool := v["nodes"]
			if key != "locks" && (key != "label" || !isPool) {
				out[key] = r.strip(member)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, member := range v {
			out = append(out, r.strip(member))
		}
		return out
	}
	return v
}

// jsonText is a scalar as it stands in a path, or any value as JSON.
func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	if f, ok := v.(float64); ok && f == float64(int(f)) {
		return fmt.Sprintf("%d", int(f))
	}
	text, _ := json.Marshal(v)
	return string(text)
}

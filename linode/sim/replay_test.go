package sim

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// from2025 names the recordings that were made before the API had locks on clusters and pools, and labels on pools;
// those of 2026 have them. That Enterprise has them by now, too, is an inference: its recordings are all of 2025.
var from2025 = []string{
	"LKECluster_Enterprise_smoke",
	"LKECluster_GetFound",
	"LKEClusters_List",
	"LKENodeEnterprisePoolNode_Get",
	"LKENodeEnterprisePoolNode_Update",
}

// others are the clusters that an account had in addition to those that the recording creates.
var others = map[string][]Config{
	"LKEClusters_List": {
		{Tier: "enterprise", Region: "us-ord", KubernetesVersion: "v1.31.8+lke1"},
		{Region: "us-southeast", KubernetesVersion: "1.31"},
	},
}

// compared are the keys whose values, not only their types, must be those of the recording.
var compared = []string{
	"count", "type", "status", "min", "max", "enabled", "tier", "region", "k8s_version", "high_availability",
	"disk_encryption",
	"update_strategy", "tags", "key", "value", "effect", "foo", "size", "reason", "field", "page", "hourly", "monthly",
	"memory",
	"disk", "vcpus", "transfer", "lke_cluster_id", "instance_id", "interface_generation", "hypervisor",
}

// recordedCall is a call of testdata/replay.txtar.
type recordedCall struct {
	method, path   string
	request        string
	status         int
	needs, granted string // scopes: of the call, of the token
	limited        bool   // the answer has the headers of a rate limit
	answer         any
}

func TestReplay(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/replay.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			newReplay(t, file.Name).run(readRecording(t, string(file.Data)))
		})
	}
}

// readRecording reads calls of three lines each; the archive says which.
func readRecording(t *testing.T, text string) (calls []recordedCall) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for ; len(lines) >= 3; lines = lines[3:] {
		var c recordedCall
		head := strings.SplitN(strings.TrimPrefix(lines[0], "> "), " ", 3)
		c.method, c.path = head[0], head[1]
		if len(head) == 3 {
			c.request = head[2]
		}
		answered := strings.Fields(strings.TrimPrefix(lines[1], "< "))
		status, err := strconv.Atoi(answered[0])
		if err != nil {
			t.Fatalf("%s: %v", lines[1], err)
		}
		c.status, c.needs, c.granted, c.limited = status, answered[1], answered[2], len(answered) == 4
		if err := json.Unmarshal([]byte(lines[2]), &c.answer); err != nil {
			t.Fatalf("%s: %v", lines[2], err)
		}
		calls = append(calls, c)
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
	more := others[name]
	if len(more) > 0 {
		first, more = more[0], more[1:]
	}
	first.JoinDelay, first.DeleteDelay, first.ListDelay = time.Minute, 15*time.Second, 45*time.Second
	sim, err := New(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range more {
		if _, err := sim.AddCluster(cfg); err != nil {
			t.Fatal(err)
		}
	}
	return &replay{T: t, sim: sim, old: slices.Contains(from2025, name), ids: map[string]string{}}
}

func (r *replay) run(calls []recordedCall) {
	for n, call := range calls {
		where := fmt.Sprintf("call %d, %s %s", n+1, call.method, call.path)
		status, header, body := r.send(call)
		if status != call.status {
			r.Fatalf("%s: status %d; recorded %d (%s)", where, status, call.status, body)
		}
		r.checkHeader(where, call, header)
		var got any
		if err := json.Unmarshal(body, &got); err != nil {
			r.Fatalf("%s: %v", where, err)
		}
		r.pair(call.answer, got)
		if diff := cmp.Diff(r.shape("", call.answer), r.shape("", r.strip(got))); diff != "" {
			r.Errorf("%s (-recorded +simulated):\n%s", where, diff)
		}
	}
}

func (r *replay) send(call recordedCall) (int, http.Header, []byte) {
	path, query, _ := strings.Cut(call.path, "?")
	parts := strings.Split(path, "/")
	for n, part := range parts {
		parts[n] = stdcmp.Or(r.ids[part], part)
	}
	req, err := http.NewRequestWithContext(r.Context(), call.method,
		"http://linode.test"+strings.Join(parts, "/")+"?"+query, strings.NewReader(call.request))
	if err != nil {
		r.Fatal(err)
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

// checkHeader wants the same scopes, and the headers of a rate limit where they were recorded and only there.
func (r *replay) checkHeader(where string, want recordedCall, got http.Header) {
	scopes := got.Get("X-Accepted-Oauth-Scopes") + " " + got.Get("X-Oauth-Scopes")
	if scopes != want.needs+" "+want.granted {
		r.Errorf("%s: scopes %q; recorded %s %s", where, scopes, want.needs, want.granted)
	}
	if want.limited != (got.Get("X-Ratelimit-Limit") != "") {
		r.Errorf("%s: rate limit recorded %v, got %q", where, want.limited, got.Get("X-Ratelimit-Limit"))
	}
}

// pair walks both answers and notes which of our ids stands for which recorded one. Members of a list are paired by
// what they look like: slots come in the order of their ids, which are random.
func (r *replay) pair(want, got any) {
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
			r.pair(want[key], got[key])
		}
	case []any:
		rest, _ := got.([]any)
		rest = slices.Clone(rest)
		for _, member := range want {
			n := slices.IndexFunc(rest, func(other any) bool { return r.alike(member, r.strip(other)) })
			if n >= 0 {
				r.pair(member, rest[n])
				rest = slices.Delete(rest, n, n+1)
			}
		}
	}
}

// isID distinguishes numbers and slots from the ids of versions and types, which are the same here and there.
func isID(v any) bool {
	_, number := v.(float64)
	return number || slotID.MatchString(jsonText(v))
}

var slotID = regexp.MustCompile(`^[0-9]+-[0-9a-f]{12}$`)

// alike reports whether two members of a list can stand for one another: known ids must agree, the rest look alike.
func (r *replay) alike(want, got any) bool {
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

// shape describes an answer: its keys, its types, and the values of compared keys, with recorded ids as ours. Members
// of a list are sorted, and in a list of rows, where the number depends on the account, alike ones are one.
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
		return stdcmp.Or(r.ids[jsonText(v)], jsonText(v))
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

package kube_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/kube/kubetest"
)

// writtenByTool is an API server that returns the given answers in turn, and records its requests.
type writtenByTool struct {
	kinds   kubetest.Server
	answers []string // the names of answers
	asked   []string
}

// RoundTrip implements http.RoundTripper.
func (w *writtenByTool) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.Trim(r.URL.Path, "/")
	if !strings.HasSuffix(path, "/web") {
		return w.kinds.RoundTrip(r)
	}
	line := r.Method + " " + path[strings.LastIndex(path, "/")+1:]
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		line += " " + name + "=" + query.Get(name)
	}
	body := map[string]any{}
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil && err != io.EOF {
			return nil, err
		}
	}
	for _, part := range []string{"metadata", "preconditions", "deleteOptions"} {
		if body[part] != nil {
			text, err := json.Marshal(body[part])
			if err != nil {
				return nil, err
			}
			line += " " + string(text)
		}
	}
	w.asked = append(w.asked, line)
	answer := answers["the pool"]
	if len(w.answers) > 0 {
		answer, w.answers = answers[w.answers[0]], w.answers[1:]
	}
	code := http.StatusOK
	for reason, n := range map[string]int{"NotFound": 404, "Conflict": 409} {
		if strings.Contains(answer, `"reason": "`+reason+`"`) {
			code = n
		}
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader([]byte(answer))),
	}, nil
}

const stored = `{"apiVersion": "karpenter.sh/v1", "kind": "NodePool",
	"metadata": {"name": "web", "uid": "1", "resourceVersion": "7"}, "spec": {"weight": 10}}`

func conflicting(causes string) string {
	return `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409,
		"message": "Apply failed", "details": {"causes": [` + causes + `]}}`
}

func cause(owner, field string) string {
	return `{"reason": "FieldManagerConflict", "message": "conflict with \"` + owner + `\"", "field": "` + field + `"}`
}

var answers = map[string]string{
	"the pool":  stored,
	"a success": `{"apiVersion": "v1", "kind": "Status", "status": "Success"}`,
	"not there": `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}`,
	"changed":   conflicting(""),
	"weight":    conflicting(cause("jane", ".spec.weight")),
	"both":      conflicting(cause("jane", ".spec.weight") + "," + cause("joe", ".spec.limits.cpu")),
}

// TestApplyKeepsFieldsOfOthers: an apply takes over a field only if it is forced, and only the
// object that was read is deleted.
func TestApplyKeepsFieldsOfOthers(t *testing.T) {
	object := func() (obj map[string]any) {
		if err := json.Unmarshal([]byte(stored), &obj); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	desired := object()
	desired["metadata"] = map[string]any{"name": "web"}
	apply := func(c *kube.Cluster) error { _, err := c.Apply(t.Context(), desired, object()); return err }
	force := func(c *kube.Cluster) error { _, err := c.ApplyForced(t.Context(), desired, object()); return err }
	remove := func(c *kube.Cluster) error { return c.Delete(t.Context(), object()) }
	orphan := func(c *kube.Cluster) error { return c.Orphan(t.Context(), object()) }
	takeBack := func(c *kube.Cluster) error {
		_, err := c.TakeBack(t.Context(), desired, object(), []string{"spec.weight"})
		return err
	}
	const (
		dryRun  = `PATCH web dryRun=All fieldManager=lkeplan {"name":"web"}`
		byForce = `PATCH web dryRun=All fieldManager=lkeplan force=true {"name":"web"}`
		exactly = `PATCH web fieldManager=lkeplan force=true {"name":"web","resourceVersion":"7"}`
	)
	sends := `PATCH web fieldManager=lkeplan {"name":"web"}`
	for name, tt := range map[string]struct {
		do      func(*kube.Cluster) error
		answers []string
		want    []string
		err     string
	}{
		"an apply": {do: apply, want: []string{sends}},
		"an apply in conflict": {do: apply, answers: []string{"both"}, want: []string{sends},
			err: "NodePool web: other field managers set other values; nothing was changed:\n  .spec.weight: conflict with \"jane\""},
		"an apply that is answered with something else": {do: apply, answers: []string{"a success"},
			want: []string{sends}, err: "did not answer with the object"},
		"a forced apply":             {do: force, want: []string{`PATCH web fieldManager=lkeplan force=true {"name":"web"}`}},
		"a deletion":                 {do: remove, want: []string{`DELETE web {"uid":"1"}`}},
		"a deletion of what is gone": {do: remove, answers: []string{"not there"}, want: []string{`DELETE web {"uid":"1"}`}},
		"a deletion of another object": {do: remove, answers: []string{"changed"}, want: []string{`DELETE web {"uid":"1"}`},
			err: "delete NodePool web: another object with this name has replaced it"},
		"an object that is orphaned": {do: orphan,
			want: []string{`PATCH web fieldManager=lkeplan {"annotations":{"lkeplan.dev/directory":null},"labels":{"lkeplan.dev/part-of":null}}`}},
		"a field that is taken back": {do: takeBack, answers: []string{"the pool", "weight", "the pool", "the pool"},
			want: []string{"GET web", dryRun, byForce, exactly}},
		"a field that is taken back after other fields": {do: takeBack, answers: []string{"the pool", "both", "the pool"},
			want: []string{"GET web", dryRun, byForce},
			err:  "NodePool web: nothing was changed: joe has set .spec.limits.cpu meanwhile"},
		"a field that is taken back during another write": {do: takeBack,
			answers: []string{"the pool", "weight", "the pool", "changed", "the pool", "the pool", "the pool"},
			want:    []string{"GET web", dryRun, byForce, exactly, "GET web", dryRun, exactly}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &writtenByTool{answers: tt.answers, kinds: kubetest.Server{
				Kinds: map[string]string{"karpenter.sh/v1/nodepools": "NodePool"},
			}}
			c, err := kube.NewCluster(&rest.Config{Host: "https://api.test:6443", Transport: server})
			if err != nil {
				t.Fatal(err)
			}
			err = tt.do(c)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, server.asked); diff != "" {
				t.Errorf("what was sent (-want +got):\n%s", diff)
			}
		})
	}
}

package inspect

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// ward is a cluster with these objects by kind, as YAML.
type ward map[string][]string

func (w ward) List(_ context.Context, _, kind string) (objects []map[string]any, err error) {
	for _, text := range w[kind] {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

func (w ward) Get(ctx context.Context, like map[string]any) (map[string]any, error) {
	all, err := w.List(ctx, "", manifest.Kind(like))
	for _, obj := range all {
		if manifest.Name(obj) == manifest.Name(like) {
			return obj, nil
		}
	}
	return nil, err
}

// TestAPolicyIsBound: a policy without a binding forbids nothing.
func TestAPolicyIsBound(t *testing.T) {
	const policy, plan = `{metadata: {name: lkeplan-approval}}`, `{metadata: {name: fleet}}`
	bound := func(to, action string) []string {
		return []string{`{metadata: {name: x}, spec: {policyName: ` + to + `, validationActions: [` + action + `]}}`}
	}
	const kind = "ValidatingAdmissionPolicy"
	for name, tt := range map[string]struct {
		in   ward
		want Level // "" for no finding
	}{
		"nothing to approve, and no policy": {ward{}, ""},
		"no policy":                         {ward{"NodePlan": {plan}}, LevelWarn},
		"a policy that nothing binds":       {ward{"NodePlan": {plan}, kind: {policy}}, LevelWarn},
		"one that is bound": {ward{"NodePlan": {plan}, kind: {policy},
			kind + "Binding": bound("lkeplan-approval", "Deny")}, LevelOK},
		"one that only warns": {ward{"NodePlan": {plan}, kind: {policy},
			kind + "Binding": bound("lkeplan-approval", "Warn, Audit")}, LevelWarn},
		"a binding of another":                           {ward{"NodePlan": {plan}, kind: {policy}, kind + "Binding": bound("other", "Deny")}, LevelWarn},
		"nothing to approve, and one that nothing binds": {ward{kind: {policy}}, LevelWarn},
	} {
		var level Level
		found := Installation{Cluster: examined{ward: tt.in}}.policies(t.Context())
		if len(found) == 1 {
			level = found[0].Level
		}
		if len(found) > 1 || level != tt.want || level == LevelWarn && found[0].Do == "" {
			t.Errorf("%s: %+v, want %q", name, found, tt.want)
		}
	}
}

// examined is a cluster that answers dry runs with an error, and requests for its version and
// the rights of the user. Other requests panic.
type examined struct {
	Cluster // what is not asked here
	ward
	dryRun  error
	may     map[string]bool // verbs
	mayErr  error
	version string // of the API server
}

func (e examined) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	return e.ward.List(ctx, apiVersion, kind)
}

func (e examined) Get(ctx context.Context, like map[string]any) (map[string]any, error) {
	return e.ward.Get(ctx, like)
}

func (e examined) Server(context.Context) (version.Info, time.Time, error) {
	return version.Info{GitVersion: e.version}, time.Time{}, nil
}

func (e examined) DryRun(context.Context, map[string]any, map[string]any) (map[string]any, []manifest.Conflict, error) {
	return nil, nil, e.dryRun
}

func (e examined) MayI(_ context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	return e.may[what.Verb], e.mayErr
}

// TestADryRunThatIsNotAllowed shows nothing about what the controller can write.
func TestADryRunThatIsNotAllowed(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodepools"}, "x", errors.New("no"))
	all := map[string]bool{"patch": true, "create": true}
	for name, tt := range map[string]struct {
		in   examined
		want Level
	}{
		"it is taken":                        {examined{may: all}, LevelOK},
		"this user may not":                  {examined{dryRun: forbidden}, LevelWarn},
		"this user may not make new ones":    {examined{dryRun: forbidden, may: map[string]bool{"patch": true}}, LevelWarn},
		"a policy forbids it":                {examined{dryRun: forbidden, may: all}, LevelFail},
		"a webhook does not answer":          {examined{dryRun: errors.New("timeout"), may: all}, LevelFail},
		"the rights of the user are unknown": {examined{dryRun: forbidden, mayErr: errors.New("no")}, LevelFail},
	} {
		found := Installation{Cluster: tt.in}.admission(t.Context())
		if len(found) != 1 || found[0].Level != tt.want || found[0].Level != LevelOK && found[0].Do == "" {
			t.Errorf("%s: %+v, want %s", name, found, tt.want)
		}
	}
}

// TestSuspendedNodePlanIsReported as suspended, and not as waiting for its controller.
func TestSuspendedNodePlanIsReported(t *testing.T) {
	in := ward{"NodePlan": {
		`{apiVersion: lkeplan.dev/v1alpha1, kind: NodePlan, metadata: {namespace: ten, name: a, generation: 2}, spec: {suspend: true},
			status: {conditions: [{type: Ready, status: "False", message: no}]}}`,
		`{apiVersion: lkeplan.dev/v1alpha1, kind: NodePlan, metadata: {namespace: ten, name: b}, spec: {suspend: false}}`,
	}}
	found := Installation{Cluster: examined{ward: in}}.objects(t.Context())
	if len(found) != 2 || found[0].Text != "it is suspended: nothing is compared or applied" ||
		found[0].Do != "lkeplan nodeplan resume -n ten a" || found[1].Text != "not ready: no controller has reported on it; is the lkeplan controller running?" {
		t.Errorf("%+v", found)
	}
}

// TestReadyPoolWithoutMachinesIsReported: a NodePool can be ready, and still get no machine.
func TestReadyPoolWithoutMachinesIsReported(t *testing.T) {
	pool := func(conditions ...any) map[string]any {
		return map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
			"status": map[string]any{"conditions": conditions}}
	}
	condition := func(of, status string) any {
		return map[string]any{"type": of, "status": status, "reason": "NoMachine", "message": "none of g6-standard-4",
			"lastTransitionTime": "2026-11-20T17:00:00Z"}
	}
	want := []Finding{{LevelWarn, "NodePool web", "none of g6-standard-4", "lkeplan why pool web"}}
	for _, of := range []string{"OutOfStock", "ReplicaFailure"} {
		if diff := cmp.Diff(want, machines(pool(condition("Ready", "True"), condition(of, "True")))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", of, diff)
		}
		if found := machines(pool(condition("Ready", "True"), condition(of, "False"))); len(found) > 0 {
			t.Errorf("%s that is false: %+v", of, found)
		}
	}
}

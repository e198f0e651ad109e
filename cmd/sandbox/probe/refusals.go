package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Experiments about what the API refuses. Most requests have a second mistake that is certainly refused, so that
// nothing is created if the API accepts what the experiment is about.

// mistaken sends a pool with an additional taint of an unknown effect, and returns the reasons of the refusal
// without the one for the taint.
func (r *run) mistaken(ctx context.Context, pool fields) ([]api.Reason, error) {
	body := r.poolOf(small, 1)
	body["taints"] = []fields{{"key": "probe", "value": "x", "effect": "Never"}}
	for key, value := range pool {
		body[key] = value
	}
	var made api.Pool
	err := r.api.Call(ctx, http.MethodPost, r.path("pools"), "", body, &made)
	if err == nil {
		return nil, errors.Join(errors.New("the API accepts a taint with the effect Never"),
			r.api.DeletePool(ctx, r.cluster.ID, made.ID))
	}
	reasons, err := reasonsOf(err)
	return without(reasons, "taints"), err
}

// namesAll returns an error if the API reports only the first mistake of a request, because then experiments have
// no result.
func (r *run) namesAll(ctx context.Context, wrong fields) error {
	reasons, err := r.mistaken(ctx, wrong)
	if err == nil && len(reasons) == 0 {
		err = errors.New("the API names one mistake at a time")
	}
	return err
}

// reasonsOf returns the reasons of a 400. It returns any other error.
func reasonsOf(err error) ([]api.Reason, error) {
	answer, ok := errors.AsType[*api.Error](err)
	if !ok || answer.Status != http.StatusBadRequest {
		return nil, err
	}
	return answer.Reasons, nil
}

// about reports whether a reason is about a field or a part of it.
func about(reason api.Reason, field string) bool {
	return reason.Field == field || strings.HasPrefix(reason.Field, field+".") || strings.HasPrefix(reason.Field, field+"[")
}

func without(reasons []api.Reason, field string) []api.Reason {
	return slices.DeleteFunc(slices.Clone(reasons), func(reason api.Reason) bool { return about(reason, field) })
}

func quote(reasons []api.Reason) string {
	var texts []string
	for _, reason := range reasons {
		texts = append(texts, strings.TrimPrefix(fmt.Sprintf("%s: %q", reason.Field, reason.Reason), ": "))
	}
	return strings.Join(texts, "; ")
}

// refused reports whether all reasons are about a field.
func refused(reasons []api.Reason, field string) (bool, string, error) {
	if len(reasons) == 0 {
		return false, "accepted", nil
	}
	return len(without(reasons, field)) == 0, "400 " + quote(reasons), nil
}

// reserved is an experiment of the probe. It tests the assumption: LKE refuses keys of `kubernetes.io` and
// `linode.com` as pool labels and taints.
func reserved(ctx context.Context, r *run) (bool, string, error) {
	pool, err := r.basePool(ctx)
	if err != nil {
		return false, "", err
	}
	var seen string
	for _, key := range []string{"example.kubernetes.io/probe", "example.linode.com/probe"} {
		taint := fields{"key": key, "value": "x", "effect": "PreferNoSchedule"}
		for field, value := range map[string]any{"labels": fields{key: "x"}, "taints": []fields{taint}} {
			err := r.put(ctx, pool.ID, fields{field: value})
			if err == nil {
				return false, field + " with " + key + " accepted", r.put(ctx, pool.ID, fields{"labels": fields{}, "taints": []any{}})
			}
			reasons, err := reasonsOf(err)
			if err != nil {
				return false, "", err
			}
			ok, text, _ := refused(reasons, field)
			seen = text
			if !ok {
				return false, text, nil
			}
		}
	}
	return true, seen, nil
}

// poolSize is an experiment of the probe. It tests the assumption: a pool has at most 100 nodes on standard and 500
// on Enterprise.
func poolSize(ctx context.Context, r *run) (bool, string, error) {
	most := 100
	if r.Tier == catalog.Enterprise {
		most = 500
	}
	if err := r.namesAll(ctx, fields{"count": -1}); err != nil {
		return false, "", err
	}
	within, err := r.mistaken(ctx, fields{"count": most})
	if err != nil || len(within) > 0 {
		return false, fmt.Sprintf("%d refused: %s", most, quote(within)), err
	}
	reasons, err := r.mistaken(ctx, fields{"count": most + 1})
	if err != nil {
		return false, "", err
	}
	return refused(reasons, "count")
}

// ofPlan returns the API's reasons for a pool of a plan, if it reports all mistakes.
func (r *run) ofPlan(ctx context.Context, fits func(catalog.Plan) bool) (plan string, reasons []api.Reason, err error) {
	for _, p := range r.catalog.Plans() {
		if fits(p) {
			plan = p.ID
			break
		}
	}
	if plan == "" {
		return "", nil, fmt.Errorf("%s sells no such plan; try another --region", r.Region)
	}
	if err := r.namesAll(ctx, fields{"type": "no-such-plan"}); err != nil {
		return plan, nil, err
	}
	reasons, err = r.mistaken(ctx, fields{"type": plan})
	return plan, reasons, err
}

// plan512 is an experiment of the probe. It tests the assumption: LKE accepts no plan with 512 GB; for G8 this is
// assumed.
func plan512(ctx context.Context, r *run) (bool, string, error) {
	plan, reasons, err := r.ofPlan(ctx, func(p catalog.Plan) bool { return p.MemoryMiB == 512<<10 })
	if err != nil {
		return false, "", err
	}
	ok, seen, err := refused(reasons, "type")
	return ok, plan + ": " + seen, err
}

// gpu tests only whether the request is valid: a plan that is closed to the account may be refused later.
func gpu(ctx context.Context, r *run) (bool, string, error) {
	plan, reasons, err := r.ofPlan(ctx, func(p catalog.Plan) bool {
		return p.Class == "gpu" && r.catalog.Sold(p.ID, r.Region, catalog.EnterpriseGPU) && r.catalog.InStock(p.ID, r.Region)
	})
	return len(reasons) == 0, strings.TrimRight(plan+" "+quote(reasons), " "), err
}

// planClosed is the API's reason for a new Linode of a plan that is closed to the account.
const planClosed = "preventing the deployment of the selected Linode plan"

// closed is an experiment of the probe. It tests the assumption: LKE refuses a plan that is closed to the account
// with the same text as for a new Linode.
func closed(ctx context.Context, r *run) (bool, string, error) {
	capabilities, err := r.api.Capabilities(ctx)
	if err != nil {
		return false, "", err
	}
	plan, reasons, err := r.ofPlan(ctx, func(p catalog.Plan) bool {
		return p.OfAccount() != "" && !slices.Contains(capabilities, p.OfAccount()) && r.catalog.Sold(p.ID, r.Region, r.Tier)
	})
	if err != nil {
		return false, "", err
	}
	closed := slices.ContainsFunc(reasons, func(reason api.Reason) bool { return strings.Contains(reason.Reason, planClosed) })
	return closed, plan + " " + quote(reasons), nil
}

// downgrade requests an older version of the control plane, together with a label that is refused.
func downgrade(ctx context.Context, r *run) (bool, string, error) {
	var older, newer string
	for _, v := range r.versions {
		if catalog.NewerVersion(r.cluster.K8sVersion, v) {
			older = v
		} else if catalog.NewerVersion(v, r.cluster.K8sVersion) {
			newer = v
		}
	}
	ask := func(version string) ([]api.Reason, error) {
		err := r.api.Call(ctx, http.MethodPut, r.path(""), "", fields{"label": Tag + "!", "k8s_version": version}, nil)
		if err == nil {
			return nil, errors.New("the API accepts a label with an exclamation mark")
		}
		reasons, err := reasonsOf(err)
		return without(reasons, "label"), err
	}
	wrong, err := ask("no-such-version")
	switch {
	case err != nil:
		return false, "", err
	case len(wrong) == 0:
		return false, "", errors.New("the API names one mistake at a time")
	case older == "":
		return false, "", errors.New("no older version is on offer")
	}
	reasons, err := ask(older)
	if err != nil {
		return false, "", err
	}
	ok, seen, err := refused(reasons, "k8s_version")
	if !ok || r.Tier != catalog.Enterprise || newer == "" {
		return ok, older + ": " + seen, err
	}
	if reasons, err = r.mistaken(ctx, fields{"k8s_version": newer}); err != nil {
		return false, "", err
	}
	ok, more, err := refused(reasons, "k8s_version")
	return ok, seen + "; a newer pool: " + more, err
}

// builds is an experiment of the probe. It tests the assumption: LKE Enterprise refuses a pool of a build that it
// no longer offers with the field `k8s_version`, and accepts one of the newest build of the minor version.
func builds(ctx context.Context, r *run) (bool, string, error) {
	retired := "v1.31.0+lke0"
	body := r.poolOf(small, 1)
	body["k8s_version"] = retired
	var made api.Pool
	err := r.api.Call(ctx, http.MethodPost, r.path("pools"), "", body, &made)
	if err == nil {
		return false, retired + " accepted", r.api.DeletePool(ctx, r.cluster.ID, made.ID)
	}
	reasons, err := reasonsOf(err)
	if err != nil {
		return false, "", err
	}
	ok, seen, err := refused(reasons, "k8s_version")
	if !ok {
		return false, seen, err
	}
	newest := r.cluster.K8sVersion
	for _, v := range r.versions {
		if sameMinor(v, newest) && catalog.NewerVersion(v, newest) {
			newest = v
		}
	}
	body["k8s_version"] = newest
	if err := r.api.Call(ctx, http.MethodPost, r.path("pools"), "", body, &made); err != nil {
		reasons, err := reasonsOf(err)
		return false, newest + " refused: " + quote(reasons), err
	}
	return true, seen + "; " + newest + " accepted", r.api.DeletePool(ctx, r.cluster.ID, made.ID)
}

func sameMinor(a, b string) bool {
	v, _ := catalog.ParseVersion(a)
	w, _ := catalog.ParseVersion(b)
	return v.Minor() == w.Minor()
}

// token sends a call with an invalid token, and one with the valid one.
func token(ctx context.Context, r *run) (bool, string, error) {
	wrong, err := api.New(r.URL, strings.Repeat("0", 64), api.Options{Transport: r.Transport})
	if err != nil {
		return false, "", err
	}
	_, err = wrong.Clusters(ctx)
	answer, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err == nil, "a token that does not exist is accepted", err
	}
	if _, err := r.api.Clusters(ctx); err != nil {
		return false, "", err
	}
	seen := fmt.Sprintf("%d, then 200 with the right token", answer.Status)
	return answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden, seen, nil
}

// scopes compares the scopes that answers name with those of Linode's documents, and sends a call for which the token
// lacks the scope.
func scopes(ctx context.Context, r *run) (bool, string, error) {
	for call, scope := range r.rec.needs {
		if want := documentedScope(call); want != "" && scope != want {
			return false, fmt.Sprintf("%s needs %s, not %s", call, scope, want), nil
		}
	}
	seen := fmt.Sprintf("%d calls need the documented scopes; ", len(r.rec.needs))
	err := r.api.Call(ctx, http.MethodGet, "vpcs", "", nil, nil)
	if err == nil {
		return true, seen + "the token lacks none", nil
	}
	answer, ok := errors.AsType[*api.Error](err)
	if !ok {
		return false, "", err
	}
	return api.ClassOf(err) == api.ClassAuth, fmt.Sprintf("%s%d without one", seen, answer.Status), nil
}

// documentedScope returns the scope that Linode's documents name for a call, such as "GET /lke/clusters/{}"; "" for
// public ones.
func documentedScope(call string) string {
	method, path, _ := strings.Cut(call, " ")
	access := ":read_write"
	if method == http.MethodGet && !strings.HasSuffix(path, "/kubeconfig") {
		access = ":read_only"
	}
	for _, row := range [][2]string{
		{"/lke/", "lke"}, {"/linode/", "linodes"}, {"/placement/", "linodes"},
		{"/networking/firewalls", "firewall"}, {"/account/events", "events"}, {"/account", "account"},
	} {
		if strings.HasPrefix(path, row[0]) {
			return row[1] + access
		}
	}
	return ""
}

// prices compares the API's price list with the built-in one.
func prices(_ context.Context, r *run) (bool, string, error) {
	known, err := catalog.Embedded()
	if err != nil {
		return false, "", err
	}
	var other []string
	compared := 0
	for _, p := range known.Plans() {
		if now, ok := r.catalog.Plan(p.ID); ok && p.Price.Known() && now.Price.Known() {
			compared++
			if p.Price.Hourly != now.Price.Hourly {
				other = append(other, fmt.Sprintf("%s %s, not %s", p.ID, now.Price.AnHour(), p.Price.Hourly))
			}
		}
	}
	if len(other) > 0 {
		return false, strings.Join(other, "; "), nil
	}
	return compared > 0, fmt.Sprintf("%d plans have the same price", compared), nil
}

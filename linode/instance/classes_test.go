package instance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/linode/linodego"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lkeplan/lkeplan/linode/api"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// owned is what an account has.
type owned struct {
	asked     *int
	images    []api.Image
	firewalls map[string][]int
	vpcs      []api.VPC
	groups    []api.PlacementGroup
	err       error
}

var missing = &api.Error{Status: 404}

func (o owned) Image(_ context.Context, id string) (api.Image, error) {
	if o.asked != nil {
		*o.asked++
	}
	for _, i := range o.images {
		if i.ID == id {
			return i, o.err
		}
	}
	return api.Image{}, errors.Join(o.err, missing)
}
func (o owned) PrivateImages(context.Context) ([]api.Image, error) {
	return slices.Clone(o.images), o.err
}
func (o owned) Firewall(_ context.Context, id int) error {
	if id != 7 {
		return missing
	}
	return o.err
}
func (o owned) Firewalls(_ context.Context, label string) ([]int, error) {
	return o.firewalls[label], o.err
}
func (o owned) VPCs(context.Context) ([]api.VPC, error) { return o.vpcs, o.err }
func (o owned) PlacementGroups(context.Context) ([]api.PlacementGroup, error) {
	return o.groups, o.err
}

func golden(id string, day int, change func(*api.Image)) api.Image {
	at := time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
	i := api.Image{
		ID: id, Label: "golden", Capabilities: []string{"cloud-init"}, Status: "available", Created: &at,
		Regions: []linodego.ImageRegion{{Region: "us-ord", Status: "available"}},
	}
	if change != nil {
		change(&i)
	}
	return i
}

var account = owned{
	images: []api.Image{
		{ID: "linode/debian12", IsPublic: true, Capabilities: []string{"cloud-init"}, Status: "available"},
		{ID: "linode/old", IsPublic: true, Status: "available"},
		golden("private/1", 1, nil), golden("private/2", 2, nil),
		golden("private/3", 3, func(i *api.Image) { i.Regions[0].Region = "us-sea" }),
		golden("private/4", 4, func(i *api.Image) { i.Capabilities = nil }),
		golden("private/5", 5, func(i *api.Image) { i.Status = "creating" }),
		golden("private/6", 6, func(i *api.Image) { i.Label, i.Tags = "other", []string{"nightly"} }),
	},
	firewalls: map[string][]int{"web": {8}, "twice": {8, 9}},
	vpcs: []api.VPC{
		{ID: 20, Label: "prod", Region: "us-sea", Subnets: []linodego.VPCSubnet{{ID: 30, Label: "nodes"}}},
		{ID: 21, Label: "prod", Region: "us-ord", Subnets: []linodego.VPCSubnet{{ID: 31, Label: "nodes"}, {ID: 32, Label: "db"}}},
	},
	groups: []api.PlacementGroup{{ID: 40, Label: "spread", Region: "us-ord"}, {ID: 41, Label: "far", Region: "us-sea"}},
}

// TestClassReferencesAreResolved, in the cluster's region; what was found stays for as long as it is there.
func TestClassReferencesAreResolved(t *testing.T) {
	type selected = linodev1alpha1.Selected
	type by = linodev1alpha1.Selection
	for _, tc := range []struct {
		spec   string
		before *selected
		want   selected
		wrong  string
	}{
		{spec: `{image: linode/debian12}`, want: selected{Image: "linode/debian12"}},
		{spec: `{image: linode/gone}`, wrong: "spec.image: image linode/gone does not exist"},
		{spec: `{image: linode/old}`, wrong: "spec.image: image linode/old has no cloud-init"},
		{spec: `{image: private/3}`, wrong: "spec.image: image private/3 is not in us-ord"},
		{spec: `{image: private/5}`, wrong: "spec.image: image private/5 is creating"},
		{spec: `{select: {image: golden}}`, want: selected{Image: "private/2"}},
		{spec: `{select: {image: nightly}}`, want: selected{Image: "private/6"}},
		{spec: `{select: {image: linode/debian12}}`, wrong: "spec.select.image: the account has no private image"},
		{
			spec: `{select: {image: golden}}`, before: &selected{By: by{Image: "golden"}, Image: "private/1"},
			want: selected{Image: "private/1"},
		},
		{
			spec: `{select: {image: golden}}`, before: &selected{By: by{Image: "other"}, Image: "private/1"},
			want: selected{Image: "private/2"},
		},
		{
			spec: `{select: {image: golden}}`, before: &selected{By: by{Image: "golden"}, Image: "private/99"},
			want: selected{Image: "private/2"},
		},
		{spec: `{image: linode/debian12, firewallID: 7}`, want: selected{Image: "linode/debian12", FirewallID: 7}},
		{spec: `{image: linode/debian12, firewallID: 9}`, wrong: "spec.firewallID: the account has no firewall 9"},
		{spec: `{image: linode/debian12, select: {firewall: web}}`, want: selected{Image: "linode/debian12", FirewallID: 8}},
		{spec: `{image: linode/debian12, select: {firewall: twice}}`, wrong: `the account has 2 firewalls with the label "twice"`},
		{
			spec: `{image: linode/debian12, select: {vpc: prod, subnet: nodes}}`,
			want: selected{Image: "linode/debian12", VPCID: 21, SubnetID: 31},
		},
		{
			spec: `{image: linode/debian12, vpcID: 21, subnetID: 32}`,
			want: selected{Image: "linode/debian12", VPCID: 21, SubnetID: 32},
		},
		{spec: `{image: linode/debian12, vpcID: 20, subnetID: 30}`, wrong: "spec.vpcID: the account has no VPC 20 in us-ord"},
		{spec: `{image: linode/debian12, vpcID: 21, subnetID: 30}`, wrong: "it has: 31 (nodes), 32 (db)"},
		{
			spec: `{image: linode/debian12, select: {placementGroup: spread}}`,
			want: selected{Image: "linode/debian12", PlacementGroupID: 40, PlacementGroupSize: 5},
		},
		{spec: `{image: linode/debian12, placementGroup: {id: 41}}`, wrong: "no placement group 41 in us-ord"},
	} {
		class := classOf(t, tc.spec)
		class.Status.Selected = tc.before
		rules := NewClasses(account, "us-ord", Joins{})
		problem := rules.Problem(t.Context(), class)
		if problem != tc.wrong && (tc.wrong == "" || !strings.Contains(problem, tc.wrong)) {
			t.Errorf("%s: %q, want %q", tc.spec, problem, tc.wrong)
		}
		if err := rules.UpdateStatus(t.Context(), class); err != nil {
			t.Errorf("%s: %v", tc.spec, err)
		}
		if tc.wrong != "" {
			continue
		}
		if class.Spec.Select != nil {
			tc.want.By = *class.Spec.Select
		}
		if d := cmp.Diff(&tc.want, class.Status.Selected); d != "" {
			t.Errorf("%s: %s", tc.spec, d)
		}
	}
}

// TestAClassWaitsWhereLinodeDoesNotAnswer: it reports this as long as nothing was found; earlier results stay.
func TestAClassWaitsWhereLinodeDoesNotAnswer(t *testing.T) {
	silent := account
	silent.err = &api.Error{Status: 503}
	rules, class := NewClasses(silent, "us-ord", Joins{}), classOf(t, `{image: linode/debian12}`)
	if problem := rules.Problem(t.Context(), class); !strings.Contains(problem, "references could not be resolved yet: ") {
		t.Errorf("a problem: %q", problem)
	}
	if err := rules.UpdateStatus(t.Context(), class); err != nil || class.Status.Selected != nil || (&Orders{}).Known(class) {
		t.Errorf("resolved: %v, %+v", err, class.Status.Selected)
	}
	before := linodev1alpha1.Selected{Image: "linode/debian12"}
	class.Status.Selected = &before
	if problem := rules.Problem(t.Context(), class); problem != "" {
		t.Errorf("a problem of what was found before: %s", problem)
	}
	if err := rules.UpdateStatus(t.Context(), class); err != nil || *class.Status.Selected != before || !(&Orders{}).Known(class) {
		t.Errorf("resolved: %v, %+v", err, class.Status.Selected)
	}
}

// TestResolvedReferencesMatchTheCurrentClass: what was found for other words or numbers is not known.
func TestResolvedReferencesMatchTheCurrentClass(t *testing.T) {
	const spec = `{image: a, firewallID: 7, vpcID: 1, subnetID: 2, placementGroup: {id: 3}}`
	found := linodev1alpha1.Selected{Image: "a", FirewallID: 7, VPCID: 1, SubnetID: 2, PlacementGroupID: 3}
	for _, tc := range []struct {
		spec string
		want bool
	}{
		{spec, true},
		{`{image: b, firewallID: 7, vpcID: 1, subnetID: 2, placementGroup: {id: 3}}`, false},
		{`{image: a, firewallID: 8, vpcID: 1, subnetID: 2, placementGroup: {id: 3}}`, false},
		{`{image: a, vpcID: 1, subnetID: 2, placementGroup: {id: 3}}`, false},
		{`{image: a, firewallID: 7, vpcID: 2, subnetID: 2, placementGroup: {id: 3}}`, false},
		{`{image: a, firewallID: 7, vpcID: 1, subnetID: 3, placementGroup: {id: 3}}`, false},
		{`{image: a, firewallID: 7, vpcID: 1, subnetID: 2, placementGroup: {id: 4}}`, false},
		{`{image: a, firewallID: 7, vpcID: 1, subnetID: 2, placementGroup: {perPool: {policy: strict}}}`, false},
		{`{select: {image: g}, firewallID: 7, vpcID: 1, subnetID: 2, placementGroup: {id: 3}}`, false},
	} {
		class := classOf(t, tc.spec)
		class.Status.Selected = &found
		if got := (&Orders{}).Known(class); got != tc.want {
			t.Errorf("%s: known is %v", tc.spec, got)
		}
	}
	byLabel := classOf(t, `{select: {image: g, firewall: f, vpc: v, subnet: s, placementGroup: p}}`)
	found.By = *byLabel.Spec.Select
	byLabel.Status.Selected = &found
	if !(&Orders{}).Known(byLabel) {
		t.Error("what was selected by label is not known")
	}
}

// TestLinodeAnswersAreCached: a class is checked whenever one of its nodes joins.
func TestLinodeAnswersAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, counted := 0, account
		counted.asked = &asked
		rules, class := NewClasses(counted, "us-ord", Joins{}), classOf(t, `{image: linode/debian12}`)
		look := func(want int, problem string) {
			t.Helper()
			for range 3 {
				if got := rules.Problem(t.Context(), class); !strings.Contains(got, problem) || problem == "" && got != "" {
					t.Errorf("problem %q, want %q", got, problem)
				}
				if err := rules.UpdateStatus(t.Context(), class); err != nil {
					t.Error(err)
				}
			}
			if asked != want {
				t.Errorf("asked %d times, want %d", asked, want)
			}
		}
		look(1, "")
		time.Sleep(time.Minute)
		look(1, "")
		class.Spec.Image = "linode/gone"
		look(2, "image linode/gone does not exist")
		time.Sleep(time.Minute)
		look(3, "image linode/gone does not exist")
		class.Spec.Image = "linode/debian12"
		time.Sleep(10 * time.Minute)
		look(4, "")
	})
}

// TestATemplateThatIsMissingIsAProblem of the class, and an API server that does not answer is none.
func TestATemplateThatIsMissingIsAProblem(t *testing.T) {
	const text = `{image: linode/debian12, bootstrap: {kind: custom, userDataSecret: join}}`
	with := func(data map[string][]byte) client.Client {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "lkeplan", Name: "join"}, Data: data}
		return clientWith(secret)
	}
	silent := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	})
	for name, tc := range map[string]struct {
		live client.Reader
		want string
	}{
		"it is there": {with(map[string][]byte{"userData": []byte("#cloud-config")}), ""},
		"it is empty": {with(nil), "spec.bootstrap.userDataSecret: Secret lkeplan/join has nothing under userData"},
		"it is not":   {clientWith(), "spec.bootstrap.userDataSecret: Secret lkeplan/join does not exist"},
		"unknown":     {silent, "references could not be resolved yet"},
	} {
		rules := NewClasses(account, "us-ord", Joins{Live: tc.live, Namespace: "lkeplan"})
		if got := rules.Problem(t.Context(), classOf(t, text)); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestUninstallShowsWhatItDoes: what is removed, what stays, and what is unknown, in 80 columns.
func TestUninstallShowsWhatItDoes(t *testing.T) {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "fleet", Name: name} }
	held := migrate.Holdings{
		NodePlans:      []*lkeplanv1alpha1.NodePlan{{ObjectMeta: named("prod")}},
		Pools:          []*karpv1.NodePool{{ObjectMeta: named("batch")}, {ObjectMeta: named("web")}},
		Limits:         []*lkeplanv1alpha1.CapacityLimit{{ObjectMeta: named("budget")}},
		LimitsOfOthers: []migrate.OwnedLimit{{Name: "total", Owner: "Flux (Kustomization flux-system/infra)"}},
	}
	machine := func(pool string, dollars catalog.Money) migrate.Machine {
		return migrate.Machine{Node: "n", Pool: pool, Monthly: dollars * catalog.Dollar}
	}
	whole := survey{
		place: "context prod, https://api.test:6443", held: held, total: 1272 * catalog.Dollar,
		machines: []migrate.Machine{machine("web", 1200), machine("web", 24), machine("gone", 48)},
		others:   migrate.OtherNodes{Nodes: 5, LKEPools: 3, Monthly: 144 * catalog.Dollar},
		displaced: inspect.Displaced{Pods: 9,
			NoNode:       []inspect.Group{{Owner: "Deployment shop/web", Pods: 4}, {Owner: "StatefulSet shop/db", Pods: 1}},
			NotRecreated: []inspect.Group{{Owner: "Pod shop/debug\x1b[2J", Pods: 1}}},
	}
	vague := whole
	vague.machines = append(vague.machines, machine("batch", 0))
	vague.others = migrate.OtherNodes{Nodes: 5, LKEPools: 3, Monthly: 96 * catalog.Dollar, Unpriced: 2}
	vague.displaced = inspect.Displaced{Unknown: []string{"Pods cannot be listed"}}
	fine := whole
	fine.others, fine.displaced = migrate.OtherNodes{Nodes: 1, Unpriced: 1}, inspect.Displaced{Pods: 9}
	blind := fine
	blind.unlisted, blind.others = "Nodes cannot be listed", migrate.OtherNodes{}
	alone := whole // the nodes that stay are billed, though there are no others
	alone.others = migrate.OtherNodes{}
	for name, limits := range map[string][]migrate.OwnedLimit{"crds": nil, "crds but limits": held.LimitsOfOthers} {
		page := diag.Page{Width: 80}
		survey{held: migrate.Holdings{LimitsOfOthers: limits}}.crdDeletion(&page)
		golden.File(t, "testdata/uninstall/"+strings.ReplaceAll(name, " ", "_")+".txt", []byte(page.String()))
	}
	for name, tt := range map[string]struct {
		survey survey
		leave  bool
	}{
		"drain": {whole, false}, "leave": {whole, true}, "unknown": {vague, false}, "fine": {fine, false}, "blind": {blind, false},
		"leave alone": {alone, true}, "leave blind": {blind, true},
	} {
		page := diag.Page{Width: 80}
		tt.survey.write(&page, tt.leave)
		golden.File(t, "testdata/uninstall/"+strings.ReplaceAll(name, " ", "_")+".txt", []byte(page.String()))
	}
}

// TestUninstallPrintsItsOwnCommand: the command to wait again has the flags that were given, quoted for a shell.
func TestUninstallPrintsItsOwnCommand(t *testing.T) {
	for _, tt := range []struct {
		given []string
		want  string
	}{
		{[]string{"--drain"}, "lkeplan uninstall --drain"},
		{[]string{"--without-lease", "--drain", "--timeout=5m", "-y"},
			"lkeplan uninstall --drain --timeout=5m0s --without-lease --yes"},
		{[]string{"--drain", "--context", "a b's", "--kubeconfig=/tmp/k.yaml"},
			`lkeplan uninstall --drain '--context=a b'\''s' --kubeconfig=/tmp/k.yaml`},
	} {
		given := pflag.NewFlagSet("uninstall", pflag.ContinueOnError)
		for _, name := range []string{"drain", "without-lease"} {
			given.Bool(name, false, "")
		}
		given.BoolP("yes", "y", false, "")
		given.Duration("timeout", 0, "")
		given.String("context", "", "")
		given.String("kubeconfig", "", "")
		if err := given.Parse(tt.given); err != nil {
			t.Fatal(err)
		}
		if got := uninstallAgain(given); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.given, got, tt.want)
		}
	}
}

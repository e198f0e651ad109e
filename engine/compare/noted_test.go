package compare

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// asked is a cluster that is asked for single objects, too; some may not be read.
type asked struct {
	cluster
	refused string // a kind
}

func (a asked) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	if kind == a.refused {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("no rule allows it"))
	}
	return a.cluster.List(ctx, apiVersion, kind)
}

func (a asked) Get(ctx context.Context, like map[string]any) (map[string]any, error) {
	all, err := a.List(ctx, "", manifest.Text(like, "kind"))
	for _, obj := range all {
		if manifest.Name(obj) == manifest.Name(like) && manifest.Namespace(obj) == manifest.Namespace(like) {
			return obj, nil
		}
	}
	return nil, err
}

// TestAClusterWithoutObjectsIsKnown by what its controller has noted: the first apply to it
// has nothing else to go by.
func TestAClusterWithoutObjectsIsKnown(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	noted := func(namespace, id, label, region string) cluster {
		at := `{"metadata": {"namespace": "` + namespace + `", "name": "`
		return cluster{
			"Lease": {at + `lkeplan-controller"}}`, at + `lkeplan-gitops"}}`},
			"ConfigMap": {at + `lkeplan-cluster"}, "data": {"id": "` + id + `", "label": "` + label +
				`", "region": "` + region + `"}}`},
		}
	}
	own := noted("lkeplan-system", "584692", "dev", "us-ord")
	other := noted("karpenter", "584693", "prod", "us-ord")
	applied := noted("lkeplan-system", "584692", "dev", "us-ord")
	applied["NodePool"] = []string{`{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web",
		"labels": {"lkeplan.dev/part-of": "quickstart"}}}`}
	const in = "lkeplan-cluster"
	head := compiled(t, "node_class \"default\" {}\n") // of the cluster dev in us-ord
	for name, tt := range map[string]struct {
		in    asked
		other string
		want  string
	}{
		"its own":                    {asked{cluster: own}, "", ""},
		"another":                    {asked{cluster: other}, "", "its controller reports the name prod in the ConfigMap karpenter/" + in},
		"another, which is meant":    {asked{cluster: other}, "prod", ""},
		"another than what is meant": {asked{cluster: other}, "qa", "its controller reports the name prod in the ConfigMap karpenter/" + in},
		"another of its name": {asked{cluster: noted("a", "584693", "dev", "us-ord")}, "",
			"its id is 584693, not 584692, according to the ConfigMap a/" + in},
		"no controller":                   {asked{}, "", ""},
		"a note that is not whole":        {asked{cluster: noted("a", "", "", "")}, "", ""},
		"no controller has noted it":      {asked{cluster: cluster{"Lease": other["Lease"]}}, "", ""},
		"a ConfigMap of no controller":    {asked{cluster: cluster{"ConfigMap": other["ConfigMap"]}}, "", ""},
		"Leases may not be read":          {asked{cluster: other, refused: "Lease"}, "", ""},
		"ConfigMaps may not be read":      {asked{cluster: other, refused: "ConfigMap"}, "", ""},
		"its own, with its previous name": {asked{cluster: applied}, "", "NodePool web was applied from the directory of the cluster quickstart"},
	} {
		t.Run(name, func(t *testing.T) {
			view := Tied(LiveView(tt.in), Tie{
				Cluster: config.Cluster{Name: "dev", ID: 584692, Region: "us-ord"}, Other: tt.other, Place: "context x", Asked: tt.in,
			})
			_, err := Live(t.Context(), head, view, LiveOptions{Base: head, Prices: prices})
			other, _ := errors.AsType[OtherClusterError](err)
			if other.Evidence != tt.want || (err != nil) != (tt.want != "") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

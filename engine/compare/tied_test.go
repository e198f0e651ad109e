package compare

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestANameThatWasWrittenWrongIsCorrected: what the controller calls the cluster is believed
// before what earlier applies have called it.
func TestANameThatWasWrittenWrongIsCorrected(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	objects := func(record string) cluster {
		return cluster{
			"LinodeNodeClass": {`{"apiVersion": "karpenter.k8s.linode/v1", "kind": "LinodeNodeClass", "metadata": {"name": "default",
				"labels": {"lkeplan.dev/part-of": "quickstart"}, "annotations": {"lkeplan.dev/lke-cluster": "` + record + `"}}}`},
			"NodePool": {`{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web",
				"labels": {"lkeplan.dev/part-of": "quickstart"}}}`},
		}
	}
	head := compiled(t, "node_class \"default\" {}\n") // of the cluster dev
	for name, tt := range map[string]struct {
		record string
		notes  []string
		fails  bool
	}{
		"the controller has the directory's name": {record: "584692/dev", notes: []string{"2 objects were applied from a " +
			"directory for the cluster name quickstart. The controller and this directory use the name dev, so an apply takes " +
			"over the declared objects; the others stay."}},
		"the controller has the old name":             {record: "584692/quickstart", fails: true},
		"the controller has a third one":              {record: "584692/prod", fails: true},
		"the id is that of another cluster":           {record: "584693/dev", fails: true},
		"no controller has written what it is called": {record: "", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			view := Tied(LiveView(objects(tt.record)), Tie{
				Cluster: config.Cluster{Name: "dev", ID: 584692}, Place: "context x"})
			found, err := Live(t.Context(), head, view, LiveOptions{Base: head, Prices: prices})
			if _, other := errors.AsType[OtherClusterError](err); other != tt.fails || (err != nil) != tt.fails {
				t.Fatalf("%v, want an error: %v", err, tt.fails)
			}
			if diff := cmp.Diff(tt.notes, found.Plan.Notes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAnotherClusterIsNotCompared: what a cluster says of itself is believed before what
// its kubeconfig is called.
func TestAnotherClusterIsNotCompared(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	pool := func(owner string) cluster {
		return cluster{"NodePool": {`{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web",
			"labels": {"lkeplan.dev/part-of": "` + owner + `"}}}`}}
	}
	machine := func(name string) cluster {
		return cluster{"NodeClaim": {`{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "web-a"},
			"spec": {"nodeClassRef": {"name": "x"}, "requirements": [], "resources": {}}, "status": {"nodeName": "` + name + `"}}`}}
	}
	class := func(record string) cluster {
		return cluster{"LinodeNodeClass": {`{"apiVersion": "karpenter.k8s.linode/v1", "kind": "LinodeNodeClass",
			"metadata": {"name": "x", "annotations": {"lkeplan.dev/lke-cluster": "` + record + `"}}}`}}
	}
	node := func(region string) cluster {
		return cluster{"NodeClaim": {`{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "web-a",
			"labels": {"topology.kubernetes.io/region": "` + region + `"}}, "spec": {"nodeClassRef": {"name": "x"}, "requirements": [], "resources": {}}}`}}
	}
	head := compiled(t, "node_class \"default\" {}\n") // of the cluster dev in us-ord
	for name, tt := range map[string]struct {
		in    cluster
		other string
		want  string
	}{
		"empty":                      {cluster{}, "", ""},
		"its own":                    {pool("dev"), "", ""},
		"without an owner":           {pool(""), "", ""},
		"of a NodePlan":              {pool("nodeplan.flux-system.dev"), "", ""},
		"of another":                 {pool("prod"), "", "NodePool web was applied from the directory of the cluster prod"},
		"of another, by its name":    {pool("prod"), "prod", ""},
		"of another, by a wrong one": {pool("prod"), "staging", "NodePool web was applied from the directory of the cluster prod"},
		"recorded as its own":        {class("584692/dev"), "", ""},
		"recorded as another": {class("584692/prod"), "", "its controller reports the name prod in the annotation " +
			"lkeplan.dev/lke-cluster of LinodeNodeClass x"},
		"recorded as another of its name": {class("584693/dev"), "", "its id is 584693, not 584692, according to the annotation " +
			"lkeplan.dev/lke-cluster of LinodeNodeClass x"},
		"recorded as another, which is meant":             {class("584693/prod"), "prod", ""},
		"recorded as another of its name, which is meant": {class("584693/dev"), "dev", ""},
		"with its nodes": {machine("lke584692-886455-0a1b2c3d"), "", ""},
		"with nodes of another": {machine("lke584693-886455-0a1b2c3d"), "",
			"its id is 584693, not 584692, according to the name of its node lke584693-886455-0a1b2c3d"},
		"with other nodes": {machine("worker-1"), "", ""},
		"in its region":    {node("us-ord"), "", ""},
		"in another one":   {node("us-sea"), "", "its node web-a is in the region us-sea, not us-ord"},
	} {
		t.Run(name, func(t *testing.T) {
			view := Tied(LiveView(tt.in), Tie{
				Cluster: config.Cluster{Name: "dev", ID: 584692, Region: "us-ord"}, Other: tt.other, Place: "context x"})
			_, err := Live(t.Context(), head, view, LiveOptions{Base: head, Prices: prices})
			var other OtherClusterError
			if errors.As(err, &other); other.Evidence != tt.want || (err != nil) != (tt.want != "") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
